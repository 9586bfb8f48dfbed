"""The next piece of a translation, from the source and the true pieces before it.

Legend: B pairs, S positions of the source, T positions of the target, D width, M answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headstart.batches.pair_shapes import PairShape
from headstart.models.heads.language import LanguageHead
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.model import Model
from headstart.models.trunks import EncoderDecoder
from headstart.objectives.answers import answered_vectors
from headstart.objectives.batch import PIECES
from headstart.objectives.objective import Loss
from headstart.objectives.travel import array_moved
from headstart.objectives.vocabulary_loss.chunked import position_losses, summed_loss
from headstart.tokenizers.pieces import END_ID, PADDING_ID, START_ID

TranslationModel = Model[EncoderDecoder, LanguageHead]
# The pieces of texts, without any mark.
Pieces = Sequence[NDArray[np.int32]]


@dataclass(frozen=True, kw_only=True)
class PairBatch:
    """Pairs to be read, and the pieces of their targets that are asked for."""

    pair: SourceAndTarget
    """The target as it is read: behind a start, and without its end."""
    answered_M: Tensor | None
    """The places of the answered positions, counted through all targets; None where all are."""
    target_M: Tensor
    names: tuple[str, ...]
    """What each pair is called when something is wrong with it."""
    num_tokens: int
    """The pieces of the targets, padding aside: what a translator's speed is counted in."""
    share_M: Tensor | None = None
    """The share of each answer in the mean, 0 for padding; None where there is only what is asked.

    A step of this shape may be recorded: how many answers there are is read from here again.
    """

    @property
    def counts(self) -> Mapping[str, int]:
        """How many answers are asked for; 1 where they are a mean already."""
        return {PIECES: self.num_tokens if self.share_M is None else 1}


@dataclass(frozen=True)
class Translation:
    """Predicts each piece of a target, and its end; the answer is never quite certain."""

    label_smoothing: float = 0.0

    def loss(self, model: TranslationModel, batch: PairBatch) -> Loss:
        """Returns the loss of every piece, summed; the decoder sees nothing of what is to come."""
        answered_MD = asked_vectors(model, batch)
        head = model.head
        total = summed_loss(
            answered_MD,
            head.weight,
            head.bias,
            batch.target_M,
            batch.share_M,
            label_smoothing=self.label_smoothing,
        )
        return {PIECES: total}


def asked_vectors(model: TranslationModel, batch: PairBatch) -> Tensor:
    """Returns the vector behind which each answer is asked for. Shape (M, D)."""
    return answered_vectors(model.trunk(batch.pair), batch.answered_M)


@torch.no_grad()
def answer_losses(model: TranslationModel, batch: PairBatch) -> Tensor:
    """Returns the plain loss of each answer, in nats and not smoothed. Shape (M,)."""
    head = model.head
    return position_losses(asked_vectors(model, batch), head.weight, head.bias, batch.target_M)


def to_pair_batch(
    sources: Pieces,
    targets: Pieces,
    names: Sequence[str],
    device: str,
    length_step: int = 1,
) -> PairBatch:
    """Returns pairs as a batch on a device, each side padded behind to a multiple of a length."""
    read, asked, is_answered = target_grids(targets, padded_shape(targets, length_step))
    return PairBatch(
        # Padding stands behind every piece of a target, where a causal decoder never looks: a
        # mask would only keep it from the fastest kernels.
        pair=SourceAndTarget(
            source_text(sources, device, length_step), Text(array_moved(read, device))
        ),
        answered_M=array_moved(np.flatnonzero(is_answered), device),
        target_M=array_moved(asked[is_answered], device),
        names=tuple(names),
        num_tokens=int(is_answered.sum()),
    )


def to_shaped_batch(
    sources: Pieces, targets: Pieces, names: Sequence[str], device: str, shape: PairShape
) -> PairBatch:
    """Returns pairs as a batch of a given shape, in which every position of a target is judged.

    What is padding counts for nothing, so that loss and gradients are those of the pairs alone.
    """
    tokens, is_token = ended(sources, (shape.num_rows, shape.source_length))
    read, asked, is_asked = target_grids(targets, (shape.num_rows, shape.target_length))
    num_tokens = int(is_asked.sum())
    share_M = (is_asked.ravel() / num_tokens).astype(np.float32)
    source = Text(array_moved(tokens, device), array_moved(is_token, device))
    return PairBatch(
        pair=SourceAndTarget(source, Text(array_moved(read, device))),
        answered_M=None,
        target_M=array_moved(asked.ravel(), device),
        names=tuple(names),
        num_tokens=num_tokens,
        share_M=array_moved(share_M, device),
    )


def source_text(sources: Pieces, device: str, length_step: int = 1) -> Text:
    """Returns sources as an encoder reads them: each with its end, padded behind."""
    tokens, is_token = ended(sources, padded_shape(sources, length_step))
    # Without padding there is no need of a mask; but what is padded to few shapes should not have
    # one time and again and none the next, since compiled code is made anew for each.
    has_mask = length_step > 1 or not is_token.all()
    return Text(array_moved(tokens, device), array_moved(is_token, device) if has_mask else None)


def target_grids(
    targets: Pieces, shape: tuple[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Returns targets as read, behind a start; as asked for, to the end; and what is no padding."""
    asked, is_token = ended(targets, shape)
    read = np.roll(asked, 1, axis=1)
    read[:, 0] = START_ID
    # The end of a shorter row would lead on to something; nothing is asked there.
    return np.where(is_token, read, PADDING_ID), asked, is_token


def padded_shape(rows: Pieces, length_step: int = 1) -> tuple[int, int]:
    """Returns the shape of a grid for rows with an end each, as long as a multiple of a length."""
    longest = 1 + max(map(len, rows))
    return len(rows), -(-longest // length_step) * length_step


def ended(rows: Pieces, shape: tuple[int, int]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Returns rows with an end each as a grid, the rest padding, and what of it is no padding."""
    grid = np.full(shape, PADDING_ID, np.int64)
    # Of a row that is not there not even the end is.
    lengths = np.full(shape[0], -1)
    lengths[: len(rows)] = [len(row) for row in rows]
    for number, row in enumerate(rows):
        grid[number, : len(row)] = row
    grid[np.arange(len(rows)), lengths[: len(rows)]] = END_ID
    return grid, np.arange(shape[1]) <= lengths[:, None]
