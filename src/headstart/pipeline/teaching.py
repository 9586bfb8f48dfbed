"""Teachers and texts without labels to soft targets: what a student learns beside its labels.

Legend: N texts, C labels.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from headstart.corpora.tables import source_sha256
from headstart.errors import RecipeError
from headstart.models.config import MOST, require_whole
from headstart.pipeline.calibrated_baseline import fit_baseline
from headstart.pipeline.classifier import load_classifier, parts_of, probabilities
from headstart.pipeline.examples import (
    ExamplesConfig,
    Labelled,
    example_files,
    read_examples_config,
)
from headstart.pipeline.learner import ShouldStop, never, require_going_on
from headstart.pipeline.planning import Place
from headstart.pipeline.run_files import (
    SEEN_FILE,
    WEIGHTS_FILE,
    read_recipe,
    require_finished,
)
from headstart.pipeline.run_folder import recorded_sha256
from headstart.pipeline.seen import read_seen
from headstart.pipeline.taught import Taught
from headstart.pipeline.text_rows import transfer_of
from headstart.pipeline.unlabelled import Unlabelled, draw_unlabelled, held_out_marks
from headstart.pipeline.watch import Watch

TFIDF = "tfidf"
MOST_UNLABELLED = 25_000


@dataclass(frozen=True, kw_only=True)
class Teaching:
    """Which texts have no labels, and who answers for them."""

    unlabelled: tuple[str, ...]
    """Files of texts, read as those of a corpus."""
    teachers: tuple[str | Path, ...]
    """Folders of finished classifiers, or the word tfidf."""
    most: int = MOST_UNLABELLED
    """So many texts at most, drawn where there are more."""
    seed: int = 0
    text_column: str | None = None
    """The column of tables that holds the text; None finds it."""

    def __post_init__(self) -> None:
        require_whole(self, "most", at_least=1, at_most=MOST)
        if not self.unlabelled or not self.teachers:
            raise RecipeError(
                f"There are {len(self.unlabelled)} files of texts without labels and "
                f"{len(self.teachers)} teachers; at least one of each is needed."
            )


def teach(
    teaching: Teaching,
    examples: ExamplesConfig,
    labelled: Labelled,
    place: Place,
    watch: Watch,
    should_stop: ShouldStop = never,
) -> Taught:
    """Draws the texts and has all teachers answer for each; the answers are their mean."""
    seen: set[bytes] = set()
    for teacher in teaching.teachers:
        if teacher != TFIDF:
            require_teacher(Path(teacher), labelled.labels)
            seen |= seen_by(Path(teacher), examples, labelled, watch)
    drawn = read_unlabelled(teaching, examples, labelled, watch)
    if place.num_threads is not None:
        torch.set_num_threads(place.num_threads)
    found = [answers(one, labelled, drawn.texts, place, should_stop) for one in teaching.teachers]
    return Taught(
        texts=drawn.texts,
        names=[str(document.place) for document in drawn.documents],
        numbers=drawn.numbers,
        probability_NC=np.mean([answer_NC for answer_NC, _ in found], axis=0).astype(np.float32),
        facts={
            "text_column": teaching.text_column,
            "sources": {name: source_sha256(Path(name)) for name in teaching.unlabelled},
            "teachers": [facts for _, facts in found],
            "num_read": drawn.num_read,
            "num_texts": len(drawn.texts),
            "num_copies": drawn.num_copies,
            "num_wordless": drawn.num_wordless,
        },
        teachers_seen=frozenset(seen),
    )


def read_unlabelled(
    teaching: Teaching, examples: ExamplesConfig, labelled: Labelled, watch: Watch
) -> Unlabelled:
    """Reads and draws the texts that teachers answer for, and says what was left out of them."""
    paths = [Path(name) for name in teaching.unlabelled]
    reading = replace(examples.reading(), text_column=teaching.text_column)
    drawn = draw_unlabelled(
        watch.read(paths, reading, "Reading texts without labels"),
        held_out_marks([*labelled.valid, *labelled.test]),
        teaching.most,
        teaching.seed,
    )
    for line in reading.complaints.summary():
        watch.say(line)
    watch.say(
        f"Learning from {len(drawn.texts):,} of {drawn.num_read:,} texts without labels. Left out "
        f"as copies of validation or test texts: {drawn.num_copies:,}; for want of words: "
        f"{drawn.num_wordless:,}."
    )
    return drawn


def seen_by(
    teacher: Path, examples: ExamplesConfig, labelled: Labelled, watch: Watch
) -> frozenset[bytes]:
    """Returns what a teacher has learned from or chosen by, and says where a student is to choose.

    A classifier that was given away may no longer know it.
    """
    if not (teacher / SEEN_FILE).is_file():
        watch.say(
            f"The teacher {teacher} has no {SEEN_FILE}: what it has learned from is unknown, and "
            "may stand in the validation texts and in the clean test."
        )
        return frozenset()
    seen = read_seen(teacher)
    num_known = len(held_out_marks(labelled.valid) & seen)
    if num_known and not holds_out_the_same(teacher, examples):
        watch.say(
            f"The teacher {teacher} has seen {num_known:,} of the {len(labelled.valid):,} "
            "validation texts: what validation shows will be too good. Name one validation file "
            "for both with --valid."
        )
    return seen


def holds_out_the_same(teacher: Path, examples: ExamplesConfig) -> bool:
    """Whether a teacher has chosen by the very texts that its student will choose by."""
    theirs, sources = read_examples_config(teacher)
    is_split = examples.valid is None
    if (theirs.valid is None) != is_split or (is_split and theirs.draw != examples.draw):
        return False
    decisive = "train" if is_split else "valid"
    ours = [source_sha256(path) for role, path in example_files(examples) if role == decisive]
    return ours == [
        sources.get(str(path)) for role, path in example_files(theirs) if role == decisive
    ]


def answers(
    teacher: str | Path,
    labelled: Labelled,
    texts: Sequence[str],
    place: Place,
    should_stop: ShouldStop = never,
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Returns how likely each label is to one teacher, and who that is. Shape (N, C)."""
    if teacher == TFIDF:
        # One thread, as in a comparison, and so the same sums on any machine.
        with threadpool_limits(limits=1):
            require_going_on(should_stop)
            fitted = fit_baseline(TFIDF, labelled, place.seed)
            found = []
            # In parts: their words and characters take many times the room of the texts.
            for part in parts_of(texts):
                require_going_on(should_stop)
                found.append(fitted.probabilities(part))
            return np.concatenate(found), {"name": TFIDF} | dict(fitted.fitted.settings)
    folder = Path(teacher)
    facts = {"name": folder.resolve().name, "sha256": recorded_sha256(folder, WEIGHTS_FILE)}
    return run_answers(folder, labelled.labels, texts, place.device, should_stop), facts


def run_answers(
    folder: Path,
    labels: Sequence[str],
    texts: Sequence[str],
    device: str,
    should_stop: ShouldStop = never,
) -> NDArray[np.float64]:
    """Returns the calibrated answers of a classifier, its labels in our order. Shape (N, C)."""
    classifier = load_classifier(folder, device)
    order = [classifier.labels.index(label) for label in labels]
    with full_precision():
        rows = list(probabilities(classifier, texts, should_stop))
    return np.stack(rows)[:, order].astype(np.float64)


@contextmanager
def full_precision() -> Iterator[None]:
    """Has products done as `predict` does them, whatever runs this process has trained before."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def require_teacher(folder: Path, labels: Sequence[str]) -> None:
    """Raises an error for a run that is no finished classifier of the same labels."""
    known = transfer_of(folder, read_recipe(folder)).labels
    require_finished(folder)
    if set(known) != set(labels):
        raise RecipeError(
            f"The teacher {folder} knows the labels {', '.join(known)}, but the examples have "
            f"{', '.join(labels)}. Name a classifier of the same labels."
        )
