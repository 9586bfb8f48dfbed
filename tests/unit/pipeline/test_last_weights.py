"""The mean of the last weights against one over all of them, interrupted anywhere."""

import pytest
import torch

from headstart.objectives.translation_config import TranslationConfig
from headstart.pipeline.last_weights import LastWeights


def weights_at(step: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(step)
    return {name: torch.randn(3, 2, generator=generator) for name in ("one", "two")}


def offer_all(last: LastWeights, steps: range) -> None:
    for step in steps:
        last.offer(step, lambda step=step: weights_at(step))


def test_the_mean_is_that_of_the_wanted_steps_alone():
    last = LastWeights((4, 7, 10))
    offer_all(last, range(1, 11))
    for name, mean in last.mean.items():
        expected = torch.stack([weights_at(step)[name] for step in (4, 7, 10)]).mean(dim=0)
        torch.testing.assert_close(mean, expected)
    assert last.num_seen == 3


def test_nothing_is_kept_where_nothing_is_averaged():
    last = LastWeights(())
    offer_all(last, range(1, 5))
    assert last.groups() == {}
    assert last.num_kept == 0


@pytest.mark.parametrize("cut", range(1, 10))
def test_a_mean_that_was_interrupted_is_the_same_bit_for_bit(cut):
    whole, first, second = (LastWeights((4, 7, 10)) for _ in range(3))
    offer_all(whole, range(1, 11))
    offer_all(first, range(1, cut + 1))
    kept = {group: dict(tensors) for group, tensors in first.groups().items()}
    second.restore(first.facts(), kept)
    offer_all(second, range(cut + 1, 11))
    assert all(torch.equal(second.mean[name], whole.mean[name]) for name in whole.mean)


def test_the_weights_that_go_on_learning_do_not_move_the_mean():
    last, weights = LastWeights((1,)), weights_at(1)
    last.offer(1, lambda: weights)
    weights["one"].zero_()
    assert torch.equal(last.mean["one"], weights_at(1)["one"])


def test_an_older_checkpoint_knows_of_no_mean():
    last = LastWeights((1,))
    last.restore(None, {})
    assert last.num_seen == 0


@pytest.mark.parametrize(
    ("num_steps", "expected"),
    [(100_000, (92_000, 94_000, 96_000, 98_000, 100_000)), (30, (26, 27, 28, 29, 30)), (2, (1, 2))],
)
def test_the_averaged_steps_end_with_the_last_and_lie_evenly(num_steps, expected):
    assert TranslationConfig().averaged_steps(num_steps) == expected
    assert TranslationConfig(num_averaged=1).averaged_steps(num_steps) == ()
