"""One set of checks for every objective: what it draws, what it asks, and what its steps add up to.

Legend: M answered positions.
"""

import hashlib
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from plain_plans import plain_plan

from headstart.evaluation.language import score_language
from headstart.objectives.batch import NOTHING, PIECES, Rows, to_batch
from headstart.objectives.objective import StepRows
from headstart.objectives.table import OBJECTIVES
from headstart.training.config import LearningConfig
from headstart.training.loop import LossOfBatch, Trainer

every_objective = pytest.mark.parametrize("name", OBJECTIVES)
STEP = StepRows(length=40, sequences=5, seed=11)
PLAN = plain_plan(10)


@pytest.fixture
def store(toy):
    return toy.store(toy.documents(120))


def digest(rows: Rows) -> str:
    grids = (rows.tokens, rows.documents, rows.targets, rows.segments, rows.follows)
    data = b"".join(grid.astype("<i8").tobytes() for grid in grids if grid is not None)
    return hashlib.sha256(data).hexdigest()


def gradients(objective, model, rows: Rows, num_parts: int):
    model.zero_grad()
    trainer = Trainer(objective, LearningConfig(), PLAN, lambda _step: [], lambda *_: False)
    batches = [to_batch(part, "cpu") for part in rows.split(num_parts)]
    sums = trainer.backward(0, LossOfBatch(objective, model), batches)
    return {name: weights.grad.clone() for name, weights in model.named_parameters()}, sums


@every_objective
@pytest.mark.parametrize("num_parts", [2, 3, 5, 50])
def test_a_step_in_parts_has_the_gradient_of_the_whole_step(toy, store, name, num_parts):
    objective, model = toy.objective(name), toy.model(name)
    rows = objective.training_rows(store, STEP).at(3)
    whole, whole_loss = gradients(objective, model, rows, 1)
    parts, parts_loss = gradients(objective, model, rows, num_parts)
    assert set(whole) == set(parts)
    largest = max(gradient.abs().max() for gradient in whole.values())
    for key, gradient in whole.items():
        assert (parts[key] - gradient).abs().max() <= 1e-6 * largest, key
    for part, value in whole_loss.items():
        torch.testing.assert_close(parts_loss[part], value, rtol=1e-6, atol=0)


@every_objective
def test_parts_with_unequal_numbers_of_answers_weigh_answers_and_not_parts(toy, store, name):
    objective, model = toy.objective(name, share=0.3), toy.model(name)
    rows = objective.training_rows(store, STEP).at(0)
    targets = rows.targets.copy()
    # Of the first row one answer is left, of the others all.
    asked = np.flatnonzero(targets[0] != NOTHING)
    targets[0, asked[1:]] = NOTHING
    rows = replace(rows, targets=targets)
    counts = [to_batch(part, "cpu").counts[PIECES] for part in rows.split(len(rows.names))]
    assert counts[0] == 1
    assert max(counts) > 5
    whole, _ = gradients(objective, model, rows, 1)
    parts, _ = gradients(objective, model, rows, len(rows.names))
    largest = max(gradient.abs().max() for gradient in whole.values())
    for key, gradient in whole.items():
        assert (parts[key] - gradient).abs().max() <= 1e-6 * largest, key


@every_objective
@pytest.mark.parametrize("num_parts", [1, 2, 4, 9, 1_000])
def test_parts_are_the_rows_in_order_and_none_is_empty(toy, store, name, num_parts):
    rows = toy.objective(name).training_rows(store, STEP).at(0)
    parts = list(rows.split(num_parts))
    assert len(parts) == min(num_parts, len(rows.names))
    sizes = [len(part.names) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) >= 1
    assert [row for part in parts for row in part.names] == list(rows.names)
    for field in ("tokens", "documents", "targets", "is_token", "segments", "follows"):
        whole = getattr(rows, field)
        if whole is not None:
            joined = np.concatenate([getattr(part, field) for part in parts])
            assert joined.tolist() == whole.tolist()


@every_objective
def test_any_step_asked_for_directly_is_the_one_that_a_walk_comes_to(toy, store, name):
    stream = toy.objective(name).training_rows(store, STEP)
    walked = [digest(stream.at(step)) for step in range(3 * stream.steps_per_epoch)]
    assert len(set(walked)) == len(walked)
    for step in (len(walked) - 1, 0, stream.steps_per_epoch, stream.steps_per_epoch - 1):
        assert digest(toy.objective(name).training_rows(store, STEP).at(step)) == walked[step]


@every_objective
def test_another_seed_draws_other_steps(toy, store, name):
    objective = toy.objective(name)
    one, other = (objective.training_rows(store, replace(STEP, seed=seed)) for seed in (1, 2))
    assert digest(one.at(0)) != digest(other.at(0))


OTHER_PROCESS = """
import hashlib, sys
from pathlib import Path
from headstart.batches.store import TokenStore
from headstart.objectives.hiding import HidingConfig
from headstart.objectives.objective import StepRows
from headstart.objectives.table import OBJECTIVES
from headstart.tokenizers.folder import load_tokenizer

folder, name, step = sys.argv[1:]
objective = OBJECTIVES[name](load_tokenizer(Path(folder) / "tokenizer"), None, HidingConfig())
store = TokenStore(Path(folder) / "store-0")
rows = objective.training_rows(store, StepRows(length=40, sequences=5, seed=11)).at(int(step))
grids = (rows.tokens, rows.documents, rows.targets, rows.segments, rows.follows)
data = b"".join(grid.astype("<i8").tobytes() for grid in grids if grid is not None)
print(hashlib.sha256(data).hexdigest())
"""


@every_objective
def test_another_process_draws_the_same_step(toy, store, name, monkeypatch):
    from headstart.tokenizers.folder import save_tokenizer

    assert store.folder.name == "store-0"
    save_tokenizer(toy.tokenizer, toy.folder / "tokenizer")
    monkeypatch.setenv("PYTHONHASHSEED", "12345")
    command = [sys.executable, "-c", OTHER_PROCESS, str(toy.folder), name, "29"]
    seen = subprocess.run(command, capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == digest(toy.objective(name).training_rows(store, STEP).at(29))


@every_objective
def test_each_part_of_the_loss_is_reported_with_the_number_of_its_answers(toy, store, name):
    objective, model = toy.objective(name), toy.model(name)
    batch = to_batch(objective.training_rows(store, STEP).at(0), "cpu")
    loss = objective.loss(model, batch)
    assert list(loss) == list(batch.counts) == (["pieces", "next"] if "next" in name else [PIECES])
    assert all(value.ndim == 0 and value.isfinite() for value in loss.values())


@every_objective
@torch.no_grad()
def test_evaluation_gives_the_loss_that_training_minimises_and_changes_nothing(toy, store, name):
    objective, model = toy.objective(name), toy.model(name)
    batches = [to_batch(rows, "cpu") for rows in objective.held_out_rows(store, STEP)]
    before = {key: value.clone() for key, value in model.state_dict().items()}
    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    for batch in batches:
        for key, value in objective.loss(model, batch).items():
            sums[key] = sums.get(key, 0.0) + value.item()
            counts[key] = counts.get(key, 0) + batch.counts[key]
    for is_training in (True, False):
        model.train(is_training)
        scores = score_language(model, batches, pieces_per_byte=0.5)
        assert model.training == is_training
    assert scores.total == pytest.approx(sum(sums[key] / counts[key] for key in sums), rel=1e-5)
    assert scores.num_pieces == counts[PIECES]
    for key, value in model.state_dict().items():
        assert torch.equal(value, before[key])


@every_objective
def test_a_few_steps_on_one_batch_lower_the_loss(toy, store, name):
    objective, model = toy.objective(name), toy.model(name).train()
    batch = to_batch(objective.training_rows(store, STEP).at(0), "cpu")
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(15):
        loss = sum(value / batch.counts[key] for key, value in objective.loss(model, batch).items())
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
