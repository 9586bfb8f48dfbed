"""The examples of a comparison: one split for all jobs, and the test without what has leaked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.corpora.compression import kind_of
from headstart.corpora.leaks import SKETCH_FILE
from headstart.corpora.leaks.report import LeakReport
from headstart.errors import DataError
from headstart.files import json_digest, read_sealed_json, require_not_read, write_sealed_json
from headstart.pipeline.check import SketchFinding, Splits, check, check_run, write_split
from headstart.pipeline.comparing.trunks import ComparedTrunk
from headstart.pipeline.examples import (
    ExamplesConfig,
    Labelled,
    example_files,
    example_hashes,
    read_labelled,
)
from headstart.pipeline.free_folder import EXAMPLES_FOLDER, LEAKS_FILE, mark_as_there
from headstart.pipeline.watch import Watch
from headstart.reports.leak_json import copies_json

# Of the copies that were found, so many are shown of each kind; all are counted.
MOST_SHOWN = 50
# An interval counts how items differ from each other, which takes two.
FEWEST_CLEAN = 2
# What was kept in an older form is found again.
LEAKS_VERSION = 2


@dataclass(frozen=True, kw_only=True)
class ComparedExamples:
    """What every job learns from, chooses by and is scored on."""

    config: ExamplesConfig
    """With a validation file and all labels, so that no job splits or counts for itself."""
    labelled: Labelled
    sources: dict[str, str]
    """The SHA-256 of each file."""

    @property
    def key(self) -> dict[str, object]:
        """All that decides which examples a job gets, beside its size and draw."""
        config = self.config
        return {
            "sources": [
                [role, kind_of(path), self.sources[str(path)]]
                for role, path in example_files(config)
            ],
            "columns": [config.text_column, config.label_column, config.group_column],
            "num_valid": config.num_valid,
            "skips_bad": config.skips_bad,
            "labels": config.labels,
        }

    @cached_property
    def num_letters(self) -> int:
        """The letters of all training examples."""
        return sum(len(example.text) for example in self.labelled.train)

    @property
    def splits(self) -> Splits:
        """The splits in the order in which they are used."""
        labelled = self.labelled
        return {"train": labelled.train, "valid": labelled.valid, "test": labelled.test}


@dataclass(frozen=True, kw_only=True)
class Leaks:
    """What the leak guard found, and which test items are clean."""

    is_clean_N: NDArray[np.bool_]
    found: dict[str, Any]
    """As results say it."""


def compared_examples(config: ExamplesConfig, folder: Path, watch: Watch) -> ComparedExamples:
    """Reads the examples, and writes the split where no validation file is named."""
    if config.test is None:
        raise DataError("There is no test to compare on. Name a file of examples with --test.")
    labelled = read_labelled(config)
    for line in labelled.complaints:
        watch.say(line)
    if config.valid is None:
        home = folder.resolve() / EXAMPLES_FOLDER
        split = [home / f"{name}.csv" for name in ("train", "valid", "test")]
        require_not_read(split, [path for _, path in example_files(config)], f"--out {folder}")
        config = ExamplesConfig(
            train=str(write_split(home / "train.csv", labelled.train)),
            valid=str(write_split(home / "valid.csv", labelled.valid)),
            test=str(write_split(home / "test.csv", labelled.test)),
            text_column="text",
            label_column="label",
            num_valid=config.num_valid,
            skips_bad=config.skips_bad,
        )
    # The only example of a rare label may have been held out.
    config = replace(config, labels=labelled.labels)
    return ComparedExamples(config=config, labelled=labelled, sources=example_hashes(config))


def find_leaks(
    examples: ComparedExamples, trunks: Sequence[ComparedTrunk], folder: Path, watch: Watch
) -> Leaks:
    """Runs the leak guard once for all jobs; what it found is kept beside them."""
    path = folder / LEAKS_FILE
    key = json_digest([LEAKS_VERSION, examples.key, [trunk.sha256 for trunk in trunks]])
    if path.exists():
        kept = read_sealed_json(path)
        if isinstance(kept, dict) and kept.get("key") == key:
            return leaks_of(kept, len(examples.labelled.test))
    watch.say("Holding the splits against each other and against what the trunks have read.")
    report = check(examples.splits, None)
    sketches = [
        (trunk, finding)
        for trunk in trunks
        for finding in sketch_findings(examples.splits, trunk, watch)
    ]
    known = {i for _, finding in sketches if finding.split == "test" for i in finding.known}
    clean = [index for index in report.cleaned["test"].clean if index not in known]
    num_test = len(examples.labelled.test)
    found = {
        "findings": shown_copies(report),
        "sketches": [sketch_json(trunk, finding) for trunk, finding in sketches],
        "num_clean": len(clean),
        "num_test": num_test,
    }
    kept = {"key": key, "clean": clean, "found": found}
    write_sealed_json(path, kept)
    mark_as_there(folder)
    return leaks_of(kept, num_test)


def leaks_of(kept: dict[str, Any], num_test: int) -> Leaks:
    """Returns what was kept; a test of copies leaves too little to compare on."""
    is_clean_N = np.zeros(num_test, dtype=np.bool_)
    is_clean_N[kept["clean"]] = True
    num_clean = int(is_clean_N.sum())
    if num_clean < FEWEST_CLEAN:
        raise DataError(
            f"{num_test - num_clean:,} of {num_test:,} test items stand in the training or "
            f"pretraining text, which leaves {num_clean} to compare on; at least {FEWEST_CLEAN} "
            "are needed. Name another test."
        )
    return Leaks(is_clean_N=is_clean_N, found=kept["found"])


def sketch_findings(
    splits: Splits, trunk: ComparedTrunk, watch: Watch
) -> tuple[SketchFinding, ...]:
    """Holds the splits against what a trunk has read, as far as it is known."""
    if not (trunk.folder / SKETCH_FILE).is_file():
        watch.say(
            f"{trunk.folder} has no {SKETCH_FILE}: whether it has read the test is not known."
        )
        return ()
    return check_run(splits, trunk.folder)


def sketch_json(trunk: ComparedTrunk, finding: SketchFinding) -> dict[str, object]:
    """Returns how much of a split a trunk has read."""
    return {
        "trunk": trunk.name,
        "split": finding.split,
        "share": finding.overall.share,
        "known": len(finding.known),
        "unjudged": finding.num_unjudged,
    }


def shown_copies(report: LeakReport) -> list[dict[str, Any]]:
    """Returns every comparison with its count and the first of what it found."""
    rows: list[dict[str, Any]] = [dict(row) for row in copies_json(report)]
    return [row | {"found": row["found"][:MOST_SHOWN]} for row in rows]


def job_examples(config: ExamplesConfig, size: int, draw: int) -> ExamplesConfig:
    """Returns the examples of one job."""
    return replace(config, size=size, draw=draw)
