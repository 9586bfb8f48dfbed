"""The cross-entropy against sampled candidates: an estimate at a fraction of the cost.

The batch's own targets are always candidates and count in full. Every other piece c is drawn,
each by itself, with a known probability p_c, and then stands for 1/p_c pieces: its logit is
corrected by -log p_c. So for any batch the expected sum of exponentials is the full vocabulary's:

    E[ sum of exp(s_c) over targets + sum of exp(s_c) / p_c over drawn c ] = sum of exp(s_c)

Only the logarithm of that sum is biased, downwards, by half its relative variance. (Were targets
counted as if drawn from the corpus, pieces that a text repeats would be overcounted just where
they are likely.) Legend: N positions, V pieces, C candidates, D width.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from headstart.errors import RecipeError
from headstart.objectives.vocabulary_loss.chunked import summed_loss
from headstart.objectives.vocabulary_loss.unigram import unigram_logits

# Beside the targets, so many pieces are drawn on average.
NUM_NEGATIVES = 2_048
# Pieces are drawn by a power of their count: at 1 rare ones would be drawn hardly ever and then
# weigh very much, at 0 frequent ones would be missed, which carry most of the sum.
FLATTENING = 0.75


@dataclass(frozen=True)
class Candidates:
    """The pieces that a batch is judged against."""

    id_C: Tensor
    """In rising order, each once."""
    correction_C: Tensor
    """What is added to the logit of each, since it stands for others too; 0 for targets."""
    target_place_N: Tensor
    """Where each position's target stands among the candidates."""


class CandidateSampler:
    """Draws candidates by how common pieces are in the corpus."""

    def __init__(
        self,
        counts_V: Tensor,
        num_negatives: int = NUM_NEGATIVES,
        flattening: float = FLATTENING,
    ) -> None:
        if num_negatives < 1:
            raise RecipeError(f"num_negatives is {num_negatives}; it must be at least 1.")
        weight_V = (flattening * unigram_logits(counts_V).double()).exp()
        self.probability_V = inclusion_probabilities(weight_V, num_negatives)
        self.correction_V = -self.probability_V.log()

    def to(self, device: torch.device | str) -> "CandidateSampler":
        """Moves the tables to the device where batches are, and returns the sampler."""
        self.probability_V = self.probability_V.to(device)
        self.correction_V = self.correction_V.to(device)
        return self

    def draw(self, target_N: Tensor, generator: torch.Generator | None = None) -> Candidates:
        """Draws candidates for a batch, from the generator alone; None is PyTorch's own."""
        place = generator.device if generator is not None else "cpu"
        draw_V = torch.rand(len(self.probability_V), generator=generator, device=place)
        is_candidate_V = draw_V.to(target_N.device) < self.probability_V
        is_candidate_V[target_N] = True
        correction_V = self.correction_V.index_fill(0, target_N, 0.0)
        id_C = is_candidate_V.nonzero().squeeze(1)
        place_V = is_candidate_V.cumsum(0) - 1
        return Candidates(id_C, correction_V[id_C], place_V[target_N])


def sampled_loss(
    hidden_ND: Tensor, weight_VD: Tensor, bias_V: Tensor | None, candidates: Candidates
) -> Tensor:
    """Estimates the summed cross-entropy in nats; gradients of matrix and bias are sparse."""
    weight_CD = chosen_rows(weight_VD, candidates.id_C)
    bias_C = candidates.correction_C.to(weight_CD.dtype)
    if bias_V is not None:
        bias_C = bias_C + chosen_rows(bias_V, candidates.id_C)
    return summed_loss(hidden_ND, weight_CD, bias_C, candidates.target_place_N)


def inclusion_probabilities(weight_V: Tensor, num_expected: int) -> Tensor:
    """Returns probabilities in proportion to the weights, none above 1, with a given sum."""
    if num_expected >= len(weight_V):
        return torch.ones_like(weight_V, dtype=torch.float32)
    heaviest_V = weight_V.sort(descending=True).values
    rest_V = heaviest_V.flip(0).cumsum(0).flip(0)
    # With the k heaviest pieces certain, the others share what is left; k is the first number
    # of pieces with which no other would be above 1.
    place_V = torch.arange(len(weight_V), device=weight_V.device)
    share_V = (num_expected - place_V) / rest_V
    num_certain = int((share_V * heaviest_V > 1).sum())
    return (weight_V * share_V[num_certain]).clamp(max=1).float()


def chosen_rows(table: Tensor, id_C: Tensor) -> Tensor:
    """Returns rows of a table; the gradient of the table is sparse."""
    rows: Tensor = _ChosenRows.apply(table, id_C)  # type: ignore[no-untyped-call]  # PyTorch's own
    return rows


class _ChosenRows(torch.autograd.Function):
    """What F.embedding does for the rows of a matrix, for the numbers of a bias too."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, id_C: Tensor) -> Tensor:
        """Returns the rows."""
        ctx.save_for_backward(id_C)
        ctx.shape = table.shape
        return table.index_select(0, id_C)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Returns a gradient that names the chosen rows and no others."""
        (id_C,) = ctx.saved_tensors
        return torch.sparse_coo_tensor(
            id_C[None], gradient, ctx.shape, check_invariants=False
        ), None
