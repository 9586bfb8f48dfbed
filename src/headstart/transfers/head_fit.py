"""A head fitted to a trunk that stays as it is, before anything of it learns.

A head whose first weights are drawn pulls the trunk about until it has found its place: the first
steps spoil what was pretrained, and each seed spoils it otherwise. On vectors that stay as they are
the best head is a logistic regression, the same for every seed; from there both learn on.

Legend: N texts, D width, C labels.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

# How strongly weights are held near 0, from what hardly lets labels in to what lets all in; what
# suits the vectors is chosen by the loss on validation texts.
STRENGTHS = (1_000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)
MOST_STEPS = 100


@dataclass(frozen=True, kw_only=True)
class JudgedVectors:
    """The vectors of texts, with their labels by number."""

    vector_ND: Tensor
    target_N: Tensor


@dataclass(frozen=True, kw_only=True)
class FittedHead:
    """The weights of a head, and how strongly they were held near 0."""

    weight_CD: Tensor
    bias_C: Tensor
    strength: float


def fit_head(
    train: JudgedVectors,
    valid: JudgedVectors,
    num_labels: int,
    label_weight_C: Tensor | None = None,
) -> FittedHead:
    """Returns the head with the lowest loss on validation texts among those of each strength."""
    # In double precision on the processor: the same on any device, and no sum is lost.
    train, valid = in_double(train), in_double(valid)
    # Vectors of like size in all directions, so that one strength holds all alike.
    mean_D, spread_D = train.vector_ND.mean(0), train.vector_ND.std(0, correction=0).clamp(min=1e-6)
    scaled = JudgedVectors(vector_ND=(train.vector_ND - mean_D) / spread_D, target_N=train.target_N)
    weight_CD = torch.zeros(num_labels, train.vector_ND.shape[1], dtype=torch.float64)
    bias_C = torch.zeros(num_labels, dtype=torch.float64)
    share_C = None if label_weight_C is None else label_weight_C.double().cpu()
    best: tuple[float, FittedHead] | None = None
    for strength in STRENGTHS:
        # Each begins where the stronger one ended, a few steps away.
        weight_CD, bias_C = fitted(scaled, weight_CD, bias_C, strength, share_C)
        head = FittedHead(
            weight_CD=weight_CD / spread_D,
            bias_C=bias_C - (weight_CD / spread_D) @ mean_D,
            strength=strength,
        )
        loss = float(loss_of(valid, head.weight_CD, head.bias_C, share_C))
        if best is None or loss < best[0]:
            best = (loss, head)
    assert best is not None
    return best[1]


def fitted(
    train: JudgedVectors, weight_CD: Tensor, bias_C: Tensor, strength: float, share_C: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Returns the weights that have the least loss and are not too large, from some others on."""
    weights = [weight_CD.clone().requires_grad_(), bias_C.clone().requires_grad_()]
    optimiser = torch.optim.LBFGS(weights, max_iter=MOST_STEPS, line_search_fn="strong_wolfe")
    num_directions = train.vector_ND.shape[1]

    def closure() -> Tensor:
        optimiser.zero_grad()
        held = 0.5 * strength * weights[0].square().sum() / num_directions
        loss = loss_of(train, weights[0], weights[1], share_C) + held
        loss.backward()  # type: ignore[no-untyped-call]  # PyTorch's own
        return loss

    optimiser.step(closure)  # type: ignore[no-untyped-call]  # PyTorch's own
    return weights[0].detach(), weights[1].detach()


def loss_of(
    judged: JudgedVectors, weight_CD: Tensor, bias_C: Tensor, share_C: Tensor | None
) -> Tensor:
    """Returns the cross-entropy of a head's answers."""
    logits_NC = judged.vector_ND @ weight_CD.T + bias_C
    return F.cross_entropy(logits_NC, judged.target_N, weight=share_C)


def in_double(judged: JudgedVectors) -> JudgedVectors:
    """Returns the same vectors in double precision on the processor."""
    return JudgedVectors(
        vector_ND=judged.vector_ND.detach().cpu().double(), target_N=judged.target_N.cpu()
    )
