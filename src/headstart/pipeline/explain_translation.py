"""Translator and text to an explanation: what was written, what it looked at, what else was found.

Legend: H heads, S pieces of the source, T pieces of the target.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from headstart import __version__
from headstart.errors import DataError
from headstart.evaluation.translation_explanation import (
    Candidate,
    Layers,
    PairMaps,
    TranslationExplanation,
    WrittenPiece,
)
from headstart.files import write_bytes
from headstart.models.inspection import PairWeights, pair_weights
from headstart.models.masks import causal
from headstart.pipeline.run_folder import Run
from headstart.pipeline.translate import Translation
from headstart.pipeline.translating.pair_scoring import (
    PairRow,
    as_pairs,
    room_of,
    written_log_probabilities,
)
from headstart.reports.page import page_html
from headstart.reports.translation_page import translation_page
from headstart.tokenizers.tokenizer import Tokenizer

# What a person can still tell apart with a piece beside each row.
NUM_PIECES_SHOWN = 40


def write_translation_page(run: Run, found: Translation, path: Path) -> None:
    """Writes as a page how a translation came about."""
    explanation = explain_translation(run, found)
    write_bytes(path, page_html(translation_page(explanation, __version__)).encode())


def explain_translation(run: Run, found: Translation) -> TranslationExplanation:
    """Returns what is known of how a translation came about."""
    source = run.tokenizer.encode(found.source if found.source.strip() else "")
    row = PairRow(source=tuple(source.tolist()), target=found.ids)
    most = room_of(run)
    if row.length > most:
        raise DataError(
            f"The text needs {row.length:,} positions, but this run reads {most:,} at once, so "
            "that it was translated in parts. Explain one sentence."
        )
    (log_probabilities,) = written_log_probabilities(run, [row])
    vocabulary = run.target_tokenizer.vocabulary
    return TranslationExplanation(
        run=str(run.folder),
        source=found.source,
        text=found.text,
        candidates=tuple(Candidate(text=one.text, score=one.score) for one in found.alternatives),
        notes=tuple(found.notes),
        written=tuple(
            WrittenPiece(piece=vocabulary[number], probability=math.exp(log_probability))
            for number, log_probability in zip(row.target_written, log_probabilities, strict=True)
        ),
        maps=pair_maps(run, row),
    )


def pair_maps(run: Run, row: PairRow) -> PairMaps:
    """Returns who attends to whom while the target of a pair is written."""
    with torch.inference_mode():
        weights = pair_weights(run.model.trunk, as_pairs(run, [row]))
    source, target = shown_part(row.source_read), shown_part(row.target_read)
    return PairMaps(
        source_pieces=pieces_of(run.tokenizer, row.source_read[source]),
        read_pieces=pieces_of(run.target_tokenizer, row.target_read[target]),
        written_pieces=pieces_of(run.target_tokenizer, row.target_written[target]),
        num_source_pieces=len(row.source_read),
        num_target_pieces=len(row.target_read),
        source=cut(weights.source, source, source),
        target=cut(weights.target, target, target),
        across=cut(weights.across, target, source),
        may_attend=causal(target.stop).numpy(),
        largest_gap=largest_gap(weights),
        largest_future=max(float(one.triu(diagonal=1).max()) for one in weights.target),
    )


def shown_part(row: Sequence[int]) -> slice:
    """Returns the places of a row that maps show."""
    return slice(0, min(len(row), NUM_PIECES_SHOWN))


def cut(layers: Sequence[Tensor], rows: slice, columns: slice) -> Layers:
    """Returns the weights of the only pair in a batch, of the pieces that are shown."""
    return tuple(
        np.asarray(weights[0, :, rows, columns].float().cpu().numpy()) for weights in layers
    )


def largest_gap(weights: PairWeights) -> float:
    """Returns the most by which a row misses a sum of 1."""
    layers = (*weights.source, *weights.target, *weights.across)
    return max(float((one.float().sum(dim=-1) - 1).abs().max()) for one in layers)


def pieces_of(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[str, ...]:
    """Returns the pieces of ids."""
    return tuple(tokenizer.vocabulary[number] for number in ids)
