"""A loss, gradient or weight that is no number is caught, and never reaches a checkpoint."""

import random

import pytest
import torch
from tiny_runs import (
    KINDS,
    NUM_STEPS,
    Witness,
    assert_same_run,
    checkpoints_of,
    content,
    count,
    go_on,
    learner_of,
)

from headstart.checkpoints.checkpoint import load_checkpoint
from headstart.checkpoints.names import checkpoint_path, steps_in
from headstart.errors import DivergedError, RunError
from headstart.training.loop import LossOfBatch, Trainer
from headstart.training.optimiser import Optimiser

pytestmark = pytest.mark.usefixtures("no_flushing")

NUM_POISONS, NUM_SPOILS = count(7, 140), count(6, 120)
# A frozen trunk is read before the first step, and no more.
TRUNKS_THAT_LEARN = tuple(kind for kind in KINDS if kind != "frozen")
VALUES = (float("nan"), float("inf"), float("-inf"))


class Poison:
    """Puts a value that is no number into a step of a run, at some place."""

    def __init__(self, seed: int, *places: str) -> None:
        draw = random.Random(seed)
        self.draw = draw
        self.place = places[seed % len(places)]
        self.step = draw.randint(2, NUM_STEPS - 1)
        self.value = draw.choice(VALUES)
        self.is_now = False

    def spoil(self, tensor: torch.Tensor) -> None:
        """Puts the value into an element of a tensor, of a sparse one into one that it has."""
        tensor = tensor._values() if tensor.is_sparse else tensor
        tensor.view(-1)[self.draw.randrange(tensor.numel())] = self.value

    def install(self, patch) -> None:
        patch.setattr(Trainer, "do_step", self.poisoned_step(Trainer.do_step))
        patch.setattr(LossOfBatch, "forward", self.poisoned_loss(LossOfBatch.forward))
        patch.setattr(Trainer, "backward", self.poisoned_backward(Trainer.backward))
        patch.setattr(Optimiser, "step", self.poisoned_update(Optimiser.step))

    def poisoned_step(self, do_step):
        def poisoned(trainer, state, judged, batches):
            self.is_now = state.step + 1 == self.step
            if self.is_now:
                self.before_step(state, batches)
            return do_step(trainer, state, judged, batches)

        return poisoned

    def poisoned_loss(self, loss):
        def poisoned(judged, batch):
            parts = dict(loss(judged, batch))
            if self.is_now and self.place == "loss":
                name = self.draw.choice(sorted(parts))
                parts[name] = parts[name] + self.value
            return parts

        return poisoned

    def poisoned_backward(self, backward):
        def poisoned(trainer, step, judged, batches):
            sums = backward(trainer, step, judged, batches)
            if self.is_now and self.place == "gradient":
                found = [weights.grad for weights in judged.parameters()]
                self.spoil(self.draw.choice([grad for grad in found if grad is not None]))
            return sums

        return poisoned

    def poisoned_update(self, update):
        def poisoned(optimiser, rate):
            update(optimiser, rate)
            if self.is_now and self.place == "updated weight":
                self.spoil(self.draw.choice(list(optimiser.parameters.values())).data)

        return poisoned

    def before_step(self, state, batches) -> None:
        trunk = state.model.trunk
        embedding = getattr(trunk, "encoder", trunk).embedding.tokens.weight.data
        if self.place == "weight that is read":
            self.spoil(embedding[self.draw.choice(sorted(pieces_read(batches[0])))])
        elif self.place == "weight that is not read":
            read = {piece for batch in batches for piece in pieces_read(batch)}
            unread = sorted(set(range(len(embedding))) - read)
            self.spoil(embedding[self.draw.choice(unread)])
        elif self.place == "moment":
            tensors = [tensor for name, tensor in state.optimiser.tensors() if "exp_avg" in name]
            self.spoil(self.draw.choice(tensors))


def pieces_read(batch) -> set[int]:
    """Returns the pieces of a batch of texts, or of both sides of pairs."""
    texts = batch.pair if hasattr(batch, "pair") else (batch.text,)
    return {piece for text in texts for piece in text.tokens_BT.unique().tolist()}


def train_until_it_diverges(folder, poison: Poison, monkeypatch) -> tuple[RunError, list[int]]:
    """Returns the error, and the steps that were done before it."""
    witness = Witness()
    with monkeypatch.context() as patch:
        poison.install(patch)
        with pytest.raises(RunError) as caught:
            go_on(folder, witness)
    return caught.value, witness.steps


def assert_every_checkpoint_is_finite(folder) -> None:
    for step in steps_in(checkpoints_of(folder)):
        checkpoint = load_checkpoint(checkpoint_path(checkpoints_of(folder), step))
        for group, tensors in checkpoint.groups.items():
            for name, tensor in tensors.items():
                assert tensor.isfinite().all(), f"{group} {name} of step {step}"


def row_names(folder, step: int) -> list[str]:
    return [name for batch in learner_of(folder).batches(step - 1) for name in batch.names]


@pytest.mark.parametrize("number", range(NUM_POISONS))
def test_what_is_no_number_is_caught_in_its_step_and_the_step_before_is_kept(
    world, number, tmp_path, monkeypatch, record_property
):
    kind = KINDS[number % len(KINDS)]
    folder = world.fresh(kind, tmp_path / "run")
    poison = Poison(number, "loss", "gradient")
    error, steps = train_until_it_diverges(folder, poison, monkeypatch)
    sentence = str(error)
    assert isinstance(error, DivergedError)
    assert steps == list(range(1, poison.step))
    assert sentence.startswith(f"In step {poison.step:,} the ")
    for name in row_names(folder, poison.step)[:3]:
        assert name in sentence
    assert len(sentence.splitlines()) == 1
    assert_every_checkpoint_is_finite(folder)
    assert steps_in(checkpoints_of(folder))[-1] == poison.step - 1
    again = Witness()
    assert go_on(folder, again)
    assert again.steps[0] == poison.step
    assert_same_run(content(folder), world.undisturbed(kind))
    record_property("place", poison.place)


@pytest.mark.parametrize("number", range(NUM_SPOILS))
def test_a_spoiled_weight_or_moment_never_reaches_a_checkpoint(
    world, number, tmp_path, monkeypatch, record_property
):
    kind = TRUNKS_THAT_LEARN[number % len(TRUNKS_THAT_LEARN)]
    folder = world.fresh(kind, tmp_path / "run")
    poison = Poison(
        number,
        "weight that is read",
        "weight that is not read",
        "moment",
        "updated weight",
    )
    error, steps = train_until_it_diverges(folder, poison, monkeypatch)
    sentence = str(error)
    if poison.place == "weight that is read":
        assert steps[-1] == poison.step - 1
        assert row_names(folder, poison.step)[0] in sentence
    assert len(sentence.splitlines()) == 1
    assert_every_checkpoint_is_finite(folder)
    assert max(steps_in(checkpoints_of(folder)), default=0) <= poison.step
    assert go_on(folder)
    assert_same_run(content(folder), world.undisturbed(kind))
    record_property("place", poison.place)
