"""The first honest look at the data: leaks, copies, conflicts, oddities, before training."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headstart.corpora.documents import Document, Reading
from headstart.corpora.example_table import write_examples
from headstart.corpora.examples import Example, ExampleColumns, read_examples
from headstart.corpora.leaks import SKETCH_FILE
from headstart.corpora.leaks.normalisation import words
from headstart.corpora.leaks.report import LeakReport
from headstart.corpora.leaks.report import check as find_leaks
from headstart.corpora.leaks.sketch_file import read_sketch
from headstart.corpora.leaks.sketch_overlap import Overlap, overlaps, together
from headstart.errors import DataError

# From here on, an item is called known to a trunk's pretraining text.
LEAST_KNOWN_SHARE = 0.5


@dataclass(frozen=True, kw_only=True)
class SketchFinding:
    """How much of a split a trunk has already read, as far as its sketch can tell."""

    split: str
    overall: Overlap
    known: tuple[int, ...]
    """The items of which at least half was read, by their numbers in the split."""
    num_unjudged: int
    """The items of which the sketch has too few 8-grams to tell."""


Splits = Mapping[str, Sequence[Example]]


def read_splits(
    names: Mapping[str, str | None], reading: Reading, columns: ExampleColumns
) -> dict[str, list[Example]]:
    """Reads the splits that were named, in the order in which they are used."""
    return {
        split: read_examples(name, reading, columns)
        for split, name in names.items()
        if name is not None
    }


def check(splits: Splits, corpus: Iterable[Document] | None) -> LeakReport:
    """Runs the leak guard over splits and, where there is one, the pretraining text."""
    documents = None
    if corpus is not None:
        documents = ((document.place, document.plain) for document in corpus)
    return find_leaks(splits, documents)


def check_run(splits: Splits, run: Path) -> tuple[SketchFinding, ...]:
    """Holds splits against the sketch of the text that a run was pretrained on."""
    path = run / SKETCH_FILE
    if not path.is_file():
        raise DataError(f"{run} has no {SKETCH_FILE}, so what it read is not known. Name its text.")
    sketch = read_sketch(path)
    findings = []
    for split, examples in splits.items():
        seen = overlaps(sketch, (words(example.text) for example in examples))
        known = [
            index
            for index, overlap in enumerate(seen)
            if not overlap.has_few_samples and (overlap.share or 0) >= LEAST_KNOWN_SHARE
        ]
        findings.append(
            SketchFinding(
                split=split,
                overall=together(seen),
                known=tuple(known),
                num_unjudged=sum(overlap.has_few_samples for overlap in seen),
            )
        )
    return tuple(findings)


def write_clean(splits: Splits, report: LeakReport, folder: Path) -> list[Path]:
    """Writes the first split as it is, and of each other what is clean and what is strict."""
    first, *others = splits
    tables = [splits[first]]
    for split in others:
        kept = report.cleaned[split]
        tables += ([splits[split][index] for index in rows] for rows in (kept.clean, kept.strict))
    paths = clean_paths(splits, folder)
    return [write_split(path, table) for path, table in zip(paths, tables, strict=True)]


def clean_paths(splits: Iterable[str], folder: Path) -> list[Path]:
    """Returns the files that splits of these names are written to."""
    first, *others = splits
    kinds = ("clean", "strict")
    return [
        folder / f"{first}.csv",
        *(folder / f"{split}.{kind}.csv" for split in others for kind in kinds),
    ]


def write_split(path: Path, examples: Iterable[Example]) -> Path:
    """Writes the examples of a split as a table that can be read again."""
    write_examples(path, ((each.text, each.label, each.group or "") for each in examples))
    return path
