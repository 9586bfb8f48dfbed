"""A head fitted first: a logistic regression, the same for every seed, chosen on validation."""

import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from headstart.transfers.head_fit import STRENGTHS, JudgedVectors, fit_head, fitted, loss_of

WIDTH = 12


def judged(num: int, num_labels: int, seed: int, noise: float = 1.0) -> JudgedVectors:
    """Returns vectors that lie off the origin, and labels that follow from them in part."""
    generator = torch.Generator().manual_seed(seed)
    truth_DC = torch.randn(WIDTH, num_labels, generator=torch.Generator().manual_seed(99))
    vector_ND = 3.0 + torch.randn(num, WIDTH, generator=generator) * torch.arange(1, WIDTH + 1)
    scores_NC = vector_ND @ truth_DC
    scores_NC += noise * scores_NC.std() * torch.randn(num, num_labels, generator=generator)
    return JudgedVectors(vector_ND=vector_ND, target_N=(scores_NC - scores_NC.mean(0)).argmax(1))


def zeros(num_labels: int) -> tuple[Tensor, Tensor]:
    """Returns a head that knows nothing."""
    return (
        torch.zeros(num_labels, WIDTH, dtype=torch.float64),
        torch.zeros(num_labels, dtype=torch.float64),
    )


@pytest.mark.parametrize("num_labels", [3, 5])
@pytest.mark.parametrize("strength", [0.3, 30.0])
def test_a_fit_is_the_logistic_regression_of_scikit_learn(num_labels: int, strength: float) -> None:
    train = judged(150, num_labels, seed=0)
    vector_ND = train.vector_ND.double() / train.vector_ND.double().std(0)
    scaled = JudgedVectors(vector_ND=vector_ND, target_N=train.target_N)
    weight_CD, bias_C = fitted(scaled, *zeros(num_labels), strength, None)
    # It counts the sum of the losses, we their mean; it holds all weights, we their mean square.
    oracle = LogisticRegression(C=WIDTH / (strength * 150), tol=1e-10, max_iter=10_000)
    oracle.fit(vector_ND.numpy(), train.target_N.numpy())
    assert torch.allclose(weight_CD, torch.from_numpy(oracle.coef_), atol=1e-4)
    # Only differences between labels' biases count.
    ours, theirs = bias_C - bias_C.mean(), torch.from_numpy(oracle.intercept_)
    assert torch.allclose(ours, theirs - theirs.mean(), atol=1e-3)


def test_the_strength_is_the_one_with_the_lowest_loss_on_validation() -> None:
    train, valid = judged(60, 2, seed=1, noise=3.0), judged(500, 2, seed=2, noise=3.0)
    chosen = fit_head(train, valid, 2)
    double = JudgedVectors(vector_ND=valid.vector_ND.double(), target_N=valid.target_N)
    least = float(loss_of(double, chosen.weight_CD, chosen.bias_C, None))
    mean_D, spread_D = (
        train.vector_ND.double().mean(0),
        train.vector_ND.double().std(0, correction=0),
    )
    scaled = JudgedVectors(
        vector_ND=(train.vector_ND.double() - mean_D) / spread_D, target_N=train.target_N
    )
    for strength in STRENGTHS:
        weight_CD, bias_C = fitted(scaled, *zeros(2), strength, None)
        other = (weight_CD / spread_D, bias_C - (weight_CD / spread_D) @ mean_D)
        assert least <= float(loss_of(double, *other, None)) + 1e-4
    # Noise of three times the signal wants neither extreme.
    assert STRENGTHS[-1] < chosen.strength < STRENGTHS[0]


def test_rare_labels_weigh_as_much_where_they_are_told_to() -> None:
    many = judged(400, 2, seed=3, noise=2.0)
    is_kept = (many.target_N == 0) | (torch.arange(400) % 10 == 0)
    rare = JudgedVectors(vector_ND=many.vector_ND[is_kept], target_N=many.target_N[is_kept])
    counts_C = torch.bincount(rare.target_N).double()
    plain = fit_head(rare, many, 2)
    weighed = fit_head(rare, many, 2, counts_C.sum() / (2 * counts_C))
    shares = [
        float((many.vector_ND.double() @ head.weight_CD.T + head.bias_C).argmax(1).double().mean())
        for head in (plain, weighed)
    ]
    assert shares[0] + 0.1 < shares[1]


def test_a_label_that_no_text_has_and_a_direction_that_never_changes_are_no_trouble() -> None:
    train = judged(40, 2, seed=4)
    vector_ND = train.vector_ND.clone()
    vector_ND[:, 0] = 7.0
    same = JudgedVectors(vector_ND=vector_ND, target_N=train.target_N)
    head = fit_head(same, same, 3)
    logits_NC = vector_ND.double() @ head.weight_CD.T + head.bias_C
    assert logits_NC.isfinite().all()
    assert (logits_NC.argmax(1) != 2).all()
