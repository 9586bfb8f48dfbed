"""Beam search: several ways to go on with each row, side by side, the best of them kept.

A text is scored by log p / length ** penalty, its end counted in both, as Marian and Hugging Face
have it. A row is over when as many texts have ended as the beam is wide, as in fairseq, so that a
beam of one is greedy; and before that, when nothing that is still open could be among its best.
Legend: B rows, N branches, C candidates of a row, E ends kept, V pieces, T pieces written.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from headstart.decoding.largest import largest
from headstart.decoding.strategy import Hypotheses, Hypothesis, Limits, NextToken
from headstart.errors import RecipeError
from headstart.models.inputs import Text

# Rows that are over leave together once they are this share: each leaving moves what is kept.
LEAVING_SHARE = 1 / 8
# Far beyond any use, and near enough that no power of a length overflows.
MOST_PENALTY = 10


class Open(NamedTuple):
    """What is being written: the branches of each row, best first."""

    ids_BNT: Tensor
    sum_BN: Tensor
    """The log-probability of each; minus infinity where there is none."""


class Ends(NamedTuple):
    """What has been written: the best ends of each row, best first."""

    score_BE: Tensor
    """Minus infinity where there is none yet."""
    sum_BE: Tensor
    ids_BET: Tensor
    length_BE: Tensor
    """Pieces without the end."""
    has_ended_BE: Tensor

    def select(self, row_B: Tensor) -> "Ends":
        """Returns those of some rows."""
        return Ends(*(part[row_B] for part in self))

    def better(self, new: "Ends") -> "Ends":
        """Returns the best of these and of new ones, as many as there were."""
        both = Ends(*(torch.cat(pair, dim=1) for pair in zip(self, new, strict=True)))
        score_BE, place_BE = both.score_BE.topk(self.score_BE.shape[1], dim=1)
        return Ends(
            score_BE,
            both.sum_BE.gather(1, place_BE),
            both.ids_BET.take_along_dim(place_BE[:, :, None], dim=1),
            both.length_BE.gather(1, place_BE),
            both.has_ended_BE.gather(1, place_BE),
        )

    def hypotheses(self) -> list[list[Hypothesis]]:
        """Returns the ends of each row as they are handed out."""
        return [
            [
                Hypothesis(ids=tuple(ids[:length]), log_probability=total, has_ended=has_ended)
                for score, total, ids, length, has_ended in zip(*columns, strict=True)
                if score > -torch.inf
            ]
            for columns in zip(*(part.tolist() for part in self), strict=True)
        ]


class Candidates(NamedTuple):
    """The best next steps of each row, best first."""

    sum_BC: Tensor
    parent_BC: Tensor
    token_BC: Tensor

    def take(self, place_BN: Tensor) -> "Candidates":
        """Returns those at some places."""
        return Candidates(*(part.gather(1, place_BN) for part in self))


@dataclass(frozen=True, kw_only=True)
class Beam:
    """Keeps the `width` likeliest beginnings of each row and returns the best texts among them."""

    width: int = 4
    length_penalty: float = 1.0
    """0 compares plain probabilities, which favours short texts; above it long ones gain."""
    num_best: int = 1
    """How many hypotheses a row has in the end; some rows may have fewer."""

    def __post_init__(self) -> None:
        if self.width < 1:
            raise RecipeError(f"The beam is {self.width} wide; it must be at least 1.")
        if not abs(self.length_penalty) <= MOST_PENALTY:
            raise RecipeError(
                f"The length penalty is {self.length_penalty:g}; it must be from -{MOST_PENALTY} "
                f"to {MOST_PENALTY}. The usual ones are from 0 to 2."
            )
        if not 1 <= self.num_best <= self.width:
            raise RecipeError(
                f"The best {self.num_best} were asked for, of a beam {self.width} wide. Ask for 1 "
                f"to {self.width}, or widen the beam."
            )

    def decode(self, next_token: NextToken, prefix: Text, limits: Limits) -> Hypotheses:
        """Returns the best hypotheses of each prefix."""
        search = Search(self, limits, prefix)
        logits_BNV = next_token.start(prefix)[:, None]
        while True:
            chosen = search.step(logits_BNV)
            row_B = search.leave()
            if not len(search.number_B):
                return search.found()
            parent_BN, token_BN = chosen.parent_BC, chosen.token_BC
            if row_B is not None:
                parent_BN, token_BN = parent_BN[row_B], token_BN[row_B]
            logits_BNV = next_token.branch(token_BN, parent_BN, row_B)

    def score(self, sum_B: Tensor, length: Tensor | int) -> Tensor:
        """Returns how good texts of these log-probabilities and lengths are, the end counted."""
        return sum_B / torch.as_tensor(length, device=sum_B.device) ** self.length_penalty


class Search:
    """The rows of one search, and what has been found for them."""

    def __init__(self, beam: Beam, limits: Limits, prefix: Text) -> None:
        self.beam, self.limits = beam, limits
        num_rows, device = len(prefix.tokens_BT), prefix.tokens_BT.device
        self.number_B = torch.arange(num_rows, device=device)
        self.most_B = torch.tensor(limits.most_pieces(num_rows), device=device)
        self.forbidden = torch.tensor(limits.forbidden_ids, dtype=torch.long, device=device)
        self.num_written = 0
        self.num_ended_B = torch.zeros_like(self.most_B)
        self.open = Open(
            torch.empty(num_rows, 1, 0, dtype=torch.long, device=device),
            torch.zeros(num_rows, 1, device=device),
        )
        size = num_rows, beam.num_best
        self.ends = Ends(
            torch.full(size, -torch.inf, device=device),
            torch.zeros(size, device=device),
            torch.zeros(*size, 0, dtype=torch.long, device=device),
            torch.zeros(size, dtype=torch.long, device=device),
            torch.zeros(size, dtype=torch.bool, device=device),
        )
        self._found: dict[int, list[Hypothesis]] = {}

    def step(self, logits_BNV: Tensor) -> Candidates:
        """Takes the best next pieces of each row, and returns how its branches go on."""
        found = self._candidates(logits_BNV)
        self.num_written += 1
        is_end_BC = found.token_BC == self.limits.end_id
        self._keep_ends(found, is_end_BC)
        # Each branch can end once, so that among twice as many `width` go on.
        open_BC = found.sum_BC.masked_fill(is_end_BC, -torch.inf)
        sum_BN, place_BN = open_BC.topk(min(self.beam.width, open_BC.shape[1]), dim=1)
        chosen = found.take(place_BN)
        ids_BNT = self.open.ids_BNT.take_along_dim(chosen.parent_BC[:, :, None], dim=1)
        ids_BNT = torch.cat([ids_BNT, chosen.token_BC[:, :, None]], dim=2)
        self.open = Open(ids_BNT, sum_BN)
        self._cut()
        self._close(self.num_ended_B >= self.beam.width)
        return chosen

    def leave(self) -> Tensor | None:
        """Has rows that are over leave, once they are enough, and returns those that are left."""
        is_over_B = self._is_over()
        num_over = int(is_over_B.sum())
        if num_over < max(1, LEAVING_SHARE * len(is_over_B)):
            return None
        over_B, row_B = is_over_B.nonzero()[:, 0], (~is_over_B).nonzero()[:, 0]
        hypotheses = self.ends.select(over_B).hypotheses()
        self._found |= zip(self.number_B[over_B].tolist(), hypotheses, strict=True)
        self.number_B, self.most_B = self.number_B[row_B], self.most_B[row_B]
        self.num_ended_B = self.num_ended_B[row_B]
        self.ends = self.ends.select(row_B)
        self.open = Open(*(part[row_B] for part in self.open))
        return row_B

    def found(self) -> Hypotheses:
        """Returns the hypotheses of all rows that have left, in the order of the rows."""
        return [self._found[number] for number in sorted(self._found)]

    def _candidates(self, logits_BNV: Tensor) -> Candidates:
        """Returns the likeliest next steps of each row, twice as many as the beam is wide."""
        log_probability_BNV = log_probabilities(logits_BNV)
        # In place: a copy of all pieces would cost as much as choosing among them.
        log_probability_BNV.index_fill_(2, self.forbidden, -torch.inf)
        num_each = min(2 * self.beam.width, log_probability_BNV.shape[2])
        # Of each branch first: a sum for every piece would be as large again.
        best_BNC, token_BNC = largest(log_probability_BNV, num_each)
        all_BC = (self.open.sum_BN[:, :, None] + best_BNC).flatten(1)
        sum_BC, place_BC = all_BC.topk(min(2 * self.beam.width, all_BC.shape[1]), dim=1)
        token_BC = token_BNC.flatten(1).gather(1, place_BC)
        return Candidates(sum_BC, place_BC // num_each, token_BC)

    def _keep_ends(self, found: Candidates, is_end_BC: Tensor) -> None:
        """Keeps the ends that are among the best of the beam itself."""
        is_end_BC = is_end_BC[:, : self.beam.width]
        if not bool(is_end_BC.any()):
            return
        sum_BC = found.sum_BC[:, : self.beam.width].masked_fill(~is_end_BC, -torch.inf)
        parent_BC = found.parent_BC[:, : self.beam.width]
        ids_BCT = self.open.ids_BNT.take_along_dim(parent_BC[:, :, None], dim=1)
        self._add(sum_BC, ids_BCT, has_ended=True)
        self.num_ended_B = self.num_ended_B + (sum_BC > -torch.inf).sum(dim=1)

    def _cut(self) -> None:
        """Keeps what is still open in rows that are full, as it stands, and closes them."""
        is_full_B = self.most_B == self.num_written
        if not bool(is_full_B.any()):
            return
        self._add(
            self.open.sum_BN.masked_fill(~is_full_B[:, None], -torch.inf),
            self.open.ids_BNT,
            has_ended=False,
        )
        self._close(is_full_B)

    def _close(self, is_over_B: Tensor) -> None:
        """Has some rows go on with nothing."""
        sum_BN = self.open.sum_BN.masked_fill(is_over_B[:, None], -torch.inf)
        self.open = self.open._replace(sum_BN=sum_BN)

    def _add(self, sum_BC: Tensor, ids_BCT: Tensor, *, has_ended: bool) -> None:
        """Puts texts among the ends of their rows, where they are good enough."""
        num_missing = ids_BCT.shape[2] - self.ends.ids_BET.shape[2]
        if num_missing > 0:
            longer_BET = torch.nn.functional.pad(self.ends.ids_BET, (0, num_missing))
            self.ends = self.ends._replace(ids_BET=longer_BET)
        elif num_missing < 0:
            ids_BCT = torch.nn.functional.pad(ids_BCT, (0, -num_missing))
        length_BC = torch.full_like(sum_BC, self.num_written - has_ended, dtype=torch.long)
        self.ends = self.ends.better(
            Ends(
                self.beam.score(sum_BC, self.num_written),
                sum_BC,
                ids_BCT,
                length_BC,
                torch.full_like(sum_BC, has_ended, dtype=torch.bool),
            )
        )

    def _is_over(self) -> Tensor:
        """Says of each row whether nothing open could still become one of its best ends."""
        best_B = self.open.sum_BN[:, 0]
        # Log-probabilities only fall, so that a text's best chance is its last length or the next.
        lengths = self.most_B, torch.full_like(self.most_B, self.num_written + 1)
        chance_B = torch.stack([self.beam.score(best_B, length) for length in lengths]).amax(dim=0)
        # Where nothing is open at all a row is over, with fewer ends than were asked for.
        return self.ends.score_BE[:, -1] >= chance_B


def log_probabilities(logits_BNV: Tensor) -> Tensor:
    """Returns the log-probabilities of all pieces, written over the logits on a processor.

    As many numbers again would drive the keys and weights of the next step from its cache.
    """
    logits_BNV = logits_BNV.detach().float()
    if logits_BNV.device.type != "cpu":
        return logits_BNV.log_softmax(dim=2)
    return torch.log_softmax(logits_BNV, 2, out=logits_BNV)
