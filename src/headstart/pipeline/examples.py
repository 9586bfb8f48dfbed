"""The examples of a transfer: read, drawn and split the same way each time they are asked for."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from headstart.corpora.compression import Meter
from headstart.corpora.documents import Reading
from headstart.corpora.examples import (
    Example,
    ExampleColumns,
    read_examples,
    text_and_label_files,
)
from headstart.corpora.places import Complaints
from headstart.corpora.splitting import split
from headstart.corpora.tables import source_sha256
from headstart.errors import DamagedFileError, DataError
from headstart.files import read_sealed_json, write_sealed_json
from headstart.pipeline.run_files import EXAMPLES_FILE
from headstart.pipeline.taught import Taught
from headstart.randomness import derive_seed

# Held out of examples that bring none of their own: enough to choose an epoch by. More than so many
# would choose little better, and are better learned from.
VALID_SHARE, MOST_VALID = 0.15, 1_000


@dataclass(frozen=True, kw_only=True)
class ExamplesConfig:
    """The files of examples, how they are read, and how many of them are learned from."""

    train: str
    valid: str | None = None
    """None holds some of the training examples out."""
    test: str | None = None
    size: int | None = None
    """So many training examples, drawn with their labels in proportion; None takes all."""
    draw: int = 0
    """The seed of that draw, and of the split where no validation file is named."""
    text_column: str | None = None
    label_column: str | None = None
    group_column: str | None = None
    num_valid: int | None = None
    """So many validation examples, the same in every draw; None takes all."""
    skips_bad: bool = False
    labels: tuple[str, ...] | None = None
    """The labels to tell apart, where a training file may lack some; None takes its own."""

    def reading(self) -> Reading:
        """Returns a reading that has not begun."""
        complaints = Complaints(skips_bad=self.skips_bad)
        return Reading(meter=Meter(), complaints=complaints, text_column=self.text_column)

    def columns(self) -> ExampleColumns:
        """Returns the columns of tables."""
        return ExampleColumns(
            text=self.text_column, label=self.label_column, group=self.group_column
        )


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """Examples to learn from, to choose by and to score on."""

    train: list[Example]
    valid: list[Example]
    test: list[Example]
    learnable: list[Example]
    """Everything from which the examples to learn from were drawn."""
    pool: list[Example]
    """Everything that could have been learned from or chosen by, drawn or not."""
    labels: tuple[str, ...]
    complaints: tuple[str, ...] = ()
    """What was skipped, a sentence each."""
    taught: Taught | None = None
    """Texts without labels that are learned from too."""

    @property
    def num_learned(self) -> int:
        """How many texts an epoch reads."""
        return len(self.train) + (0 if self.taught is None else len(self.taught.texts))


def read_labelled(config: ExamplesConfig) -> Labelled:
    """Reads, splits and draws the examples; the same config gives the same examples."""
    reading, columns = config.reading(), config.columns()
    train = read_examples(config.train, reading, columns)
    labels = labels_of(train) if config.labels is None else config.labels
    if config.valid is None:
        share = min(VALID_SHARE, MOST_VALID / len(train))
        parts = split(train, {"train": 1 - share, "valid": share}, config.draw)
        learned, valid = parts["train"], parts["valid"]
        require_both(learned, valid)
    else:
        learned, valid = train, read_examples(config.valid, reading, columns)
    test = read_examples(config.test, reading, columns) if config.test is not None else []
    require_known(labels, [*train, *valid, *test])
    pool = [*learned, *valid]
    if config.num_valid is not None and config.num_valid < len(valid):
        # One draw for all: curves of different seeds are of the same texts.
        valid = drawn(valid, config.num_valid, seed=0)
    chosen = drawn(learned, config.size, config.draw)
    require_two_labels(chosen)
    return Labelled(
        train=chosen,
        valid=valid,
        test=test,
        learnable=learned,
        pool=pool,
        labels=labels,
        complaints=tuple(reading.complaints.summary()),
    )


def labels_of(examples: Iterable[Example]) -> tuple[str, ...]:
    """Returns the labels in order: numbers by their value, others as words."""
    found = {example.label for example in examples}
    if len(found) < 2:
        raise DataError(
            f"The training examples have one label only, {next(iter(found))!r}; at least two are "
            "needed. Check the column of labels."
        )
    is_numeric = all(label.removeprefix("-").isdecimal() for label in found)
    return tuple(sorted(found, key=(lambda label: (int(label), label)) if is_numeric else str))


def require_both(learned: Sequence[Example], valid: Sequence[Example]) -> None:
    """Raises an error where copies, which stay together, leave nothing to choose by."""
    if not learned or not valid:
        raise DataError(
            f"The training examples ({len(learned) + len(valid):,}) are copies of so few texts "
            "that none is left to choose by. Give more texts that differ, or name others with "
            "--valid."
        )


def require_two_labels(learned: Sequence[Example]) -> None:
    """Raises an error where the examples that were drawn have one label only."""
    if len({example.label for example in learned}) < 2:
        raise DataError(
            f"The examples to learn from ({len(learned):,}) have only the label "
            f"{learned[0].label!r}; at least two labels are needed. Choose a larger --size."
        )


def require_known(labels: Sequence[str], examples: Iterable[Example]) -> None:
    """Raises an error for the first example whose label is none of those that are learned."""
    known = set(labels)
    for example in examples:
        if example.label not in known:
            raise DataError(
                f"{example.place}: the label {example.label!r} is none of the training examples' "
                f"({', '.join(labels)}). Mend the label, or add examples that have it."
            )


def drawn(examples: list[Example], size: int | None, seed: int) -> list[Example]:
    """Returns so many examples, labels in proportion; a smaller draw is a part of a larger one."""
    if size is None:
        return examples
    if not 1 <= size <= len(examples):
        raise DataError(
            f"{size:,} examples were asked for, but there are {len(examples):,} to draw from. "
            f"Choose a size of at most {len(examples):,}."
        )
    places: dict[str, list[int]] = defaultdict(list)
    for index in np.random.default_rng(derive_seed(seed, "draw")).permutation(len(examples)):
        places[examples[index].label].append(int(index))
    num_of = {label: len(places[label]) for label in sorted(places)}
    turns = {label: iter(indices) for label, indices in places.items()}
    chosen = [next(turns[label]) for label in islice(in_proportion(num_of), size)]
    return [examples[index] for index in sorted(chosen)]


def in_proportion(num_of: Mapping[str, int]) -> Iterator[str]:
    """Yields each label as often as it is counted, never one off its share of those so far.

    This is the chairman assignment of Tijdeman (1980): of the labels whose turn it may be, the one
    that would soonest be too late.
    """
    total, width = sum(num_of.values()), max(1, 2 * len(num_of) - 2)
    num_yielded = dict.fromkeys(num_of, 0)
    for number in range(1, total + 1):
        owed = {label: num * number - num_yielded[label] * total for label, num in num_of.items()}
        due = [label for label, debt in owed.items() if width * debt >= total]
        label = min(due, key=lambda each: (total * (width - 1) - width * owed[each]) / num_of[each])
        num_yielded[label] += 1
        yield label


def example_hashes(config: ExamplesConfig) -> dict[str, str]:
    """Returns the SHA-256 of each file of examples as it is now."""
    return {str(path): source_sha256(path) for _, path in example_files(config)}


def example_files(config: ExamplesConfig) -> list[tuple[str, Path]]:
    """Returns each file of examples with what it is for; of a pair both, the texts first."""
    named = {"train": config.train, "valid": config.valid, "test": config.test}
    return [
        (role, path)
        for role, name in named.items()
        if name is not None
        for path in text_and_label_files(name)
        if path is not None
    ]


def write_examples_config(
    folder: Path,
    config: ExamplesConfig,
    sources: dict[str, str],
    teaching: dict[str, Any] | None = None,
) -> None:
    """Writes where the examples of a run came from, what they were, and who taught it others."""
    note = {"reading": asdict(config), "sources": sources}
    taught = {} if teaching is None else {"teaching": teaching}
    write_sealed_json(folder / EXAMPLES_FILE, note | taught)


def read_examples_config(folder: Path) -> tuple[ExamplesConfig, dict[str, str]]:
    """Returns where the examples of a run came from, and the SHA-256 of each file."""
    value = read_sealed_json(folder / EXAMPLES_FILE)
    try:
        assert isinstance(value, dict)
        reading: dict[str, Any] = value["reading"]
        labels = reading.get("labels")
        # JSON has no tuples.
        own = reading | {"labels": None if labels is None else tuple(labels)}
        return ExamplesConfig(**own), dict(value["sources"])
    except (AssertionError, AttributeError, KeyError, TypeError) as error:
        raise DamagedFileError(f"{folder / EXAMPLES_FILE} does not describe examples.") from error
