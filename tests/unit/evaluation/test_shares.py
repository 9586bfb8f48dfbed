"""Shares of voices: the best there are by another search, and what must hold of any."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import softmax

from headstart.errors import DataError
from headstart.evaluation.shares import PRIOR_ITEMS, fitted_shares


def drawn(seed, num_voices, num_items, num_labels=3):
    """Returns voices of different worth, and what is true."""
    random = np.random.default_rng(seed)
    target_N = random.integers(num_labels, size=num_items)
    logits_KNC = random.normal(size=(num_voices, num_items, num_labels))
    logits_KNC[:, np.arange(num_items), target_N] += random.uniform(0, 3, size=(num_voices, 1))
    return softmax(logits_KNC, axis=2), target_N


def cost(share_K, probability_KNC, target_N):
    mixed_NC = np.einsum("k,knc->nc", share_K, probability_KNC)
    told = np.log(mixed_NC[np.arange(len(target_N)), target_N]).sum()
    return -told - PRIOR_ITEMS * np.log(share_K).sum()


@pytest.mark.parametrize("num_voices", [2, 3, 5])
@pytest.mark.parametrize("num_items", [7, 400])
def test_no_other_search_finds_better_shares(num_voices, num_items):
    probability_KNC, target_N = drawn(num_items + num_voices, num_voices, num_items)
    found = minimize(
        cost,
        np.full(num_voices, 1 / num_voices),
        args=(probability_KNC, target_N),
        method="SLSQP",
        bounds=[(1e-6, 1)] * num_voices,
        constraints={"type": "eq", "fun": lambda share_K: share_K.sum() - 1},
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    share_K = fitted_shares(probability_KNC, target_N)
    assert share_K == pytest.approx(found.x, abs=1e-3)
    ours = cost(share_K, probability_KNC, target_N)
    assert ours <= cost(found.x, probability_KNC, target_N) + 1e-6


@given(seed=st.integers(0, 1000), num_voices=st.integers(1, 4), num_items=st.integers(0, 30))
def test_shares_are_shares_in_whatever_order_voices_come(seed, num_voices, num_items):
    probability_KNC, target_N = drawn(seed, num_voices, num_items)
    share_K = fitted_shares(probability_KNC, target_N)
    assert share_K.sum() == pytest.approx(1)
    assert (share_K > 0).all()
    assert fitted_shares(probability_KNC[::-1], target_N) == pytest.approx(share_K[::-1], abs=1e-5)
    if num_items == 0:
        assert share_K == pytest.approx(np.full(num_voices, 1 / num_voices))


def test_who_is_always_right_counts_for_more_with_every_item():
    before = 0.5
    for num_items in (1, 10, 100, 1000):
        target_N = np.arange(num_items) % 2
        right_NC = np.eye(2)[target_N]
        share = fitted_shares(np.stack([right_NC, 1 - right_NC]), target_N)[0]
        # All items are owed to one voice, and the prior to both.
        expected = (num_items + PRIOR_ITEMS) / (num_items + 2 * PRIOR_ITEMS)
        assert share == pytest.approx(expected, abs=1e-6)
        assert share > before
        before = share


def test_twins_share_what_one_of_them_would_have():
    # So many items that the prior, which is for each voice, says nothing.
    probability_KNC, target_N = drawn(1, 2, 40_000)
    one, other = fitted_shares(probability_KNC, target_N)
    thrice = fitted_shares(probability_KNC[[0, 0, 1]], target_N)
    assert thrice[0] == pytest.approx(thrice[1])
    assert thrice[:2].sum() == pytest.approx(one, abs=0.01)
    assert thrice[2] == pytest.approx(other, abs=0.01)


def test_nobody_to_share_among_is_refused():
    with pytest.raises(DataError, match="0 voices"):
        fitted_shares(np.empty((0, 3, 2)), np.zeros(3, dtype=int))
    with pytest.raises(DataError, match="targets"):
        fitted_shares(np.ones((2, 3, 2)), np.zeros(4, dtype=int))
