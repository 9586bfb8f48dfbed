"""Bands of curves against the t interval of scipy."""

import numpy as np
import pytest
from scipy import stats

from headstart.errors import DataError
from headstart.evaluation.seed_band import seed_band


def test_each_epoch_has_the_t_interval_over_seeds():
    curves = np.random.default_rng(0).uniform(0.5, 0.6, (4, 6))
    seen = seed_band(curves.tolist())
    for epoch, values in enumerate(curves.T):
        low, high = stats.t.interval(0.95, 3, loc=values.mean(), scale=stats.sem(values))
        assert (seen.mean[epoch], seen.low[epoch], seen.high[epoch]) == pytest.approx(
            (values.mean(), low, high)
        )


def test_one_seed_has_no_band():
    assert seed_band([[0.5, 0.7]]).low == seed_band([[0.5, 0.7]]).high == (0.5, 0.7)


def test_a_curve_that_ended_early_stays_where_it_ended():
    assert seed_band([[0.4], [0.6, 0.8]]).mean == pytest.approx((0.5, 0.6))


def test_bands_stay_shares():
    seen = seed_band([[0.0, 0.9], [0.1, 1.0]])
    assert (seen.low[0], seen.high[1]) == (0, 1)


@pytest.mark.parametrize("curves", [[], [[]], [[0.5], []]])
def test_nothing_to_draw_is_refused(curves):
    with pytest.raises(DataError, match=f"There are {len(curves)} curves"):
        seed_band(curves)
