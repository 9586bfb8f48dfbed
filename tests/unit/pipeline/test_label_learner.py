"""What learns labels: a frozen trunk is read once and stays, a gradual one thaws part by part."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight
from tiny_runs import label_learner_of
from tiny_transfers import (
    SETTINGS,
    begun_transfer,
    planted,
    settings,
    write_examples,
    write_rows,
    write_trunk,
)

from headstart.evaluation.classification import score_labels
from headstart.models.trunks import Trunk
from headstart.pipeline.label_learner import LabelLook
from headstart.pipeline.learner import Done, ScoringStopped, never
from headstart.training.averaging import load
from headstart.training.optimiser import MARK
from headstart.transfers.unfreezing import depth_of, thawed_depth


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    return write_trunk(tmp_path_factory.mktemp("trunk"))


@pytest.fixture
def new_learner(start, tmp_path):
    """Begins a transfer over planted examples and returns what it learns with."""

    def make(how, start=start, **sizes):
        examples = write_examples(tmp_path / "examples", **sizes)
        return label_learner_of(begun_transfer(tmp_path / "run", start, examples, how))

    return make


def never_stop(_state, _report) -> bool:
    return False


@pytest.fixture
def num_rows_read(monkeypatch):
    """The rows that trunks were given to read, one number a call."""
    read, forward = [], Trunk.forward

    def counted(trunk, text, *arguments, **options):
        read.append(len(text.tokens_BT))
        return forward(trunk, text, *arguments, **options)

    monkeypatch.setattr(Trunk, "forward", counted)
    return read


def test_a_frozen_trunk_reads_each_text_once_and_is_not_changed_by_a_bit(
    new_learner, num_rows_read
):
    learner = new_learner(SETTINGS["frozen"])
    state = learner.new_state()
    learner.trainer(never_stop).run(state)
    for _ in range(2):
        learner.validate(state)
    assert state.step == 30
    assert sum(num_rows_read) == 24 + 18
    for name, weights in state.model.named_parameters():
        if name.startswith("trunk."):
            assert torch.equal(weights, learner.start[name]), name
    assert {name.partition(MARK)[0] for name, _ in state.optimiser.tensors()} == {
        "head.output.weight",
        "head.output.bias",
    }


@pytest.mark.usefixtures("single_precision")
def test_a_head_over_kept_vectors_learns_what_it_would_over_the_trunk(new_learner):
    learner = new_learner(SETTINGS["frozen"])
    kept, read = learner.new_state(), learner.new_state()
    learner.trainer(never_stop).run(kept)
    replace(learner.trainer(never_stop), batches=learner.batches).run(read)
    first = learner.new_state().model.head.output
    for name in ("weight", "bias"):
        one, other = (getattr(state.model.head.output, name) for state in (kept, read))
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
        assert (one - getattr(first, name)).abs().max() > 1e-3


def test_a_gradual_trunk_moves_in_each_epoch_exactly_where_it_is_thawed(new_learner):
    learner = new_learner(replace(SETTINGS["gradual"], epochs=8))
    state = learner.new_state()
    before = snapshot(state)
    moved = []

    def note_epoch(state, _report) -> bool:
        if state.step % learner.steps_per_epoch == 0:
            state.optimiser.settle()
            now = snapshot(state)
            moved.append({name for name in now if not torch.equal(now[name], before[name])})
            before.update(now)
        return False

    learner.trainer(note_epoch).run(state)
    depths = [thawed_depth(epoch, 8, 2) for epoch in range(8)]
    assert depths == [0, 0, 1, 2, 3, 3, 3, 3]
    for depth, names in zip(depths, moved, strict=True):
        assert names == {name for name in before if depth_of(name, 2) <= depth}
    counts = {
        name.removesuffix(f"{MARK}step"): int(value)
        for name, value in state.optimiser.tensors()
        if name.endswith(f"{MARK}step")
    }
    first_epochs = [depths.index(depth) for depth in range(4)]
    for name, num_steps in counts.items():
        thawed_at = first_epochs[depth_of(name, 2)]
        assert num_steps == (8 - thawed_at) * learner.steps_per_epoch, name
    assert counts.keys() == before.keys()


def snapshot(state) -> dict[str, torch.Tensor]:
    return {name: weights.detach().clone() for name, weights in state.model.named_parameters()}


def test_a_part_that_thaws_late_begins_with_a_first_step_of_its_own(new_learner):
    learner = new_learner(settings("gradual", epochs=8, dropout=0.0))
    state, name = learner.new_state(), "trunk.layers.1.feed_forward"
    thaws_at = 2 * learner.steps_per_epoch
    seen = []

    def note_step(state, report) -> bool:
        now = snapshot(state)
        seen.append((report.rate, now))
        return state.step > thaws_at

    learner.trainer(note_step).run(state)
    (_, before), (rate, after) = seen[-2:]
    names = [each for each in before if each.startswith(name) and before[each].ndim == 1]
    assert names
    for each in names:
        # AdamW's first step goes by the whole rate wherever there is a gradient; none decays here.
        moved = (after[each] - before[each]).abs()
        has_gradient = moved > 0
        assert has_gradient.any(), each
        assert moved.max().item() == pytest.approx(rate, rel=1e-2)


def test_all_learns_in_a_full_transfer_and_the_embedding_where_it_was_read(new_learner):
    learner = new_learner(settings())
    state = learner.new_state()
    before = snapshot(state)
    learner.trainer(lambda state, _: state.step == 1).run(state)
    after = snapshot(state)
    for name in before:
        assert not torch.equal(before[name], after[name]), name
    table = "trunk.embedding.tokens.weight"
    rows = (before[table] != after[table]).any(dim=1).nonzero().flatten().tolist()
    tokens = torch.cat([batch.text.tokens_BT.flatten() for batch in learner.batches(0)])
    read = set(tokens.tolist())
    assert set(rows) <= read


def test_weights_of_labels_are_balanced_and_average_one(start, tmp_path):
    rows = [row for row in planted(60) if row[1] != "bad"][:30] + planted(60)[:12]
    examples = write_examples(tmp_path / "examples")
    write_rows(tmp_path / "examples" / "train.csv", rows)
    how = settings(weighs_labels=True)
    learner = label_learner_of(begun_transfer(tmp_path / "run", start, examples, how))
    targets = learner.train.targets
    expected = compute_class_weight("balanced", classes=np.arange(3), y=targets)
    assert learner.label_weights.tolist() == pytest.approx(expected.tolist())
    assert learner.label_weights[targets].mean().item() == pytest.approx(1.0)
    plain = replace(learner, transfer=replace(learner.transfer, weighs_labels=False))
    assert plain.label_weights is None


def test_a_label_that_a_draw_left_out_disturbs_no_weight(start, tmp_path):
    examples = replace(write_examples(tmp_path / "examples"), size=2)
    how = settings(weighs_labels=True)
    learner = label_learner_of(begun_transfer(tmp_path / "run", start, examples, how))
    assert learner.recipe.transfer.labels == ("bad", "fair", "good")
    assert learner.label_weights[learner.train.targets].tolist() == [1.0, 1.0]
    assert learner.label_weights.isfinite().all()


def test_steps_are_a_function_of_their_number_and_an_epoch_reads_all_once(new_learner):
    learner = new_learner(SETTINGS["gradual"])
    assert learner.steps_per_epoch == 6
    names = [[n for b in learner.batches(step) for n in b.names] for step in range(12)]
    for first in (0, 6):
        epoch = [name for step in names[first : first + 6] for name in step]
        assert sorted(epoch) == sorted(learner.train.names)
    assert [len(learner.batches(step)) for step in range(6)] == [2] * 6
    again = [[n for b in learner.batches(step) for n in b.names] for step in (11, 0, 7)]
    assert again == [names[11], names[0], names[7]]


@pytest.mark.usefixtures("single_precision")
def test_parts_of_a_step_add_up_to_the_step(new_learner):
    learner = new_learner(settings(dropout=0.0))
    parts = replace(
        learner,
        recipe=replace(learner.recipe, learning=replace(learner.recipe.learning, accumulation=3)),
    )
    gradients = []
    for each in (learner, parts):
        state = each.new_state()
        trainer = each.trainer(never_stop)
        trainer.backward(0, trainer.judged(state), each.batches(0))
        gradients.append({n: w.grad.to_dense() for n, w in state.model.named_parameters()})
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, rtol=1e-4, atol=1e-6)


def test_being_stopped_while_it_scores_leaves_a_model_in_training(new_learner):
    learner = new_learner(settings())
    state = learner.new_state()
    learner.trainer(lambda *_: True).run(state)
    assert state.model.training
    with pytest.raises(ScoringStopped):
        learner.validate(state, lambda: True)
    assert state.model.training


def test_looking_changes_nothing(new_learner):
    learner = new_learner(settings())
    state = learner.new_state()
    before = snapshot(state)
    first, second = learner.validate(state), learner.validate(state)
    assert first == second
    assert all(torch.equal(before[name], now) for name, now in snapshot(state).items())


def test_a_look_has_rows_catch_up_with_the_steps_that_did_not_name_them(new_learner):
    learner = new_learner(settings())
    state = learner.new_state()
    learner.trainer(lambda state, _: state.step == 3).run(state)
    table, before = state.model.trunk.embedding.tokens.weight, snapshot(state)
    learner.validate(state)
    settled = table.detach().clone()
    assert not torch.equal(settled, before["trunk.embedding.tokens.weight"])
    state.optimiser.settle()
    assert torch.equal(table, settled)


def test_tables_are_moved_as_they_began_wherever_a_run_is_gone_on_with(new_learner):
    learner = new_learner(settings())
    elsewhere = replace(learner, plan=replace(learner.plan, device="cuda"))
    began_there = replace(elsewhere, recipe=replace(learner.recipe, plan=elsewhere.plan))
    model, _ = learner.new_model()
    assert elsewhere.use_rows(model) == learner.use_rows(model) == {"trunk.embedding.tokens.weight"}
    assert began_there.use_rows(model) == set()
    assert replace(began_there, plan=learner.plan).use_rows(model) == set()


def test_a_look_is_at_the_averaged_weights_and_gives_the_learned_ones_back(new_learner):
    learner = new_learner(settings(average_decay=0.99, peak_rate=5e-2))
    state = learner.new_state()
    learner.trainer(lambda state, _: state.step == 6).run(state)
    state.optimiser.settle()
    learned = snapshot(state)
    seen = learner.validate(state)
    assert all(torch.equal(learned[name], now) for name, now in snapshot(state).items())
    load(state.model, state.average.tensors)
    state.average = None
    assert learner.validate(state) == seen
    load(state.model, learned)
    assert learner.validate(state).scores.loss != seen.scores.loss


@pytest.mark.usefixtures("single_precision")
@pytest.mark.parametrize("mode", ["full", "frozen"])
def test_results_are_in_full_precision_as_the_classifier_will_answer(new_learner, tmp_path, mode):
    learner = new_learner(SETTINGS[mode])
    halved = replace(learner, plan=replace(learner.plan, precision="bf16"))
    state = learner.new_state()
    learner.trainer(lambda state, _: state.step == 3).run(state)
    looks = [one.validate(state).scores.loss for one in (learner, halved)]
    assert looks[0] != looks[1]
    done = Done(folder=tmp_path / "run", num_steps=3, best_step=3, seconds=1.0)
    plain, other = (one.results(state.model, done, never) for one in (learner, halved))
    assert plain["test"] is not None
    assert plain == other


def look(best_by, probabilities, targets=(0, 1, 1)) -> float:
    scores = score_labels(np.array(probabilities), np.array(targets))
    return LabelLook(epoch=1.0, scores=scores, best_by=best_by).total


def test_an_answer_more_is_better_than_any_certainty_and_certainty_breaks_ties():
    sure, unsure = [[0.9, 0.1], [0.1, 0.9], [0.1, 0.9]], [[0.6, 0.4], [0.4, 0.6], [0.4, 0.6]]
    wrong = [[0.9, 0.1], [0.01, 0.99], [1.0, 0.0]]
    for best_by in ("accuracy", "macro-f1"):
        assert look(best_by, sure) < look(best_by, unsure) < look(best_by, wrong)
    assert look("loss", unsure) < look("loss", wrong)


@pytest.mark.parametrize("num_items", [10, 20_000, 1_000_000])
@pytest.mark.parametrize("loss", [30.0, 700.0, float("inf")])
def test_no_loss_outweighs_an_answer_of_however_many(num_items, loss):
    few = score_labels(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1]))

    def total(num_right, loss):
        scores = replace(few, accuracy=num_right / num_items, num_items=num_items, loss=loss)
        return LabelLook(epoch=1.0, scores=scores, best_by="accuracy").total

    num_right = num_items // 2
    assert total(num_right + 1, loss) < total(num_right, 0.0)
    assert total(num_right, 0.3001) < total(num_right, 0.3002) < total(num_right, loss)


def test_patience_counts_epochs_since_the_best(new_learner):
    learner = new_learner(settings(patience=2))
    assert not learner.is_enough(6 * 5, 6 * 4)
    assert learner.is_enough(6 * 6, 6 * 4)
    patient = replace(learner, transfer=replace(learner.transfer, patience=0))
    assert not patient.is_enough(6_000, 0)


def test_no_run_ends_before_the_fewest_steps(new_learner):
    learner = new_learner(settings(patience=1, fewest_steps=60))
    assert learner.num_epochs == 10
    assert [step for step in range(6, 67, 6) if learner.is_enough(step, 6)] == [60, 66]


def test_a_gradual_transfer_is_patient_until_all_of_it_learns(new_learner):
    learner = new_learner(settings("gradual", epochs=10, patience=2))
    assert [step for step in range(6, 61, 6) if learner.is_enough(step, 6)] == [42, 48, 54, 60]
    assert not learner.is_enough(54, 48)


@pytest.mark.parametrize(
    ("changes", "length"),
    [
        ({"precision": "fp32"}, 9),
        ({"precision": "bf16"}, 16),
        ({"precision": "bf16", "device": "cuda"}, 32),
        ({"precision": "bf16", "device": "cuda", "is_deterministic": True}, 9),
    ],
)
def test_rows_are_padded_to_few_lengths_only_where_shapes_cost(new_learner, changes, length):
    learner = new_learner(SETTINGS["full"])
    learner = replace(
        learner,
        plan=replace(learner.plan, **changes),
        train=replace(learner.train, rows=[[[5] * 9], [[5] * 3], [[5] * 47]]),
        recipe=replace(learner.recipe, length=40),
    )
    assert learner.padded_length([0, 1]) == length
    # Never beyond what a recipe reads, unless a row is.
    assert learner.padded_length([2]) == 47
