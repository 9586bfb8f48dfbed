"""The next piece, under the square mask."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headstart.batches.packing import PackedBatches, PackedRows, rows_in_order
from headstart.batches.store import TokenStore
from headstart.models.heads.language import LanguageHead
from headstart.models.model import Model
from headstart.models.trunks import Trunk
from headstart.objectives.answers import piece_loss
from headstart.objectives.batch import PIECES, Batch, Rows
from headstart.objectives.objective import HeadLoss, Loss, StepRows, Stream
from headstart.tokenizers.pieces import END_ID, START_ID

# A row of n predictions needs n + 1 pieces: the last is only predicted.
NUM_AHEAD = 1


@dataclass(frozen=True)
class Causal:
    """Predicts each piece of a document from the pieces before it."""

    head_loss: HeadLoss

    def training_rows(self, store: TokenStore, step: StepRows) -> Stream:
        """Returns rows whose every piece is to be predicted."""
        batches = PackedBatches(store, step.length + NUM_AHEAD, step.sequences, step.seed)
        return Stream(
            at=lambda number: shifted(batches.at(number)), steps_per_epoch=batches.steps_per_epoch
        )

    def held_out_rows(self, store: TokenStore, step: StepRows) -> Iterator[Rows]:
        """Yields a text from first to last; every piece but the very first is predicted once."""
        for packed in rows_in_order(store, step.length + NUM_AHEAD, step.sequences, NUM_AHEAD):
            yield shifted(packed)

    def loss(self, model: Model[Trunk, LanguageHead], batch: Batch) -> Loss:
        """Returns the loss of every piece, summed."""
        hidden_BTD = model.trunk(batch.text)
        return {PIECES: piece_loss(model.head, hidden_BTD, batch, self.head_loss)}


def shifted(packed: PackedRows) -> Rows:
    """Returns rows in which each piece is asked for where the one before it stands.

    Where a document has ended the next one starts: its first piece is asked for behind a start that
    sees nothing of what came before.
    """
    read = packed.tokens[:, :-NUM_AHEAD]
    return Rows(
        tokens=np.where(read == END_ID, START_ID, read),
        # The document of what is asked for, so that a start belongs to what it starts.
        documents=packed.documents[:, NUM_AHEAD:],
        targets=packed.tokens[:, NUM_AHEAD:],
        names=tuple(f"tokens {start:,} to {start + read.shape[1]:,}" for start in packed.starts),
    )
