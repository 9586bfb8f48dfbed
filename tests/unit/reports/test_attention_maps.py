"""What is said below a map is what the map shows."""

import numpy as np

from headstart.reports.attention_maps import habit


def test_habits_are_found():
    size = 10
    behind = np.roll(np.eye(size, dtype=np.float32), 1, axis=1)
    assert habit(np.eye(size, dtype=np.float32)) == "itself, 100 %"
    assert habit(behind).startswith("the one behind, 90 %")
    assert habit(behind.T).startswith("the one before, 90 %")
    first = np.zeros((size, size), dtype=np.float32)
    first[:, 0] = 1
    assert habit(first) == "the first, 90 %"
    assert habit(np.full((size, size), 0.1, dtype=np.float32)) == "many places"
