"""A transfer against a loop that anybody would write: one text at a time, PyTorch's own AdamW."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.utils.class_weight import compute_class_weight
from tiny_runs import label_learner_of
from tiny_transfers import (
    begun_transfer,
    planted,
    settings,
    write_examples,
    write_rows,
    write_trunk,
)

from headstart.models.inputs import Text

NUM_STEPS, NUM_LAYERS, DECAY, PEAK = 18, 2, 0.7, 1e-2


@pytest.fixture
def learner(tmp_path):
    files = write_examples(tmp_path / "examples")
    # Unbalanced, so that the weights of labels have something to do.
    rows = [row for row in planted(60) if row[1] != "fair"][:20] + planted(12)
    write_rows(tmp_path / "examples" / "train.csv", rows)
    how = settings(
        epochs=3, dropout=0.0, layer_decay=DECAY, weighs_labels=True, peak_rate=PEAK, accumulation=2
    )
    how = replace(how, learning=replace(how.learning, weight_decay=0.05, max_norm=0.5))
    trunk = write_trunk(tmp_path / "trunk")
    return label_learner_of(begun_transfer(tmp_path / "run", trunk, files, how))


def rate_of(step: int, num_steps: int) -> float:
    """Rises for a tenth of the steps and falls to a hundredth."""
    num_warm_up = max(1, round(0.1 * num_steps))
    if step < num_warm_up:
        return PEAK * (step + 1) / num_warm_up
    left = 1 - (step + 1 - num_warm_up) / (num_steps - num_warm_up)
    return PEAK * (0.01 + 0.99 * left)


def share_of(name: str) -> float:
    if name.startswith("trunk.embedding."):
        return DECAY ** (NUM_LAYERS + 1)
    if name.startswith("trunk.layers."):
        return DECAY ** (NUM_LAYERS - int(name.split(".")[2]))
    return 1.0


def plain_loop(learner, model):
    """Trains a model in place, and returns the loss of each step."""
    targets = learner.train.targets
    weights = compute_class_weight("balanced", classes=np.arange(3), y=targets)
    shares = {name: share_of(name) for name, _ in model.named_parameters()}
    optimiser = torch.optim.AdamW(
        [
            {"params": [tensor], "weight_decay": 0.05 if tensor.ndim > 1 else 0.0, "name": name}
            for name, tensor in model.named_parameters()
        ],
        betas=(learner.recipe.learning.beta1, learner.recipe.learning.beta2),
    )
    losses = []
    for step in range(NUM_STEPS):
        optimiser.zero_grad()
        chosen = learner.chosen(step)
        total = 0.0
        for index in chosen:
            (row,) = learner.train.rows[index]
            logits = model(Text(torch.tensor([row])))
            target = int(targets[index])
            loss = F.cross_entropy(logits, torch.tensor([target])) * weights[target] / len(chosen)
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        for group in optimiser.param_groups:
            group["lr"] = rate_of(step, learner.plan.num_steps) * shares[group["name"]]
        optimiser.step()
        losses.append(total)
    return losses


@pytest.mark.usefixtures("single_precision")
def test_a_transfer_takes_the_steps_of_a_plain_loop(learner):
    state, plain = learner.new_state(), learner.new_state().model
    plain.trunk.embedding.tokens.sparse = False
    seen = []
    before = {name: weights.detach().clone() for name, weights in plain.named_parameters()}

    def note(state, report) -> bool:
        seen.append(report.parts["labels"])
        return state.step == NUM_STEPS

    learner.trainer(note).run(state)
    state.optimiser.settle()
    expected = plain_loop(learner, plain)
    assert seen == pytest.approx(expected, rel=1e-3)
    for (name, ours), theirs in zip(
        state.model.named_parameters(), plain.parameters(), strict=True
    ):
        moved, apart = (theirs - before[name]).norm(), (ours - theirs).norm()
        assert moved > 1e-3, name
        # Rows of the table catch up in closed form, which is not exact.
        assert apart < 0.01 * moved, name
