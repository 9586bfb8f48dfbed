"""How likely a translator finds given translations, piece by piece.

Legend: B pairs, T positions of the target, V pieces.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from headstart.models.config import EncoderDecoderConfig
from headstart.models.inputs import SourceAndTarget
from headstart.models.model import language_head
from headstart.pipeline.feeding import as_text
from headstart.pipeline.run_folder import Run
from headstart.tokenizers.pieces import END_ID, START_ID
from headstart.tokenizers.tokenizer import Tokenizer

# Few enough that the logits of a large vocabulary fit beside them.
NUM_TOKENS_AT_ONCE = 4_096


@dataclass(frozen=True, kw_only=True)
class PairRow:
    """The pieces of a source and of its translation, without marks."""

    source: tuple[int, ...]
    target: tuple[int, ...]

    @property
    def source_read(self) -> list[int]:
        """The source as the encoder reads it."""
        return [*self.source, END_ID]

    @property
    def target_read(self) -> list[int]:
        """The target as the decoder reads it."""
        return [START_ID, *self.target]

    @property
    def target_written(self) -> list[int]:
        """The target as it is asked for."""
        return [*self.target, END_ID]

    @property
    def length(self) -> int:
        """The positions that both sides need."""
        return 1 + max(len(self.source), len(self.target))


def pair_row(run: Run, source: str, target: str) -> PairRow:
    """Cuts both sides of a pair."""
    return PairRow(
        source=tuple(run.tokenizer.encode(source).tolist()),
        target=tuple(target_tokenizer_of(run).encode(target).tolist()),
    )


def target_tokenizer_of(run: Run) -> Tokenizer:
    """Returns what cuts the targets; one tokenizer may cut both sides."""
    found: Tokenizer = getattr(run, "target_tokenizer", run.tokenizer)
    return found


def room_of(run: Run) -> int:
    """Returns how many positions a translator has for each side."""
    trunk = run.recipe.model.trunk
    assert isinstance(trunk, EncoderDecoderConfig)
    return min(trunk.encoder.max_length, trunk.decoder.max_length)


def as_pairs(run: Run, rows: Sequence[PairRow]) -> SourceAndTarget:
    """Returns pairs as a translator reads them, padded behind."""
    return SourceAndTarget(
        as_text(run, [row.source_read for row in rows]),
        as_text(run, [row.target_read for row in rows]),
    )


@torch.inference_mode()
def written_log_probabilities(run: Run, rows: Sequence[PairRow]) -> Iterator[list[float]]:
    """Yields, for each pair in order, the logarithm of each written piece's probability."""
    for batch in batches(rows):
        pairs = as_pairs(run, batch)
        head = language_head(run.model)
        logits_BTV: Tensor = head(run.model.trunk(pairs), pairs.target)
        log_probability_BTV = logits_BTV.float().log_softmax(dim=-1)
        asked_BT = as_text(run, [row.target_written for row in batch]).tokens_BT
        found_BT = log_probability_BTV.gather(2, asked_BT[:, :, None])[:, :, 0].cpu()
        for row, found_T in zip(batch, found_BT, strict=True):
            yield found_T[: len(row.target_written)].tolist()


def batches(rows: Sequence[PairRow]) -> Iterator[list[PairRow]]:
    """Yields neighbouring rows, as many as may be read at once, at least one."""
    batch: list[PairRow] = []
    for row in rows:
        longest = max([row.length, *(one.length for one in batch)])
        if batch and longest * (len(batch) + 1) > NUM_TOKENS_AT_ONCE:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
