"""How a split's items are divided among the labels."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headstart.corpora.examples import Example


@dataclass(frozen=True)
class Balance:
    """The labels of a split, the most common one first."""

    num_items: int
    split: str
    num_items_of: Mapping[str, int]
    unseen_labels: tuple[str, ...]
    """Labels that the first split, which is trained on, does not have."""
    missing_labels: tuple[str, ...]
    """Labels of the first split that this one does not have."""

    @property
    def largest_share(self) -> float:
        """The accuracy of always answering with the most common label; 0 without items."""
        return max(self.num_items_of.values(), default=0) / max(self.num_items, 1)


def balances(splits: Mapping[str, Sequence[Example]]) -> tuple[Balance, ...]:
    """Counts the labels of each split and compares them with those of the first."""
    counts = {
        name: Counter(example.label for example in examples) for name, examples in splits.items()
    }
    trained = next(iter(counts.values()), Counter[str]())
    return tuple(
        Balance(
            num_items=count.total(),
            split=name,
            # Ties by name, so that the record does not depend on the order of the items.
            num_items_of=dict(sorted(count.items(), key=lambda row: (-row[1], row[0]))),
            unseen_labels=tuple(sorted(count.keys() - trained.keys())),
            missing_labels=tuple(sorted(trained.keys() - count.keys())),
        )
        for name, count in counts.items()
    )
