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
from headstart.errors import RecipeError, RunError
from headstart.models.config import MOST, require_whole
from headstart.pipeline.calibrated_baseline import fit_baseline
from headstart.pipeline.classifier import load_classifier, parts_of, probabilities
from headstart.pipeline.examples import ExamplesConfig, Labelled, read_examples_config
from headstart.pipeline.learner import ShouldStop, never, require_going_on
from headstart.pipeline.planning import Place
from headstart.pipeline.run_files import WEIGHTS_FILE, is_finished, read_recipe
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
    classifiers = [Path(teacher) for teacher in teaching.teachers if teacher != TFIDF]
    for folder in classifiers:
        require_teacher(folder, labelled.labels)
        for line in validation_that_is_known(folder, examples):
            watch.say(line)
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
        teachers_seen=frozenset().union(*map(read_seen, classifiers)),
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


def validation_that_is_known(teacher: Path, examples: ExamplesConfig) -> Iterator[str]:
    """Yields a sentence where a teacher has learned from what a student will choose by."""
    theirs, _ = read_examples_config(teacher)
    if examples.valid is None and theirs.valid is None and theirs.draw != examples.draw:
        yield (
            f"The teacher {teacher} held out other validation texts (draw {theirs.draw}, here "
            f"{examples.draw}), and has learned from most of those that are held out here: what "
            "validation shows will be too good. Name one validation file for both with --valid."
        )


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
    if not is_finished(folder):
        raise RunError(
            f"The teacher {folder} is not finished. Go on with it by: headstart resume {folder}"
        )
    if set(known) != set(labels):
        raise RecipeError(
            f"The teacher {folder} knows the labels {', '.join(known)}, but the examples have "
            f"{', '.join(labels)}. Name a classifier of the same labels."
        )
