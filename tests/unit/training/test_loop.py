"""The loop against one written by hand, and what it does with values that are no numbers."""

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from plain_plans import plain_plan

from headstart.errors import DivergedError
from headstart.models.initialisation import initialise
from headstart.models.inputs import Text
from headstart.models.model import new_model
from headstart.objectives.batch import PIECES, Rows, to_batch
from headstart.objectives.objective import StepRows
from headstart.training.averaging import AveragedWeights
from headstart.training.config import LearningConfig, PlanConfig
from headstart.training.loop import Trainer, TrainingState
from headstart.training.optimiser import Optimiser

PLAN = plain_plan(12, seed=3)
LEARNING = LearningConfig(peak_rate=0.01, warm_up_share=0.25, weight_decay=0.2, max_norm=0.5)
STEP = StepRows(length=24, sequences=4, seed=1)


def new_state(model, learning: LearningConfig) -> TrainingState:
    decay = learning.average_decay
    average = AveragedWeights(model, decay) if decay else None
    return TrainingState(model, Optimiser(model, set(), learning), average)


def trained(toy, name: str, learning: LearningConfig, plan: PlanConfig = PLAN):
    objective, model = toy.objective(name), toy.model(name)
    stream = objective.training_rows(toy.store(toy.documents(60)), STEP)
    reports = []

    def batches(step):
        return [to_batch(rows, "cpu") for rows in stream.at(step).split(learning.accumulation)]

    state = new_state(model, learning)
    after = lambda _state, report: bool(reports.append(report))  # noqa: E731
    Trainer(objective, learning, plan, batches, after).run(state)
    return state, reports, stream


def by_hand(toy, stream, num_steps: int):
    """The same steps of the causal objective as a stranger would write them."""
    model = toy.model("causal").train()
    named = list(model.named_parameters())
    groups = [
        {"params": [p for _, p in named if p.ndim > 1], "weight_decay": 0.2},
        {"params": [p for _, p in named if p.ndim == 1], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), eps=1e-8)
    reports = []
    for step in range(num_steps):
        rows = stream.at(step)
        text = Text(
            torch.from_numpy(rows.tokens), document_BT=torch.from_numpy(rows.documents.copy())
        )
        logits = model(text)
        loss = F.cross_entropy(logits.flatten(0, 1), torch.from_numpy(rows.targets).flatten())
        optimiser.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        done = max(0.0, (step + 1 - 3) / (num_steps - 3))
        falling = 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * done))
        rate = 0.01 * (min(1.0, (step + 1) / 3) if step < 3 else falling)
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.step()
        reports.append((loss.item(), norm.item(), rate))
    return model, reports


def test_weights_after_some_steps_are_those_of_a_plain_loop(toy):
    state, reports, stream = trained(toy, "causal", LEARNING)
    model, expected = by_hand(toy, stream, PLAN.num_steps)
    for report, (loss, norm, rate) in zip(reports, expected, strict=True):
        assert report.loss == pytest.approx(loss, rel=1e-5)
        assert report.norm == pytest.approx(norm, rel=1e-4)
        assert report.rate == pytest.approx(rate, rel=1e-12)
    # The gradient is clipped in this test, or its clipping would not be tested.
    assert max(norm for _, norm, _ in expected) > 0.5
    first = toy.model("causal")
    for (name, ours), theirs, begun in zip(
        state.model.named_parameters(), model.parameters(), first.parameters(), strict=True
    ):
        assert (theirs - begun).abs().max() > 1e-2, name
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


def test_a_step_of_one_document_rows_is_that_of_a_plain_loop_bit_for_bit(toy):
    # Without a mask and in one part, the very same operations in the very same order.
    model, other = toy.model("causal"), toy.model("causal").train()
    tokens = torch.randint(8, 290, (2, 17), generator=torch.Generator().manual_seed(0))
    objective = toy.objective("causal")
    rows = Rows(
        tokens=tokens[:, :-1].numpy(),
        documents=torch.zeros(2, 16, dtype=torch.long).numpy(),
        targets=tokens[:, 1:].numpy(),
        names=("a", "b"),
    )
    state = new_state(model, LEARNING)
    batches = lambda _step: [to_batch(rows, "cpu")]  # noqa: E731
    Trainer(objective, LEARNING, PLAN, batches, lambda *_: True).run(state)
    hidden = other.trunk(Text(tokens[:, :-1])).flatten(0, 1)
    logits = F.linear(hidden, other.head.weight)
    (F.cross_entropy(logits, tokens[:, 1:].flatten(), reduction="sum") / 32).backward()
    torch.nn.utils.clip_grad_norm_(other.parameters(), 0.5)
    optimiser = Optimiser(other, set(), LEARNING)
    optimiser.step(0.01 / 3)
    for ours, theirs in zip(state.model.parameters(), other.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("name", ["causal", "masked", "masked+next"])
def test_a_processor_in_half_precision_learns_the_same_again_and_nearly_the_same_as_in_single(
    toy, name
):
    learning, halved = replace(LEARNING, peak_rate=1e-3), replace(PLAN, precision="bf16")
    _, single, _ = trained(toy, name, learning)
    (one, half, _), (other, _, _) = (trained(toy, name, learning, halved) for _ in range(2))
    for ours, theirs in zip(one.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)
        # Only products are rounded: weights stay as they are.
        assert ours.dtype == torch.float32
    assert [report.loss for report in half] != [report.loss for report in single]
    for report, exact in zip(half, single, strict=True):
        assert report.parts == pytest.approx(exact.parts, rel=0.01)
        assert report.norm == pytest.approx(exact.norm, rel=0.05)


@pytest.mark.parametrize("name", ["causal", "masked", "masked+next"])
def test_a_run_in_parts_has_the_losses_and_norms_of_a_run_in_whole_steps(toy, name):
    # Losses and not weights: some have no gradient but rounding, which Adam makes as large as any.
    _, whole, _ = trained(toy, name, replace(LEARNING, peak_rate=1e-3))
    _, parts, _ = trained(toy, name, replace(LEARNING, peak_rate=1e-3, accumulation=3))
    for one, other in zip(whole, parts, strict=True):
        assert one.parts == pytest.approx(other.parts, rel=1e-5)
        assert one.norm == pytest.approx(other.norm, rel=1e-4)
        assert one.num_tokens == other.num_tokens


def test_what_dropout_draws_is_a_function_of_seed_and_step(toy):
    config = toy.recipe("causal").model
    layer = replace(config.trunk.layer, dropout=0.3)
    config = replace(config, trunk=replace(config.trunk, layer=layer))
    objective = toy.objective("causal")
    stream = objective.training_rows(toy.store(toy.documents(60)), STEP)

    def losses(seed: int, num_steps_before: int) -> list[float]:
        model, seen = new_model(config), []
        initialise(model, 0)
        # A rate so low that only dropout tells one step from another.
        learning = replace(LEARNING, peak_rate=1e-12)
        state = new_state(model, learning)
        state.step = num_steps_before
        torch.manual_seed(num_steps_before)
        Trainer(
            objective,
            learning,
            replace(PLAN, seed=seed),
            lambda _step: [to_batch(stream.at(0), "cpu")],
            lambda _state, report: bool(seen.append(report.loss)),
        ).run(state)
        return seen

    walked = losses(3, 0)
    assert len(set(walked)) == len(walked)
    assert losses(3, 7) == walked[7:]
    assert losses(4, 0) != walked


def test_averaged_weights_follow_those_of_every_step(toy):
    learning = replace(LEARNING, average_decay=0.7)
    seen, objective, model = [], toy.objective("causal"), toy.model("causal")
    stream = objective.training_rows(toy.store(toy.documents(60)), STEP)
    state = new_state(model, learning)
    by_hand = model.head.weight.detach().double()

    def after(state, report):
        nonlocal by_hand
        decay = min(0.7, (1 + report.step) / (10 + report.step))
        by_hand = decay * by_hand + (1 - decay) * state.model.head.weight.detach().double()
        seen.append(report.step)
        return False

    batches = lambda step: [to_batch(stream.at(step), "cpu")]  # noqa: E731
    Trainer(objective, learning, PLAN, batches, after).run(state)
    assert seen == list(range(1, PLAN.num_steps + 1))
    name = next(key for key, p in model.named_parameters() if p is model.head.weight)
    torch.testing.assert_close(state.average.tensors[name].double(), by_hand, atol=1e-6, rtol=1e-5)


class Spoiled:
    """An objective whose loss or gradient is no number from some step on."""

    def __init__(self, objective, spoil, from_call: int) -> None:
        self.objective, self.spoil, self.from_call = objective, spoil, from_call
        self.num_calls = 0

    def loss(self, model, batch) -> Mapping[str, torch.Tensor]:
        loss = self.objective.loss(model, batch)
        self.num_calls += 1
        if self.num_calls <= self.from_call:
            return loss
        return {name: self.spoil(value) for name, value in loss.items()}


class NanGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return value.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * math.nan


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda value: value * math.nan, "pieces became nan"),
        (lambda value: value * math.inf, "pieces became inf"),
        (NanGradient.apply, "norm of the gradient became nan"),
    ],
    ids=["loss is NaN", "loss is infinite", "gradient is NaN"],
)
@pytest.mark.parametrize("accumulation", [1, 2])
def test_a_value_that_is_no_number_raises_before_anything_changes(toy, spoil, told, accumulation):
    learning = replace(LEARNING, average_decay=0.5, accumulation=accumulation)
    objective = Spoiled(toy.objective("causal"), spoil, from_call=3 * accumulation)
    model = toy.model("causal")
    stream = toy.objective("causal").training_rows(toy.store(toy.documents(60)), STEP)
    state, kept = new_state(model, learning), {}

    def after(state, _report):
        kept["weights"] = [weights.detach().clone() for weights in state.model.parameters()]
        kept["average"] = [value.clone() for value in state.average.tensors.values()]
        kept["memory"] = {key: value.clone() for key, value in state.optimiser.tensors()}
        return False

    def batches(step):
        return [to_batch(rows, "cpu") for rows in stream.at(step).split(accumulation)]

    with pytest.raises(DivergedError) as caught:
        Trainer(objective, learning, PLAN, batches, after).run(state)
    sentence = str(caught.value)
    assert f"In step 4 the {told}" in sentence
    assert stream.at(3).names[0] in sentence
    assert "and 1 more" in sentence
    assert state.step == 3
    for now, then in zip(state.model.parameters(), kept["weights"], strict=True):
        assert torch.equal(now, then)
        assert now.grad is None
    for now, then in zip(state.average.tensors.values(), kept["average"], strict=True):
        assert torch.equal(now, then)
    memory = dict(state.optimiser.tensors())
    assert all(torch.equal(memory[key], value) for key, value in kept["memory"].items())


def test_a_report_has_the_mean_over_answers_and_the_pieces_read(toy):
    state, reports, stream = trained(toy, "masked+next", LEARNING)
    assert [report.step for report in reports] == list(range(1, PLAN.num_steps + 1))
    report = reports[0]
    objective, model = toy.objective("masked+next"), toy.model("masked+next")
    batch = to_batch(stream.at(0), "cpu")
    with torch.no_grad():
        sums = objective.loss(model.train(), batch)
    for name, value in report.parts.items():
        assert value == pytest.approx(sums[name].item() / batch.counts[name], rel=1e-5)
    assert report.loss == pytest.approx(sum(report.parts.values()))
    assert list(report.parts) == [PIECES, "next"]
    assert report.num_tokens == stream.at(0).tokens.size
    assert state.step == PLAN.num_steps


def test_the_loop_stops_where_it_is_told_and_goes_on_from_there(toy):
    objective, model = toy.objective("causal"), toy.model("causal")
    stream = objective.training_rows(toy.store(toy.documents(60)), STEP)
    asked = []

    def batches(step):
        asked.append(step)
        return [to_batch(stream.at(step), "cpu")]

    state = new_state(model, LEARNING)
    Trainer(objective, LEARNING, PLAN, batches, lambda _s, r: r.step == 5).run(state)
    assert state.step == 5
    Trainer(objective, LEARNING, PLAN, batches, lambda *_: False).run(state)
    assert asked == list(range(12))
    straight, _, _ = trained(toy, "causal", LEARNING)
    for one, other in zip(state.model.parameters(), straight.model.parameters(), strict=True):
        assert torch.equal(one, other)
