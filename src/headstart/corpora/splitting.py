"""Cutting examples into train, valid and test: labels in proportion, copies and groups together."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from headstart.corpora.examples import Example
from headstart.corpora.leaks.normalisation import normalised
from headstart.errors import DataError
from headstart.randomness import derive_seed

# Beside labels of few examples, which alone would all go one way, the whole must weigh something.
WEIGHT_OF_ALL = 5.0
USUAL_SHARES: Mapping[str, float] = {"train": 0.8, "valid": 0.1, "test": 0.1}


def split(
    examples: Sequence[Example], shares: Mapping[str, float], seed: int
) -> dict[str, list[Example]]:
    """Returns the examples in named splits, each label's share in each as near as it can be."""
    if min(shares.values()) <= 0 or abs(sum(shares.values()) - 1) > 1e-9:
        raise DataError(f"The shares {dict(shares)} must be above 0 and sum to 1.")
    units = inseparable(examples)
    if len(units) < len(shares):
        raise DataError(
            f"{len(examples):,} examples have {len(units):,} parts that may be separated, too few "
            f"for {len(shares)} splits. Give more examples, or splits of your own."
        )
    num_of = Counter(example.label for example in examples)
    # What each split still lacks of each label, and in all.
    lacking = {name: {label: shares[name] * num_of[label] for label in num_of} for name in shares}
    lacking_in_all = {name: share * len(examples) for name, share in shares.items()}
    side_of: dict[int, str] = {}
    for unit in in_dealing_order(units, seed):
        label = Counter(examples[index].label for index in unit).most_common(1)[0][0]

        def need(name: str, label: str = label) -> float:
            """How many of the label a split lacks, and how much in all beside its share."""
            in_all = lacking_in_all[name] / (shares[name] * len(examples))
            return lacking[name][label] + WEIGHT_OF_ALL * in_all

        name = max(shares, key=need)
        for index in unit:
            side_of[index] = name
            lacking[name][examples[index].label] -= 1
            lacking_in_all[name] -= 1
    return {
        name: [example for index, example in enumerate(examples) if side_of[index] == name]
        for name in shares
    }


def in_dealing_order(units: Sequence[Sequence[int]], seed: int) -> list[Sequence[int]]:
    """Returns the units shuffled by the seed, the largest first, while there is room for them."""
    return sorted(units, key=lambda unit: (-len(unit), derive_seed(seed, "split", unit[0])))


def inseparable(examples: Sequence[Example]) -> list[list[int]]:
    """Returns the indices of examples that must stay together: copies, and members of a group."""
    leader = list(range(len(examples)))

    def find(index: int) -> int:
        """Returns the first example that this one is tied to."""
        while leader[index] != index:
            leader[index] = leader[leader[index]]
            index = leader[index]
        return index

    first_with: dict[tuple[str, str], int] = {}
    for index, example in enumerate(examples):
        # A text of marks and symbols alone has no words to be compared by.
        ties = [("text", normalised(example.text) or example.text)]
        if example.group is not None:
            ties.append(("group", example.group))
        for tie in ties:
            other = first_with.setdefault(tie, index)
            leader[find(index)] = find(other)
    units: dict[int, list[int]] = defaultdict(list)
    for index in range(len(examples)):
        units[find(index)].append(index)
    return list(units.values())
