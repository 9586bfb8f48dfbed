"""What a causal trunk has read so far, kept so that each further piece costs one position.

Rows may branch: the branches of a row read the same keys, each with a mask for those that are its
own past, so that choosing other branches moves a few bits and no keys, and a source is kept once.
Legend: B batch, N branches, T new positions, S positions kept and new, H heads, K width of a head.
"""

import torch
from torch import Tensor

from headstart.models.attention import KeysAndValues
from headstart.models.inputs import Text
from headstart.models.masks import Visibility, onward

# Room for this many positions at first; then twice as many, whenever there are too few.
NUM_FIRST_POSITIONS = 32


class LayerCache:
    """The keys and values of one layer, with room for more, and those of the source if any."""

    def __init__(self, source: KeysAndValues | None = None) -> None:
        self.source = source
        self._room: KeysAndValues | None = None
        self._length = 0

    def append(self, new: KeysAndValues) -> KeysAndValues:
        """Keeps the keys and values of new positions, and returns all that are kept."""
        begin, self._length = self._length, self._length + new.key_BHSK.shape[2]
        room = self._room_for(new)
        for kept_BHSK, new_BHTK in zip(room, new, strict=True):
            kept_BHSK[:, :, begin : self._length] = new_BHTK
        return KeysAndValues(*(kept_BHSK[:, :, : self._length] for kept_BHSK in room))

    def select(self, row_B: Tensor, num_unused: int) -> None:
        """Keeps these rows, in this order, without the first positions, which no row uses."""
        if self.source is not None:
            self.source = KeysAndValues(*(part[row_B] for part in self.source))
        if self._room is not None:
            # With the room behind what is used, or else the next piece would move all of it again.
            self._room = KeysAndValues(
                *(part[:, :, num_unused:].index_select(0, row_B) for part in self._room)
            )
            self._length -= num_unused

    def _room_for(self, new: KeysAndValues) -> KeysAndValues:
        """Returns tensors that have room for all positions, new ones where the old are full."""
        if self._room is not None and self._length <= self._room.key_BHSK.shape[2]:
            return self._room
        num_rows, num_heads, _, head_width = new.key_BHSK.shape
        size = num_rows, num_heads, max(NUM_FIRST_POSITIONS, 2 * self._length), head_width
        room = KeysAndValues(new.key_BHSK.new_empty(size), new.value_BHSK.new_empty(size))
        if self._room is not None:
            for part, old in zip(room, self._room, strict=True):
                part[:, :, : old.shape[2]] = old
        self._room = room
        return room


class Cache:
    """The keys and values of every layer for rows of text, which rows may leave."""

    def __init__(self, layers: list[LayerCache], source_visibility: Visibility | None) -> None:
        self.layers = layers
        self.source_visibility = source_visibility
        self.is_token_BS: Tensor | None = None
        """True where a kept position is a piece; nothing where they all are."""
        self.is_past_BNS: Tensor | None = None
        """Where rows have branches: True where a kept position is a piece of a branch's past."""
        self.num_positions = 0
        """Positions of a row, padding included."""

    def num_further(self, text: Text) -> int:
        """Returns by how many positions a text makes rows longer; branches stand side by side."""
        return 1 if self.is_past_BNS is not None else text.tokens_BT.shape[1]

    def place(self, text: Text) -> Tensor:
        """Takes in which new positions are real, and returns the position of each. Shape (B, T)."""
        if self.is_past_BNS is not None:
            return self._place_branches(self.is_past_BNS)
        num_rows, num_new = text.tokens_BT.shape
        self.num_positions, num_before = self.num_positions + num_new, self.num_positions
        if self.is_token_BS is None and text.is_token_BT is None:
            position_T = torch.arange(num_before, self.num_positions, device=text.tokens_BT.device)
            return position_T.expand(num_rows, num_new)
        old_BS, new_BT = self.is_token_BS, text.is_token_BT
        if old_BS is None:
            old_BS = text.tokens_BT.new_ones((num_rows, num_before), dtype=torch.bool)
        if new_BT is None:
            new_BT = torch.ones_like(text.tokens_BT, dtype=torch.bool)
        self.is_token_BS = torch.cat([old_BS, new_BT], dim=1)
        count_BS = self.is_token_BS.long().cumsum(dim=1) - self.is_token_BS.long()
        return count_BS[:, num_before:]

    def visibility(self, text: Text) -> Visibility:
        """Returns what the positions that were placed last may attend to."""
        if self.is_past_BNS is not None:
            return Visibility(is_causal=False, may_attend_B1TS=self.is_past_BNS[:, None])
        return onward(text.tokens_BT, self.num_positions, self.is_token_BS)

    def branch(self, parent_BN: Tensor) -> None:
        """Has rows go on in branches: branch n of row b continues its branch parent_BN[b, n].

        A row that has none yet is its own branch 0. From here on each text that is read has one
        piece for each branch.
        """
        past_BNS = self.is_past_BNS
        if past_BNS is None:
            size = len(parent_BN), self.num_positions
            past_BS = self.is_token_BS
            if past_BS is None:
                past_BS = torch.ones(size, dtype=torch.bool, device=parent_BN.device)
            past_BNS = past_BS[:, None]
        self.is_past_BNS = past_BNS.take_along_dim(parent_BN[:, :, None], dim=1)

    def _place_branches(self, past_BNS: Tensor) -> Tensor:
        """Gives each branch one more piece, which only that branch sees. Shape (B, N)."""
        num_rows, num_branches, _ = past_BNS.shape
        own_NN = torch.eye(num_branches, dtype=torch.bool, device=past_BNS.device)
        own_BNN = own_NN.expand(num_rows, num_branches, num_branches)
        self.is_past_BNS = torch.cat([past_BNS, own_BNN], dim=2)
        self.num_positions += 1
        return past_BNS.sum(dim=2)

    def select(self, row_B: Tensor) -> None:
        """Keeps these rows, in this order; a row may leave, move, or be there several times."""
        num_unused = 0
        if self.is_past_BNS is not None:
            self.is_past_BNS = self.is_past_BNS[row_B]
        elif self.is_token_BS is not None:
            is_fewer = len(row_B) < len(self.is_token_BS)
            self.is_token_BS = self.is_token_BS[row_B]
            # What was padding for the sake of a row that left would only be read in vain.
            if is_fewer and len(row_B):
                num_unused = int(self.is_token_BS.any(dim=0).long().argmax())
                self.is_token_BS = self.is_token_BS[:, num_unused:]
        self.num_positions -= num_unused
        for layer in self.layers:
            layer.select(row_B, num_unused)
        if self.source_visibility is not None:
            self.source_visibility = self.source_visibility.select(row_B)
