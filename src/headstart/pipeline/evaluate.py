"""A run held against any text: loss, perplexity, bits for each byte, and the loss by position."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from headstart.batches.store import TokenStore
from headstart.errors import RunError
from headstart.evaluation.by_position import PositionScores, score_positions
from headstart.evaluation.language import LanguageScores, score_language
from headstart.files import write_bytes
from headstart.models.config import TrunkConfig
from headstart.objectives.batch import Batch, to_batch
from headstart.objectives.objective import Objective, StepRows
from headstart.objectives.table import OBJECTIVES
from headstart.objectives.vocabulary_loss.chunked import summed_loss
from headstart.pipeline.corpus_stores import CorpusConfig, whole_store
from headstart.pipeline.run_folder import Run
from headstart.pipeline.watch import Watch
from headstart.reports.figures.loss_by_position import draw
from headstart.reports.figures.style import FORMATS, render

# Texts of these many times the trained length are tried.
TIMES_LENGTH = (1, 2, 4)
# Enough text for a mean at each position, little enough for a processor.
NUM_POSITION_TOKENS = 1 << 17
SEED = 0


@dataclass(frozen=True)
class LanguageEvaluation:
    """What a run is worth on a text."""

    scores: LanguageScores
    trained_length: int
    by_position: tuple[PositionScores, ...]
    """For each length that the positions allow and the text fills."""
    beyond: str
    """Why longer texts were not tried, where they were not."""


def evaluate_language(
    run: Run, text: CorpusConfig, device: str, num_threads: int, watch: Watch
) -> LanguageEvaluation:
    """Scores a run on all of a text, then by position and beyond the trained length."""
    if run.recipe.objective not in OBJECTIVES:
        raise RunError(
            f"{run.folder} was trained for {run.recipe.objective}, which has no language to score."
        )
    store = whole_store(text, run.tokenizer, num_threads, watch)
    objective = OBJECTIVES[run.recipe.objective](run.tokenizer, summed_loss, run.recipe.hiding)
    step = StepRows(length=run.recipe.length, sequences=run.recipe.sequences_per_step, seed=SEED)
    batches = (to_batch(rows, device) for rows in objective.held_out_rows(store, step))
    scores = score_language(run.model, batches, store.num_tokens / store.num_bytes)
    lengths, beyond = lengths_to_try(run, store)
    by_position = tuple(
        score_positions(run.model, one_text_rows(objective, store, length, device), length)
        for length in lengths
    )
    return LanguageEvaluation(scores, run.recipe.length, by_position, beyond)


def lengths_to_try(run: Run, store: TokenStore) -> tuple[list[int], str]:
    """Returns the lengths that the trunk has positions for and the text fills, and why no more."""
    trunk = run.recipe.model.trunk
    if run.recipe.objective == "masked+next" or not isinstance(trunk, TrunkConfig):
        return [], "Pairs of sentences have no length of their own to go beyond."
    wanted = [times * run.recipe.length for times in TIMES_LENGTH]
    fitting = [length for length in wanted if length <= trunk.max_length]
    filled = [length for length in fitting if length < store.num_tokens]
    if len(filled) < len(fitting):
        return filled, f"The text has {store.num_tokens:,} pieces, too few for longer ones."
    if len(fitting) < len(wanted):
        return filled, f"The {trunk.positions} positions end at {trunk.max_length:,}."
    return filled, ""


def one_text_rows(
    objective: Objective, store: TokenStore, length: int, device: str
) -> Iterator[Batch]:
    """Yields rows in which documents run together, so that every position has all before it."""
    step = StepRows(length=length, sequences=max(1, 4_096 // length), seed=SEED)
    num_batches = max(1, NUM_POSITION_TOKENS // (step.length * step.sequences))
    for rows in islice(objective.held_out_rows(store, step), num_batches):
        if rows.tokens.shape[1] == length:
            joined = replace(rows, documents=np.zeros_like(rows.documents))
            yield to_batch(joined, device)


def write_position_figure(seen: LanguageEvaluation, title: str, folder: Path) -> list[Path]:
    """Draws the loss by position, and returns the files."""
    if not seen.by_position:
        return []
    figure = draw(seen.by_position, seen.trained_length, title)
    paths = [folder / f"loss-by-position.{file_format}" for file_format in FORMATS]
    for path, file_format in zip(paths, FORMATS, strict=True):
        write_bytes(path, render(figure, file_format))
    return paths
