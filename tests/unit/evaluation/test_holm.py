"""Holm's correction against its step-down procedure, as it is told."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headstart.evaluation.holm import holm

P_VALUES = st.lists(st.floats(0, 1), max_size=8)


def rejected(p_values, level):
    """Goes from the smallest p upward, at level / (how many are left), until the first no."""
    left, found = list(range(len(p_values))), set()
    while left:
        smallest = min(left, key=lambda place: p_values[place])
        if p_values[smallest] * len(left) > level:
            break
        found.add(smallest)
        left.remove(smallest)
    return found


@given(P_VALUES, st.floats(0.001, 0.999))
def test_what_is_corrected_to_at_most_a_level_is_what_the_steps_reject(p_values, level):
    corrected = holm(p_values)
    assert {place for place, p in enumerate(corrected) if p <= level} == rejected(p_values, level)


@given(P_VALUES)
def test_corrected_values_are_larger_and_keep_their_order(p_values):
    corrected = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, corrected, strict=True))
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    assert [corrected[place] for place in order] == sorted(corrected)


def test_one_question_is_not_corrected_and_none_is_none():
    assert holm([0.03]) == (0.03,)
    assert holm([]) == ()


def test_among_questions_without_an_answer_any_is_found_in_at_most_one_of_twenty():
    generator = np.random.default_rng(0)
    # Half of each question's p is shared, as the same texts and seeds are.
    drawn = generator.standard_normal((4_000, 1)) + generator.standard_normal((4_000, 10))
    ranks = drawn.argsort(axis=0).argsort(axis=0)
    p_values = (ranks + 0.5) / 4_000
    found = np.mean([min(holm(row)) < 0.05 for row in p_values.tolist()])
    assert found < 0.06
