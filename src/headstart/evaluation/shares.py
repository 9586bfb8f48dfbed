"""How much each of several voices counts in one answer: the shares that explain what is known best.

Legend: K voices, N items, C labels.
"""

import numpy as np

from headstart.errors import DataError
from headstart.evaluation.calibration import AnyFloats, Floats, Targets, require_matching
from headstart.evaluation.classification import LEAST_PROBABILITY

# Every voice counts as if it had explained so many items already: a few items say little of who is
# right, and hundreds outweigh it.
PRIOR_ITEMS = 10.0
# Each step goes uphill to the only top there is. Where voices nearly agree the slope is so gentle
# that the last steps would take longest, for a thousandth of a share.
SMALLEST_CHANGE, MOST_STEPS = 1e-7, 2_000


def fitted_shares(probability_KNC: AnyFloats, target_N: Targets) -> Floats:
    """Returns the shares of a mixture of voices that finds the targets likeliest. Shape (K,).

    By expectation and maximisation: of each item a voice is owed as much as it was surer than
    others of what was true. Without items all count the same.
    """
    if not len(probability_KNC):
        raise DataError("There are 0 voices to share among; at least one is needed.")
    for probability_NC in probability_KNC:
        require_matching(probability_NC, target_N)
    num_voices, num_items = len(probability_KNC), len(target_N)
    # Of no items numpy does not know that their numbers are whole.
    place_N = np.asarray(target_N, dtype=np.int64)
    true_KN = np.asarray(probability_KNC, dtype=np.float64)[:, np.arange(num_items), place_N]
    true_KN = np.maximum(true_KN, LEAST_PROBABILITY)
    share_K = np.full(num_voices, 1 / num_voices)
    for _ in range(MOST_STEPS):
        owed_KN = share_K[:, None] * true_KN
        owed_K = (owed_KN / owed_KN.sum(axis=0)).sum(axis=1) + PRIOR_ITEMS
        before_K, share_K = share_K, owed_K / owed_K.sum()
        if np.abs(share_K - before_K).max() < SMALLEST_CHANGE:
            break
    return share_K
