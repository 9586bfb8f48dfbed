"""A translator held against true translations: BLEU, chrF and the loss, alone or beside another."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

from headstart.corpora.documents import Reading
from headstart.corpora.pairs import Pair, read_pair_table, read_pairs
from headstart.errors import DataError
from headstart.evaluation.pair_loss import pair_loss
from headstart.evaluation.translation import (
    PairedScores,
    TranslationScores,
    paired_bootstrap,
    translation_scores,
)
from headstart.pipeline.run_folder import Run
from headstart.pipeline.translating.pair_copies import are_copied_by
from headstart.pipeline.translating.pair_scoring import as_batch, pair_row, parts, room_of


@dataclass(frozen=True, kw_only=True)
class PairTest:
    """Where the pairs of a test stand: in two files, or in tables."""

    source: Path | None = None
    target: Path | None = None
    tables: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if (self.source is None) != (self.target is None):
            given, missing = (
                (f"--source {self.source}", "--target")
                if self.target is None
                else (f"--target {self.target}", "--source")
            )
            raise DataError(f"{given} was given without {missing}. Each line needs its other side.")
        if (self.source is None) != bool(self.tables):
            found = "both" if self.tables else "neither"
            raise DataError(
                f"Two files with --source and --target, or tables with --test, hold the pairs; "
                f"{found} were given."
            )


@dataclass(frozen=True, kw_only=True)
class PairLoss:
    """What the true translations cost a translator."""

    nats: float
    """For each piece, the end included."""
    num_pieces: int
    num_too_long: int
    """Pairs that have more pieces than the run has positions, and were left out."""


@dataclass(frozen=True, kw_only=True)
class TranslationEvaluation:
    """What a translator is worth on a test."""

    scores: TranslationScores
    """On the full test."""
    clean: TranslationScores | None
    """Without the sources that the run has learned from, where there are such and others."""
    num_copied: int | None
    """How many it has learned from; None where its pairs are gone or have changed."""
    loss: PairLoss
    against: PairedScores | None
    """The difference to another run on the same sentences, where one was named."""


def read_test_pairs(files: PairTest, reading: Reading) -> list[Pair]:
    """Reads all pairs of a test."""
    if files.source is not None and files.target is not None:
        return list(read_pairs(files.source, files.target, reading))
    return [pair for table in files.tables for pair in read_pair_table(table, reading)]


def evaluate_translation(
    run: Run, pairs: Sequence[Pair], found: Sequence[str], others: Sequence[str] | None = None
) -> TranslationEvaluation:
    """Scores the translations that a run has found, alone and against those of another."""
    references = [pair.target for pair in pairs]
    is_copied = are_copied_by(run.folder, pairs)
    return TranslationEvaluation(
        scores=translation_scores(found, references),
        clean=None if is_copied is None else clean_scores(found, references, is_copied),
        num_copied=None if is_copied is None else sum(is_copied),
        loss=loss_on(run, pairs),
        against=None if others is None else paired_bootstrap(found, others, references),
    )


def clean_scores(
    found: Sequence[str], references: Sequence[str], is_copied: Sequence[bool]
) -> TranslationScores | None:
    """Returns the scores of what was not learned from, where that is something else than all."""
    is_clean = [not copied for copied in is_copied]
    if all(is_clean) or not any(is_clean):
        return None
    return translation_scores(list(compress(found, is_clean)), list(compress(references, is_clean)))


def loss_on(run: Run, pairs: Sequence[Pair]) -> PairLoss:
    """Returns what the pieces of all true translations cost a run on average."""
    rows = [pair_row(run, pair.source, pair.target) for pair in pairs]
    fitting = [row for row in rows if row.length <= room_of(run)]
    # By length, so that little is padded.
    fitting.sort(key=lambda row: row.length)
    nats, num_pieces = pair_loss(run.model, (as_batch(run, part) for part in parts(fitting)))
    return PairLoss(nats=nats, num_pieces=num_pieces, num_too_long=len(rows) - len(fitting))
