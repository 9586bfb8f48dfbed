"""Hidden pieces, found from both sides: BERT's first objective."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headstart.batches.packing import PackedBatches, PackedRows, rows_in_order
from headstart.batches.store import TokenStore
from headstart.cut_text import WORD_START
from headstart.models.heads.language import LanguageHead
from headstart.models.model import Model
from headstart.models.trunks import Trunk
from headstart.objectives.answers import piece_loss
from headstart.objectives.batch import NOTHING, PIECES, Batch, Grid, Rows
from headstart.objectives.hiding import HidingConfig
from headstart.objectives.objective import HeadLoss, Loss, StepRows, Stream
from headstart.randomness import derive_seed
from headstart.tokenizers.pieces import MASK, PADDING_ID, UNKNOWN
from headstart.tokenizers.tokenizer import Tokenizer

# Of the chosen pieces, as in BERT: so many are hidden, so many replaced, and the rest kept, so that
# the trunk cannot trust what it reads.
HIDDEN_SHARE, REPLACED_SHARE = 0.8, 0.1


@dataclass(frozen=True)
class Masked:
    """Finds pieces that were hidden, from the pieces on both sides."""

    tokenizer: Tokenizer
    head_loss: HeadLoss
    hiding: HidingConfig

    def training_rows(self, store: TokenStore, step: StepRows) -> Stream:
        """Returns rows in which pieces are hidden, others in every epoch."""
        batches = PackedBatches(store, step.length, step.sequences, step.seed)
        return Stream(
            at=lambda number: self.hidden(batches.at(number), step.seed, "train", number),
            steps_per_epoch=batches.steps_per_epoch,
        )

    def held_out_rows(self, store: TokenStore, step: StepRows) -> Iterator[Rows]:
        """Yields a text from first to last, the same pieces hidden each time."""
        rows = rows_in_order(store, step.length, step.sequences, num_shared=0)
        for number, packed in enumerate(rows):
            yield self.hidden(packed, step.seed, "held out", number)

    def loss(self, model: Model[Trunk, LanguageHead], batch: Batch) -> Loss:
        """Returns the loss of the hidden pieces, summed; logits exist for no others."""
        hidden_BTD = model.trunk(batch.text)
        return {PIECES: piece_loss(model.head, hidden_BTD, batch, self.head_loss)}

    def hidden(self, packed: PackedRows, seed: int, *purpose: str | int) -> Rows:
        """Returns packed rows with some of their pieces hidden."""
        tokens, targets = self.hide(packed.tokens, derive_seed(seed, "hide", *purpose))
        length = tokens.shape[1]
        return Rows(
            tokens=tokens,
            documents=packed.documents,
            targets=targets,
            names=tuple(f"tokens {start:,} to {start + length:,}" for start in packed.starts),
        )

    def hide(self, tokens: Grid, seed: int, num_pieces: int | None = None) -> tuple[Grid, Grid]:
        """Returns what is read with some pieces hidden, and those pieces where they stood.

        The share is one of so many pieces; None counts them, padding aside.
        """
        generator = np.random.default_rng(seed)
        if num_pieces is None:
            num_pieces = int((tokens != PADDING_ID).sum())
        is_chosen = self.choose(tokens, generator, num_pieces)
        targets = np.where(is_chosen, tokens, NOTHING)
        fate = generator.random(tokens.shape)
        drawn = generator.choice(self.ordinary_ids, size=tokens.shape)
        read = np.where(is_chosen & (fate < HIDDEN_SHARE), self.tokenizer.id_of[MASK], tokens)
        is_replaced = is_chosen & (fate >= HIDDEN_SHARE) & (fate < HIDDEN_SHARE + REPLACED_SHARE)
        return np.where(is_replaced, drawn, read), targets

    def choose(
        self, tokens: Grid, generator: np.random.Generator, num_pieces: int
    ) -> NDArray[np.bool_]:
        """Returns which pieces are asked for: the share of so many."""
        can_hide = self.is_ordinary[tokens]
        num_chosen = min(max(1, round(self.hiding.share * num_pieces)), int(can_hide.sum()))
        is_each = np.ones_like(can_hide)
        begins = self.starts_word[tokens] | ~can_hide if self.hiding.hides_words else is_each
        # Neighbouring rows are no neighbours in the text.
        begins[:, 0] = True
        unit = np.cumsum(begins)
        # One draw a unit, so that the pieces of a word have one fate; special pieces come last.
        draw = generator.random(int(unit[-1]) + 1)[unit] + ~can_hide.ravel()
        last = np.partition(draw, num_chosen - 1)[num_chosen - 1] if num_chosen else -np.inf
        is_chosen = draw < last
        # Of a word that does not fit whole, the first pieces.
        is_chosen[np.flatnonzero(draw == last)[: num_chosen - int(is_chosen.sum())]] = True
        return is_chosen.reshape(tokens.shape)

    @cached_property
    def is_ordinary(self) -> NDArray[np.bool_]:
        """For each piece, whether it stands for text and may be hidden."""
        special = self.tokenizer.special_pieces | {UNKNOWN}
        return np.array([piece not in special for piece in self.tokenizer.vocabulary])

    @cached_property
    def ordinary_ids(self) -> NDArray[np.int64]:
        """The ids that a piece may be replaced by."""
        return np.flatnonzero(self.is_ordinary)

    @cached_property
    def starts_word(self) -> NDArray[np.bool_]:
        """For each piece, whether a word begins with it."""
        return np.array([piece.startswith(WORD_START) for piece in self.tokenizer.vocabulary])
