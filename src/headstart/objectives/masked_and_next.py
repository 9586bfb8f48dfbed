"""Hidden pieces, and whether one sentence followed another: BERT's two objectives together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from headstart.batches.sentence_pairs import SentencePair, SentencePairs
from headstart.batches.store import TokenStore
from headstart.errors import DataError
from headstart.models.heads.next_sentence import LanguageAndNextHead
from headstart.models.model import Model
from headstart.models.trunks import Trunk
from headstart.objectives.answers import next_loss, piece_loss
from headstart.objectives.batch import NEXT, NOTHING, PIECES, Batch, Rows
from headstart.objectives.hiding import HidingConfig
from headstart.objectives.masked import Masked
from headstart.objectives.objective import HeadLoss, Loss, StepRows, Stream
from headstart.randomness import derive_seed
from headstart.tokenizers.pieces import FIRST, PADDING_ID, SEPARATOR
from headstart.tokenizers.tokenizer import Tokenizer

# The classes of the next-sentence head.
FOLLOWS, DOES_NOT = 0, 1
# Rows cannot all be filled to the end; with this share of them the step keeps its size.
FILLED_SHARE = 0.9
# Rows come in multiples of this part of a step's, the last of them empty.
NUM_STRIDES = 16


@dataclass(frozen=True)
class MaskedAndNext:
    """Finds hidden pieces and tells true pairs of sentences from false ones."""

    tokenizer: Tokenizer
    head_loss: HeadLoss
    hiding: HidingConfig

    @cached_property
    def masked(self) -> Masked:
        """The half of the objective that hides pieces."""
        return Masked(self.tokenizer, self.head_loss, self.hiding)

    def training_rows(self, store: TokenStore, step: StepRows) -> Stream:
        """Returns rows packed with pairs: as many pairs and hidden pieces in every step.

        Rows are as many as one of a few numbers, so that a GPU can record a step of each; some hold
        nothing, and a step that happens to have longer pairs hides a little less of them.
        """
        pairs = SentencePairs(store, step.length, step.seed)
        per_step = pairs_per_step(pairs, step)
        num_usual = round(per_step * pairs.mean_length)
        stride = max(1, step.sequences // NUM_STRIDES)
        if (steps_per_epoch := len(pairs.anchors) // per_step) < 1:
            raise DataError(
                f"The text has {len(pairs.anchors):,} pairs of sentences, too few for one step of "
                f"{per_step:,}. Give more text, or choose smaller steps."
            )

        def at(number: int) -> Rows:
            epoch, place = divmod(number, steps_per_epoch)
            numbers = np.arange(place * per_step, (place + 1) * per_step)
            rows = self.packed(pairs.in_epoch(numbers, epoch), step.length, stride)
            return self.hidden(rows, step.seed, ("train", number), num_usual)

        return Stream(at=at, steps_per_epoch=steps_per_epoch)

    def held_out_rows(self, store: TokenStore, step: StepRows) -> Iterator[Rows]:
        """Yields every pair of a text once, the same pieces hidden each time."""
        pairs = SentencePairs(store, step.length, step.seed)
        per_step = pairs_per_step(pairs, step)
        for start in range(0, len(pairs.anchors), per_step):
            numbers = np.arange(start, min(start + per_step, len(pairs.anchors)))
            chosen = pairs.chosen(numbers, "held out")
            yield self.hidden(self.packed(chosen, step.length), step.seed, ("held out", start))

    def loss(self, model: Model[Trunk, LanguageAndNextHead], batch: Batch) -> Loss:
        """Returns both losses, each summed over its own answers."""
        hidden_BTD = model.trunk(batch.text)
        return {
            PIECES: piece_loss(model.head.language, hidden_BTD, batch, self.head_loss),
            NEXT: next_loss(model.head.next_sentence, hidden_BTD, batch),
        }

    def hidden(
        self, rows: Rows, seed: int, purpose: tuple[str, int], num_pieces: int | None = None
    ) -> Rows:
        """Returns packed pairs with some of their pieces hidden."""
        hide_seed = derive_seed(seed, "hide", *purpose)
        tokens, targets = self.masked.hide(rows.tokens, hide_seed, num_pieces)
        return replace(rows, tokens=tokens, targets=targets)

    def packed(self, pairs: Sequence[SentencePair], length: int, stride: int = 1) -> Rows:
        """Puts pairs side by side into rows, the longest first, each where it fits best."""
        pairs = sorted(pairs, key=lambda pair: -pair.length)
        places, num_filled = best_fit([pair.length for pair in pairs], length)
        num_rows = stride * -(-num_filled // stride)
        shape = (num_rows, length)
        tokens = np.full(shape, PADDING_ID)
        documents, follows = np.full(shape, NOTHING), np.full(shape, NOTHING)
        segments = np.zeros(shape, dtype=np.int64)
        names: list[list[str]] = [[] for _ in range(num_rows)]
        first, separator = (self.tokenizer.id_of[piece] for piece in (FIRST, SEPARATOR))
        for number, (pair, (row, start)) in enumerate(zip(pairs, places, strict=True)):
            turn, last = start + 1 + len(pair.first), start + pair.length - 1
            tokens[row, start], tokens[row, [turn, last]] = first, separator
            tokens[row, start + 1 : turn] = pair.first
            tokens[row, turn + 1 : last] = pair.second
            segments[row, turn + 1 : last + 1] = 1
            documents[row, start : last + 1] = number
            follows[row, start] = FOLLOWS if pair.does_follow else DOES_NOT
            names[row].append(f"{pair.start:,}")
        return Rows(
            tokens=tokens,
            documents=documents,
            targets=tokens,
            names=tuple(
                f"the pairs at tokens {' and '.join(row)}" if row else "nothing" for row in names
            ),
            is_token=documents != NOTHING,
            segments=segments,
            follows=follows,
        )


def pairs_per_step(pairs: SentencePairs, step: StepRows) -> int:
    """Returns how many pairs fill a step."""
    num_tokens = FILLED_SHARE * step.sequences * step.length
    return max(1, round(num_tokens / pairs.mean_length))


def best_fit(lengths: Sequence[int], room: int) -> tuple[list[tuple[int, int]], int]:
    """Returns the row and place of each length, put where least room is left, and the rows needed.

    Rows are kept by the room that they have left, so that none is looked at in vain.
    """
    rows_with: list[list[int]] = [[] for _ in range(room + 1)]
    # Bit n is set where some row has room for exactly n more.
    rooms, num_rows = 0, 0
    places: list[tuple[int, int]] = []
    for length in lengths:
        if fitting := rooms >> length:
            left = length + (fitting & -fitting).bit_length() - 1
            row = rows_with[left].pop()
            rooms ^= 0 if rows_with[left] else 1 << left
        else:
            row, left, num_rows = num_rows, room, num_rows + 1
        places.append((row, room - left))
        rows_with[left - length].append(row)
        rooms |= 1 << (left - length)
    return places, num_rows
