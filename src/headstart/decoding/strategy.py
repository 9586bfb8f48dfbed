"""What every strategy promises: from something that scores the next piece, to hypotheses.

Legend: B rows of a batch, N branches of a row, T positions, V pieces.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from headstart.errors import RecipeError
from headstart.models.inputs import Text


class NextToken(Protocol):
    """Anything that scores the piece behind each row, and can be told which piece was taken.

    The logits are new each time, and none shares its place with another: whoever asked for them may
    write over them.
    """

    def start(self, prefix: Text) -> Tensor:
        """Returns the logits of the piece behind each prefix; padding is on the left. (B, V)."""

    def follow(self, token_B: Tensor, row_B: Tensor | None = None) -> Tensor:
        """Returns the logits behind one more piece of each row. Shape (B, V).

        Where `row_B` is given, row b of now continues the row `row_B[b]` of before: rows may have
        left, moved, or been doubled.
        """

    def branch(self, token_BN: Tensor, parent_BN: Tensor, row_B: Tensor | None = None) -> Tensor:
        """Returns the logits behind one more piece of each branch of each row. Shape (B, N, V).

        Branch n of row b continues the branch `parent_BN[b, n]` that the row had before; behind the
        prefix each row is its own branch 0. Where `row_B` is given only these rows are left. Rows
        that have branches are continued by branches alone.
        """


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Where writing ends, and what is never written."""

    num_pieces: int
    """The most new pieces."""
    end_id: int
    """The piece that ends a text; it is part of no hypothesis."""
    forbidden_ids: tuple[int, ...] = ()
    num_pieces_by_row: tuple[int, ...] | None = None
    """The most new pieces of each row, where some rows may have fewer than others."""

    def __post_init__(self) -> None:
        if (least := min((self.num_pieces, *(self.num_pieces_by_row or ())))) < 1:
            raise RecipeError(f"{least} new pieces were asked for; ask for at least 1.")
        if self.end_id in self.forbidden_ids:
            raise RecipeError(f"The piece {self.end_id} ends a text, so it cannot be forbidden.")

    def most_pieces(self, num_rows: int) -> list[int]:
        """Returns the most new pieces of each row."""
        if self.num_pieces_by_row is None:
            return [self.num_pieces] * num_rows
        if len(self.num_pieces_by_row) != num_rows:
            raise RecipeError(
                f"There are limits for {len(self.num_pieces_by_row)} rows, but {num_rows} rows. "
                "Give each row its limit, or none."
            )
        return [min(most, self.num_pieces) for most in self.num_pieces_by_row]


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """One way in which a prefix may go on."""

    ids: tuple[int, ...]
    """The new pieces, without the end."""
    log_probability: float
    """The sum over the new pieces, the end among them, as the model itself sees them."""
    has_ended: bool
    """Whether the end was reached, and not only the most pieces."""


Hypotheses = Sequence[Sequence[Hypothesis]]
"""For each prefix its hypotheses, best first."""


class Strategy(Protocol):
    """A way of choosing pieces one after another."""

    def decode(self, next_token: NextToken, prefix: Text, limits: Limits) -> Hypotheses:
        """Returns the hypotheses of each prefix."""
