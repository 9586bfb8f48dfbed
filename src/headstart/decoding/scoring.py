"""Models and functions as what strategies ask: the logits of the piece behind each row.

Legend: B rows, N branches of a row, T positions, D width, V pieces.
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from headstart.models.blocks import Source
from headstart.models.cache import Cache
from headstart.models.heads.language import LanguageHead
from headstart.models.inputs import Text
from headstart.models.trunks import Trunk


class CachedScores:
    """A causal trunk and its language head; each piece is read once and its keys are kept."""

    def __init__(self, trunk: Trunk, head: LanguageHead, source: Source | None = None) -> None:
        self.trunk, self.head = trunk, head
        self._source = source
        self._cache: Cache = trunk.new_cache(source)

    def start(self, prefix: Text) -> Tensor:
        """Returns the logits of the piece behind each prefix."""
        self._cache = self.trunk.new_cache(self._source)
        return self._extend(prefix)

    def follow(self, token_B: Tensor, row_B: Tensor | None = None) -> Tensor:
        """Returns the logits behind one more piece of each row."""
        if row_B is not None:
            self._cache.select(row_B)
        return self._extend(Text(token_B[:, None]))

    @torch.no_grad()
    def branch(self, token_BN: Tensor, parent_BN: Tensor, row_B: Tensor | None = None) -> Tensor:
        """Returns the logits behind one more piece of each branch."""
        if row_B is not None:
            self._cache.select(row_B)
        self._cache.branch(parent_BN)
        text = Text(token_BN)
        logits_BNV: Tensor = self.head(self.trunk.extend(text, self._cache), text)
        return logits_BNV

    @torch.no_grad()
    def _extend(self, text: Text) -> Tensor:
        """Reads on and scores what comes behind the last position alone."""
        hidden_BTD = self.trunk.extend(text, self._cache)
        logits_BTV: Tensor = self.head(hidden_BTD[:, -1:], text)
        return logits_BTV[:, 0]


class RecomputedScores:
    """Any function from whole rows to the logits behind them: plain, slow, and an oracle."""

    def __init__(self, next_token_logits: Callable[[Text], Tensor]) -> None:
        self.next_token_logits = next_token_logits
        self._rows = Text(torch.empty(0, 0))
        self._num_branches = 1

    def start(self, prefix: Text) -> Tensor:
        """Returns the logits of the piece behind each prefix."""
        self._rows, self._num_branches = prefix, 1
        return self._new_logits()

    def follow(self, token_B: Tensor, row_B: Tensor | None = None) -> Tensor:
        """Returns the logits behind one more piece of each row."""
        tokens_BT, is_token_BT = self._rows.tokens_BT, self._rows.is_token_BT
        if row_B is not None:
            tokens_BT = tokens_BT[row_B]
            is_token_BT = None if is_token_BT is None else is_token_BT[row_B]
        tokens_BT = torch.cat([tokens_BT, token_B[:, None]], dim=1)
        if is_token_BT is not None:
            is_token_BT = F.pad(is_token_BT, (0, 1), value=True)
        self._rows = Text(tokens_BT, is_token_BT)
        return self._new_logits()

    def branch(self, token_BN: Tensor, parent_BN: Tensor, row_B: Tensor | None = None) -> Tensor:
        """Returns the logits behind one more piece of each branch, each of them a row here."""
        if row_B is None:
            row_B = torch.arange(len(token_BN), device=token_BN.device)
        row_BN = row_B[:, None] * self._num_branches + parent_BN
        self._num_branches = token_BN.shape[1]
        return self.follow(token_BN.flatten(), row_BN.flatten()).view(*token_BN.shape, -1)

    def _new_logits(self) -> Tensor:
        """Returns the logits behind all rows; a copy, since the function may keep what it gave."""
        return self.next_token_logits(self._rows).clone()


def prefix_of(rows: Sequence[Sequence[int]], device: torch.device | str = "cpu") -> Text:
    """Returns rows of pieces as one text, padded on the left so that all end at one place."""
    longest = max(map(len, rows))
    if min(map(len, rows)) == longest:
        return Text(torch.tensor(rows, device=device))
    tokens = [[0] * (longest - len(row)) + list(row) for row in rows]
    is_token = [[False] * (longest - len(row)) + [True] * len(row) for row in rows]
    return Text(torch.tensor(tokens, device=device), torch.tensor(is_token, device=device))
