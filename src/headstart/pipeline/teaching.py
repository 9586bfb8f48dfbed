"""Teachers and texts without labels to soft targets: what a student learns beside its labels.

Legend: K voices, N texts without labels, V validation texts, M both together, C labels.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from headstart.corpora.tables import source_sha256
from headstart.errors import RecipeError
from headstart.evaluation.shares import fitted_shares
from headstart.files import json_digest, sha256_of
from headstart.models.config import MOST, require_whole
from headstart.pipeline.calibrated_baseline import fit_baseline, texts_and_targets
from headstart.pipeline.classifier import load_classifier, parts_of, probabilities
from headstart.pipeline.examples import ExamplesConfig, Labelled
from headstart.pipeline.judges import judges_of
from headstart.pipeline.kept_answers import Question, answered_all
from headstart.pipeline.learner import ShouldStop, never, require_going_on
from headstart.pipeline.planning import Place, best_precision
from headstart.pipeline.run_files import (
    MANIFEST_FILE,
    WEIGHTS_FILE,
    read_recipe,
    require_finished,
)
from headstart.pipeline.run_folder import recorded_sha256
from headstart.pipeline.taught import Taught
from headstart.pipeline.text_rows import transfer_of
from headstart.pipeline.unlabelled import Unlabelled, draw_unlabelled, held_out_marks
from headstart.pipeline.watch import Watch

TFIDF = "tfidf"
MOST_UNLABELLED = 25_000
# Of a share, where it is kept for readers.
NUM_DIGITS = 6

Teacher = str | Path
"""The folder of a finished classifier, or the word tfidf."""
Told = tuple[NDArray[np.float64], dict[str, Any]]
"""What a teacher answered, shape (N, C), and who that is."""


@dataclass(frozen=True, kw_only=True)
class Teaching:
    """Which texts have no labels, and who answers for them."""

    unlabelled: tuple[str, ...]
    """Files of texts, read as those of a corpus."""
    teachers: tuple[Teacher | tuple[Teacher, ...], ...]
    """Those that differ by their seed alone stand together, and speak with one voice."""
    most: int = MOST_UNLABELLED
    """So many texts at most, drawn where there are more."""
    seed: int = 0
    text_column: str | None = None
    """The column of tables that holds the text; None finds it."""
    kept: Path | None = None
    """Where answers are kept for other students that ask the same; None keeps none."""

    def __post_init__(self) -> None:
        require_whole(self, "most", at_least=1, at_most=MOST)
        named = [str(one) for voice in self.voices for one in voice]
        if twice := [name for name in dict.fromkeys(named) if named.count(name) > 1]:
            raise RecipeError(f"The teacher {twice[0]} is named twice. Name each teacher once.")
        if not all(self.voices):
            raise RecipeError(
                f"The teachers are {self.teachers}, one of which names nobody. Leave out what is "
                "empty."
            )
        if not self.unlabelled or not self.teachers:
            raise RecipeError(
                f"There are {len(self.unlabelled)} files of texts without labels and "
                f"{len(self.teachers)} teachers; at least one of each is needed."
            )

    @property
    def voices(self) -> tuple[tuple[Teacher, ...], ...]:
        """The teachers, each with those that it speaks with."""
        return tuple(one if isinstance(one, tuple) else (one,) for one in self.teachers)


def teach(
    teaching: Teaching,
    examples: ExamplesConfig,
    labelled: Labelled,
    place: Place,
    watch: Watch,
    should_stop: ShouldStop = never,
) -> Taught:
    """Draws the texts and has all teachers answer for each, who count as validation has it."""
    runs = [Path(one) for voice in teaching.voices for one in voice if one != TFIDF]
    for run in runs:
        require_teacher(run, labelled.labels)
    judges = judges_of(runs, examples, labelled, watch)
    drawn = read_unlabelled(teaching, examples, labelled, watch)
    if place.num_threads is not None:
        torch.set_num_threads(place.num_threads)
    judged_texts, targets = texts_and_targets(judges.examples, labelled.labels)
    asked = [*judged_texts, *drawn.texts]
    told = networks_told(runs, labelled.labels, asked, teaching.kept, place.device, should_stop)
    if any(TFIDF in voice for voice in teaching.voices):
        told[TFIDF] = tfidf_told(labelled, asked, place.seed, should_stop)
    found = [[told[str(one)] for one in voice] for voice in teaching.voices]
    said_KMC = np.stack([np.mean([answer_MC for answer_MC, _ in voice], axis=0) for voice in found])
    judged_KVC, told_KNC = np.split(said_KMC, [len(targets)], axis=1)
    share_K = fitted_shares(judged_KVC, np.array(targets))
    watch.say(shares_sentence(teaching.voices, share_K, len(targets)))
    return Taught(
        texts=drawn.texts,
        names=[str(document.place) for document in drawn.documents],
        numbers=drawn.numbers,
        probability_NC=np.einsum("k,knc->nc", share_K, told_KNC).astype(np.float32),
        facts={
            "text_column": teaching.text_column,
            "sources": {name: source_sha256(Path(name)) for name in teaching.unlabelled},
            "teachers": [
                facts | {"voice": number}
                for number, voice in enumerate(found)
                for _, facts in voice
            ],
            "shares": [round(float(share), NUM_DIGITS) for share in share_K],
            "num_read": drawn.num_read,
            "num_texts": len(drawn.texts),
            "num_copies": drawn.num_copies,
            "num_wordless": drawn.num_wordless,
        },
        teachers_seen=judges.seen,
    )


def shares_sentence(
    voices: Sequence[Sequence[Teacher]], share_K: NDArray[np.float64], num_judging: int
) -> str:
    """Says how much each voice counts, and by how many texts that was judged."""
    told = ", ".join(
        f"{' and '.join(Path(one).name for one in voice)} {100 * share:.0f} %"
        for voice, share in zip(voices, share_K, strict=True)
    )
    return f"How much each teacher counts, by {num_judging:,} validation texts: {told}."


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


def networks_told(
    runs: Sequence[Path],
    labels: Sequence[str],
    texts: Sequence[str],
    kept: Path | None,
    device: str,
    should_stop: ShouldStop = never,
) -> dict[str, Told]:
    """Returns how likely each label is to each classifier, by its folder, and who that is."""
    # Answers are rounded otherwise on other devices, and a run's manifest tells all of it.
    asked = None if kept is None else [device.partition(":")[0], list(labels), json_digest(texts)]
    questions = [
        Question(
            ask=partial(run_answers, run, labels, texts, device, should_stop),
            key=None if asked is None else [sha256_of(run / MANIFEST_FILE), *asked],
        )
        for run in runs
    ]
    answers = answered_all(questions, kept, should_stop)
    return {
        str(run): (
            answer_NC.astype(np.float64),
            {"name": run.resolve().name, "sha256": recorded_sha256(run, WEIGHTS_FILE)},
        )
        for run, answer_NC in zip(runs, answers, strict=True)
    }


def tfidf_told(
    labelled: Labelled, texts: Sequence[str], seed: int, should_stop: ShouldStop = never
) -> Told:
    """Returns how likely each label is to TF-IDF of the same labels, and how that was fitted."""
    # One thread, as in a comparison, and so the same sums on any machine.
    with threadpool_limits(limits=1):
        require_going_on(should_stop)
        fitted = fit_baseline(TFIDF, labelled, seed)
        found = []
        # In parts: their words and characters take many times the room of the texts.
        for part in parts_of(texts):
            require_going_on(should_stop)
            found.append(fitted.probabilities(part))
        return np.concatenate(found), {"name": TFIDF} | dict(fitted.fitted.settings)


def run_answers(
    folder: Path,
    labels: Sequence[str],
    texts: Sequence[str],
    device: str,
    should_stop: ShouldStop = never,
) -> NDArray[np.float32]:
    """Returns the calibrated answers of a classifier, its labels in our order. Shape (N, C)."""
    # On a GPU single precision takes ten times as long, and what it adds is lost in learning.
    precision = best_precision(device) if device.startswith("cuda") else "fp32"
    classifier = load_classifier(folder, device, precision)
    order = [classifier.labels.index(label) for label in labels]
    with full_precision():
        rows = list(probabilities(classifier, texts, should_stop))
    answers_NC: NDArray[np.float32] = np.stack(rows)[:, order]
    return answers_NC


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
