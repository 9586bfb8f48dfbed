"""The loss by position against a loop over rows and positions."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headstart.evaluation.by_position import NUM_STRETCHES, in_stretches, score_positions
from headstart.models.inputs import Text
from headstart.objectives.batch import NOTHING, Rows, to_batch


def drawn_rows(length: int, num_rows: int, seed: int, share: float) -> Rows:
    generator = np.random.default_rng(seed)
    tokens = generator.integers(8, 250, (num_rows, length))
    is_asked = generator.random(tokens.shape) < share
    return Rows(
        tokens=tokens,
        documents=np.zeros_like(tokens),
        targets=np.where(is_asked, generator.integers(8, 250, tokens.shape), NOTHING),
        names=tuple(map(str, range(num_rows))),
    )


@torch.no_grad()
@pytest.mark.parametrize(("length", "share"), [(70, 1.0), (70, 0.3), (20, 1.0), (5, 0.5)])
def test_each_stretch_has_the_mean_loss_of_its_positions(toy, length, share):
    model = toy.model("causal")
    parts = [drawn_rows(length, 3, seed, share) for seed in range(2)]
    found = [[] for _ in range(length)]
    for rows in parts:
        for read, asked in zip(rows.tokens, rows.targets, strict=True):
            scores = model(Text(torch.from_numpy(read)[None]))[0].log_softmax(-1)
            for place, wanted in enumerate(asked.tolist()):
                if wanted != NOTHING:
                    found[place].append(-scores[place, wanted].item())
    seen = score_positions(model, [to_batch(rows, "cpu") for rows in parts], length)
    everything = [loss for losses in found for loss in losses]
    assert seen.length == length
    assert seen.loss == pytest.approx(np.mean(everything), rel=1e-5)
    starts = sorted({number * length // NUM_STRETCHES for number in range(NUM_STRETCHES)})
    expected = []
    for start, stop in zip(starts, [*starts[1:], length], strict=True):
        if losses := [loss for place in found[start:stop] for loss in place]:
            expected.append(((start + stop) // 2, np.mean(losses)))
    assert seen.places == tuple(place for place, _ in expected)
    assert seen.losses == pytest.approx([loss for _, loss in expected], rel=1e-5)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=200))
def test_stretches_cover_every_position_once(counts):
    numbers = np.array(counts, dtype=float)
    nats = numbers * np.arange(1, len(counts) + 1)
    seen = in_stretches(nats, numbers)
    assert len(seen.places) <= NUM_STRETCHES
    assert list(seen.places) == sorted(set(seen.places))
    assert all(0 <= place < len(counts) for place in seen.places)
    if numbers.sum():
        assert seen.loss == pytest.approx(nats.sum() / numbers.sum())
        assert min(seen.losses) <= seen.loss + 1e-9
        assert max(seen.losses) >= seen.loss - 1e-9
    else:
        assert seen.losses == ()


@pytest.mark.parametrize("is_training", [True, False])
def test_a_model_is_left_as_it_was(toy, is_training):
    model = toy.model("causal").train(is_training)
    before = [weights.clone() for weights in model.parameters()]
    score_positions(model, [to_batch(drawn_rows(10, 2, 0, 1.0), "cpu")], 10)
    assert model.training == is_training
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert all(weights.grad is None for weights in model.parameters())
