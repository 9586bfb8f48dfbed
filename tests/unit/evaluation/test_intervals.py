"""The interval of a share, against the definition that it solves."""

import math

import pytest

from headstart.evaluation.intervals import DEVIATIONS, share_interval


@pytest.mark.parametrize(("num_right", "num_asked"), [(1, 10), (50, 100), (919, 1_000), (3, 7)])
def test_at_its_ends_the_share_seen_is_just_so_many_deviations_away(num_right, num_asked):
    seen = num_right / num_asked
    for end in share_interval(num_right, num_asked):
        deviation = math.sqrt(end * (1 - end) / num_asked)
        assert abs(seen - end) == pytest.approx(DEVIATIONS * deviation)


def test_nobody_right_or_everybody_right_still_leaves_room():
    low, high = share_interval(0, 20)
    assert low == pytest.approx(0, abs=1e-12)
    assert 0.1 < high < 0.2
    assert share_interval(20, 20) == pytest.approx((1 - high, 1 - low))


def test_without_answers_nothing_is_known():
    assert share_interval(0, 0) == (0.0, 1.0)
