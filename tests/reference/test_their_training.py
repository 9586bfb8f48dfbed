"""Beside us Hugging Face learns the same: one loss, one schedule, one kind of step."""

import json
from dataclasses import replace

import pytest
import torch
from plain_plans import plain_plan

from headstart.models.initialisation import initialise
from headstart.models.model import new_model
from headstart.objectives.translation import Translation, to_pair_batch
from headstart.training.config import LearningConfig
from headstart.training.loop import Trainer, TrainingState
from headstart.training.optimiser import Optimiser

pytest.importorskip("transformers")
import bench_translation_training as bench
from their_training import TheirPlan, TheirTraining, labels_of

LEARNING = LearningConfig(peak_rate=1e-3, warm_up_share=0.25, weight_decay=0.01)
NUM_STEPS = 4


@pytest.fixture(scope="module")
def recipe():
    """Base in small without dropout, which both would draw differently."""
    made = bench.tiny(bench.base())
    trunk = made.model.trunk
    encoder, decoder = (
        replace(half, layer=replace(half.layer, dropout=0.0))
        for half in (trunk.encoder, trunk.decoder)
    )
    model = replace(made.model, trunk=replace(trunk, encoder=encoder, decoder=decoder))
    return replace(made, model=model, learning=LEARNING)


def test_losses_of_the_same_steps_are_the_same(recipe):
    batches = bench.drawn_batches("multi30k", 200, recipe, "cpu")[:NUM_STEPS]
    model = new_model(recipe.model)
    initialise(model, seed=2)
    their_plan = TheirPlan(
        learning=LEARNING,
        num_steps=NUM_STEPS,
        label_smoothing=0.1,
        device="cpu",
        is_compiled=False,
    )
    theirs = TheirTraining(model, their_plan)
    plan = plain_plan(NUM_STEPS, seed=1)
    reports = []
    state = TrainingState(model, Optimiser(model, set(), LEARNING), None)
    Trainer(
        Translation(0.1),
        LEARNING,
        plan,
        lambda step: [batches[step]],
        lambda _state, report: bool(reports.append(report)),
    ).run(state)
    for step, report in enumerate(reports):
        loss = theirs.do_step(step, batches[step])
        assert float(loss) == pytest.approx(report.loss, rel=1e-4)
    # Something was learned in between, so that equal losses mean equal steps.
    assert abs(reports[0].loss - reports[-1].loss) > 1e-3


def test_labels_are_the_same_whether_a_batch_has_a_given_shape_or_none():
    rows = [torch.arange(4, 4 + size).numpy() for size in (3, 1, 5)]
    plain = to_pair_batch(rows, rows, ["a", "b", "c"], "cpu")
    label_BT = labels_of(plain)
    assert label_BT.tolist()[1] == [4, 2, -100, -100, -100, -100]
    assert int((label_BT != -100).sum()) == plain.num_tokens


@pytest.mark.parametrize("lengths", ["multi30k", "even"])
def test_the_program_measures_a_toy_without_a_gpu(lengths, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HEADSTART_RECORDS", str(tmp_path))
    monkeypatch.setattr(bench, "NUM_STEPS", 3)
    bench.main(["--tiny", "--lengths", lengths])
    assert not list(tmp_path.iterdir())
    record = json.loads(capsys.readouterr().out)
    speeds = record["target_tokens_per_second"]
    assert set(speeds) == {"headstart", "hugging face, compiled"}
    ratio = speeds["headstart"]["median"] / speeds["hugging face, compiled"]["median"]
    assert record["times_their_speed"] == pytest.approx(ratio)
    hours = record["projected_hours"]["headstart"]
    assert hours == pytest.approx(2.5e9 / speeds["headstart"]["median"] / 3600)
