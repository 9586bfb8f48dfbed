"""Intervals for scores that are no means over items, such as macro-F1: a crossed jackknife.

Legend: S seeds, N items, C labels, G groups of items.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from headstart.evaluation.calibration import (
    AnyFloats,
    Targets,
    require_matching,
)
from headstart.evaluation.crossed import CrossedMean, around, crossed_spread, require_table
from headstart.randomness import derive_seed

Statistic = Callable[[AnyFloats, Targets], float]

# More groups take longer and hardly change an interval: 39 degrees are nearly as good as 1,999.
NUM_GROUPS = 40


def macro_f1(probability_NC: AnyFloats, target_N: Targets) -> float:
    """Returns the mean over labels of the F1 of the most probable ones."""
    num_labels = probability_NC.shape[1]
    # Counted here: a jackknife asks hundreds of times, and scikit-learn checks its input each time.
    pairs_N = np.asarray(target_N) * num_labels + probability_NC.argmax(axis=1)
    count_CC = np.bincount(pairs_N, minlength=num_labels**2).reshape(num_labels, num_labels)
    seen_C = count_CC.sum(axis=0) + count_CC.sum(axis=1)
    return float((2 * count_CC.diagonal() / np.maximum(1, seen_C)).mean())


def crossed_statistic(
    statistic: Statistic, probability_SNC: AnyFloats, target_N: Targets
) -> CrossedMean:
    """Returns the mean of a share-like statistic over seeds, as it comes out on such a test."""
    for probability_NC in probability_SNC:
        require_matching(probability_NC, target_N)
    is_right_SN = probability_SNC.argmax(axis=-1) == target_N
    require_table(is_right_SN.astype(np.float64))
    whole_S = np.array([statistic(one_NC, target_N) for one_NC in probability_SNC])
    kept = [np.delete(np.arange(len(target_N)), group) for group in item_groups(len(target_N))]
    without_SG = np.array(
        [[statistic(one_NC[rows], target_N[rows]) for rows in kept] for one_NC in probability_SNC]
    )
    # Tukey's pseudo-values: what each group of items adds, as if the statistic were a mean.
    pseudo_SG = len(kept) * whole_S[:, None] - (len(kept) - 1) * without_SG
    found = around(float(whole_S.mean()), crossed_spread(pseudo_SG), is_right_SN.shape)
    return replace(found, low=max(0.0, found.low), high=min(1.0, found.high))


def item_groups(num_items: int) -> list[Targets]:
    """Returns the places of items in groups, drawn the same way for every table."""
    # A file may be sorted by label or alternate between labels; a drawn order does neither.
    order = np.random.default_rng(derive_seed(0, "groups")).permutation(num_items)
    return list(np.array_split(order, min(NUM_GROUPS, num_items)))
