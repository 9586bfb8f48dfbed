"""What stands close together in a document is what a window that slides over it finds."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.corpora.leaks.stretches import ShinglePositions

DOCUMENT = st.lists(st.integers(0, 8), max_size=40)


@settings(deadline=None)
@given(document=DOCUMENT, wanted=st.sets(st.integers(0, 10)), length=st.integers(1, 12))
def test_the_most_in_a_stretch_is_that_of_a_sliding_window(document, wanted, length):
    windows = [set(document[start : start + length]) for start in range(len(document))]
    expected = max((len(wanted & window) for window in windows), default=0)
    positions = ShinglePositions(np.array(document, np.uint64))
    assert positions.most_in_a_stretch(np.array(sorted(wanted), np.uint64), length) == expected


def test_one_document_answers_for_many_sets():
    positions = ShinglePositions(np.array([5, 1, 2, 5, 3, 5], np.uint64))
    assert positions.most_in_a_stretch(np.array([1, 2, 3], np.uint64), 4) == 3
    assert positions.most_in_a_stretch(np.array([1, 2, 3], np.uint64), 3) == 2
    assert positions.most_in_a_stretch(np.array([5], np.uint64), 6) == 1
    assert positions.most_in_a_stretch(np.array([7], np.uint64), 6) == 0
