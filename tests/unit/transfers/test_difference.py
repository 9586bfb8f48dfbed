"""Paired differences and their correction."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from headstart.errors import DataError
from headstart.evaluation.crossed import crossed_mean
from headstart.evaluation.holm import holm
from headstart.transfers.difference import Pairing, corrected, paired_difference

PAIRING = Pairing(of="warm", to="cold", size=1_000, test="clean", is_primary=True)


def drawn(seed, share=0.5, shape=(3, 200)):
    return np.random.default_rng(seed).random(shape) < share


def test_a_difference_is_that_of_the_same_texts_with_the_same_seeds():
    warm, cold = drawn(0, 0.8), drawn(1, 0.6)
    seen = paired_difference(PAIRING, warm, cold)
    by_hand = [
        [int(one) - int(other) for one, other in zip(*rows, strict=True)]
        for rows in zip(warm, cold, strict=True)
    ]
    expected = crossed_mean(np.array(by_hand))
    assert (seen.difference, seen.low, seen.high) == (expected.mean, expected.low, expected.high)
    assert seen.p == seen.p_corrected == expected.p
    assert (seen.num_seeds, seen.num_items) == (3, 200)
    assert (seen.of, seen.to, seen.size, seen.is_primary) == ("warm", "cold", 1_000, True)


def test_texts_that_both_find_hard_cancel():
    warm = np.tile(drawn(2, shape=(1, 200)), (3, 1))
    cold = warm & drawn(3, 0.9)
    together = paired_difference(PAIRING, warm, cold)
    apart = paired_difference(PAIRING, warm, np.roll(cold, 7, axis=1))
    assert together.difference == pytest.approx(apart.difference)
    assert together.high - together.low < 0.6 * (apart.high - apart.low)


def test_it_is_written_as_json_flat():
    read = json.loads(json.dumps(asdict(paired_difference(PAIRING, drawn(0), drawn(1)))))
    wanted = {"of", "to", "size", "test", "metric", "difference", "low", "high", "p"}
    assert wanted | {"p_corrected", "is_primary", "num_seeds"} <= set(read)
    assert read["metric"] == "accuracy"


def test_all_but_the_primary_one_are_corrected_together():
    others = [
        replace(paired_difference(PAIRING, drawn(seed), drawn(seed + 50)), is_primary=False)
        for seed in range(4)
    ]
    primary = paired_difference(PAIRING, drawn(8), drawn(9))
    seen = corrected([*others[:2], primary, *others[2:]])
    assert seen[2] == primary
    wanted = holm([one.p for one in others])
    assert tuple(one.p_corrected for one in (*seen[:2], *seen[3:])) == wanted
    assert [one.p for one in seen] == [one.p for one in (*others[:2], primary, *others[2:])]
    assert corrected([]) == ()


@pytest.mark.parametrize(
    ("low", "high", "p_corrected", "alone", "among_several"),
    [
        (0.01, 0.02, 0.01, "above", "above"),
        (0.01, 0.02, 0.05, "above", "unclear"),
        (-0.02, -0.01, 0.04, "below", "below"),
        (-0.02, -0.01, 0.3, "below", "unclear"),
        (-0.01, 0.02, 0.8, "unclear", "unclear"),
        (0.0, 0.02, 0.05, "unclear", "unclear"),
        (-0.02, 0.0, 0.05, "unclear", "unclear"),
    ],
)
def test_the_side_is_that_of_the_interval_where_the_correction_lets_it(
    low, high, p_corrected, alone, among_several
):
    one = paired_difference(PAIRING, drawn(0), drawn(1))
    one = replace(one, low=low, high=high, p_corrected=p_corrected)
    assert (one.side, one.side_among_several) == (alone, among_several)


def test_results_of_other_texts_or_seeds_are_refused():
    with pytest.raises(DataError, match=r"warm has .*\(3, 200\) and cold of \(2, 200\) with 1,000"):
        paired_difference(PAIRING, drawn(0), drawn(0, shape=(2, 200)))
