"""Contradictory labels: the same words under different labels, inside a split or across splits."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headstart.corpora.examples import Example
from headstart.corpora.leaks.prepared import Item, PreparedSplit


@dataclass(frozen=True, slots=True)
class LabelledItems:
    """The items of one split that give one text one label."""

    num_items: int
    split: str
    label: str
    first: Item


@dataclass(frozen=True, slots=True)
class Conflict:
    """A text that has more than one label."""

    num_items: int
    labels: tuple[LabelledItems, ...]

    @property
    def splits_inside(self) -> frozenset[str]:
        """The splits that contradict themselves."""
        num_labels = Counter(labelled.split for labelled in self.labels)
        return frozenset(split for split, count in num_labels.items() if count > 1)

    @property
    def is_across(self) -> bool:
        """Whether one split contradicts another, as two splits with two labels always do."""
        return len({labelled.split for labelled in self.labels}) > 1


@dataclass(frozen=True)
class Conflicts:
    """All texts that have more than one label; each item of one is counted."""

    num_texts: int
    num_items: int
    num_texts_inside: Mapping[str, int]
    """For each split, the texts about which it contradicts itself."""
    num_texts_across: int
    conflicts: tuple[Conflict, ...]


def find_conflicts(
    splits: Mapping[str, Sequence[Example]], prepared: Sequence[PreparedSplit]
) -> Conflicts:
    """Groups the items of all splits by their words and looks at the labels of each group."""
    groups: dict[bytes, dict[tuple[str, str], list[int]]] = {}
    for split in prepared:
        for index, mark in enumerate(split.fingerprints):
            if mark:
                key = (split.name, splits[split.name][index].label)
                # The count and the first item suffice; a list of all could be long.
                counted = groups.setdefault(mark, {}).setdefault(key, [0, index])
                counted[0] += 1
    by_name = {split.name: split for split in prepared}
    conflicts = tuple(
        conflict_of(group, by_name)
        for group in groups.values()
        if len({label for _, label in group}) > 1
    )
    return Conflicts(
        num_texts=len(conflicts),
        num_items=sum(conflict.num_items for conflict in conflicts),
        num_texts_inside={
            name: sum(name in conflict.splits_inside for conflict in conflicts) for name in by_name
        },
        num_texts_across=sum(conflict.is_across for conflict in conflicts),
        conflicts=conflicts,
    )


def conflict_of(
    group: Mapping[tuple[str, str], Sequence[int]], splits: Mapping[str, PreparedSplit]
) -> Conflict:
    """Returns the record of a text's labels."""
    labels = tuple(
        LabelledItems(num_items, split, label, splits[split].item(first))
        for (split, label), (num_items, first) in group.items()
    )
    return Conflict(sum(labelled.num_items for labelled in labels), labels)
