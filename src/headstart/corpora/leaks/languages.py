"""Items in another language than the rest of their split, told without knowing any language.

The commonest words of a split are the small words of its language, and any long enough text of
that language has many of them. A text in which they are rare is in another language, or is a list.
"""

import numpy as np

from headstart.corpora.leaks.arrays import Positions
from headstart.corpora.leaks.oddities import Oddity, oddity
from headstart.corpora.leaks.prepared import PreparedSplit

NUM_COMMON_WORDS = 50
# A word of fewer items than one in twenty is common only where texts have few words in all.
LEAST_SHARE_OF_ITEMS = 0.05
# Below this a text may be a title or a list of names.
NUM_WORDS_TO_JUDGE = 20
# Of fewer items, the commonest words may be their topic's.
NUM_ITEMS_TO_JUDGE = 50
# On French reviews this finds English at 96 % and German at 100 %, and no French.
LEAST_SHARE_OF_MEDIAN = 0.25


def odd_languages(split: PreparedSplit) -> Oddity:
    """Finds the items that have few of the words that are common in the split."""
    texts = split.words
    is_judged = texts.sizes >= NUM_WORDS_TO_JUDGE
    rule = "with hardly any of the words that are common in the rest"
    if np.count_nonzero(is_judged) < NUM_ITEMS_TO_JUDGE:
        return oddity(split, "language", rule, [])
    num_common = num_common_words(split)
    shares = num_common / np.maximum(texts.sizes, 1)
    limit = LEAST_SHARE_OF_MEDIAN * float(np.median(shares[is_judged]))
    indices = np.flatnonzero(is_judged & (shares < limit)).tolist()
    return oddity(split, "language", rule, indices)


def num_common_words(split: PreparedSplit) -> Positions:
    """Counts in each item the words that are among the commonest of the split."""
    words, num_items = np.unique(split.words.distinct().values, return_counts=True)
    commonest = np.argsort(-num_items, kind="stable")[:NUM_COMMON_WORDS]
    common = words[commonest[num_items[commonest] >= LEAST_SHARE_OF_ITEMS * split.num_items]]
    is_common = np.isin(split.words.values, common)
    return np.bincount(split.words.owners[is_common], minlength=split.num_items)
