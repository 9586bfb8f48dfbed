"""A transfer from beginning to end: its folder, its scores, its test, and what it refuses."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import safetensors.torch
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.metrics import accuracy_score, f1_score, log_loss
from tiny_runs import TRANSFERS, label_learner_of
from tiny_transfers import (
    LABELS,
    SETTINGS,
    begun_transfer,
    planted,
    settings,
    tokenizer,
    transferring,
    trunk_recipe,
    write_examples,
    write_rows,
    write_trunk,
)

from headstart.apps.estimator import TextClassifier
from headstart.corpora.leaks import SKETCH_FILE
from headstart.corpora.leaks.normalisation import words
from headstart.corpora.leaks.sketch import Sketcher
from headstart.corpora.leaks.sketch_file import write_sketch
from headstart.errors import DataError, RecipeError, RunError
from headstart.evaluation.calibration import PRIOR_DEVIATION
from headstart.files import read_sealed_json, sha256_of
from headstart.pipeline import label_learner, training_run
from headstart.pipeline.check import check, read_splits
from headstart.pipeline.classifier import load_classifier, probabilities
from headstart.pipeline.comparing.trunks import read_trunk
from headstart.pipeline.examples import ExamplesConfig
from headstart.pipeline.free_folder import BEGUN
from headstart.pipeline.label_learner import LabelLearner
from headstart.pipeline.learner import never
from headstart.pipeline.resume import resume
from headstart.pipeline.resumption import Resumption
from headstart.pipeline.run_files import read_recipe, read_results, write_recipe
from headstart.pipeline.run_folder import load_run, read_weights
from headstart.pipeline.run_log import read_log
from headstart.pipeline.runs import summary
from headstart.pipeline.transfer import begin_transfer, prepare_transfer, read_swap, transfer
from headstart.pipeline.watch import Watch
from headstart.transfers.head_swap import trunk_sha256

# A text long enough for a sketch to know it.
KNOWN = " ".join(f"tale{number} of{number % 13} word{number % 97}" for number in range(300))


@pytest.fixture(autouse=True)
def no_curves(monkeypatch):
    monkeypatch.setattr(training_run, "write_curves", lambda _folder: None)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    folder = write_trunk(tmp_path_factory.mktemp("trunk"))
    sketcher = Sketcher()
    sketcher.see(words(KNOWN))
    write_sketch(folder / SKETCH_FILE, sketcher.sketch())
    return folder


@pytest.fixture(scope="module")
def finished(start, tmp_path_factory):
    """A finished transfer of each mode, over a test with planted copies."""
    home = tmp_path_factory.mktemp("transfers")
    files = write_examples(home / "examples", num_train=48)
    train, valid, test = planted(48, seed=1), planted(18, seed=2), planted(18, seed=3)
    copies = [(f"{text.upper()}!!", label) for text, label in [*train[:4], *valid[:3]]]
    write_rows(home / "examples" / "test.csv", [*test, *copies, (KNOWN, "good")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_run, "write_curves", lambda _folder: None)
        for mode in TRANSFERS:
            transfer(transferring(start, files, SETTINGS[mode]), home / mode)
    return home, files


@pytest.fixture
def stopped(start, tmp_path):
    """A classifier that was stopped after its second epoch."""
    files = write_examples(tmp_path / "other examples")
    folder = begun_transfer(tmp_path / "stopped", start, files, settings())
    assert not resume(folder, Resumption(save_every=1), Watch(should_stop=after(12)))
    return folder


def after(num_calls: int):
    """Says to stop once it has been asked so many times."""
    asked = iter(range(1_000))
    return lambda: next(asked) >= num_calls


@pytest.mark.parametrize("mode", TRANSFERS)
def test_a_finished_transfer_keeps_what_is_needed_to_use_it_and_nothing_else(finished, mode):
    folder = finished[0] / mode
    names = {path.name for path in folder.iterdir()} - {".lock"}
    assert names == {
        "corpus.sketch",
        "examples.json",
        "examples.seen",
        "log.jsonl",
        "manifest.json",
        "recipe.json",
        "results.json",
        "start.json",
        "swap.json",
        "test.safetensors",
        "tokenizer",
        "weights.safetensors",
    }
    files = read_sealed_json(folder / "manifest.json")["files"]
    for name, digest in files.items():
        assert sha256_of(folder / name) == digest, name
    assert summary(folder).state == "finished"
    assert summary(folder).accuracy == read_results(folder)["valid"]["accuracy"]
    assert resume(folder, Resumption(), Watch())


@pytest.mark.parametrize("mode", TRANSFERS)
def test_its_results_are_json_with_every_part_that_is_promised(finished, mode):
    folder = finished[0] / mode

    def refuse(constant):
        raise AssertionError(constant)

    results = json.loads((folder / "results.json").read_text(), parse_constant=refuse)
    assert results.keys() == {
        "steps",
        "epochs",
        "best_step",
        "best_epoch",
        "seconds",
        "temperature",
        "valid",
        "test",
        "parameters",
    }
    learning = 16 * 3 + 3 if mode == "frozen" else results["parameters"]["all"]
    assert results["parameters"]["learning"] == learning
    assert (results["steps"], results["epochs"]) == (60, 5.0)
    assert results["best_epoch"] == results["best_step"] / 12
    for scores, num in ((results["valid"], 18), (results["test"]["full"], 26)):
        assert scores["num_items"] == num == sum(map(sum, scores["confusion"]))
        assert scores["accuracy_low"] <= scores["accuracy"] <= scores["accuracy_high"]
    valid = [row for row in read_log(folder / "log.jsonl") if row["kind"] == "valid"]
    assert [(row["step"], row["epoch"]) for row in valid] == [(12 * n, n) for n in range(1, 6)]


@pytest.mark.parametrize("mode", TRANSFERS)
def test_the_test_holds_what_the_classifier_answers_and_scores_follow_from_it(finished, mode):
    home, files = finished
    folder = home / mode
    kept = safetensors.torch.load_file(folder / "test.safetensors")
    assert {name: (tensor.dtype, tuple(tensor.shape)) for name, tensor in kept.items()} == {
        "probabilities": (torch.float32, (26, 3)),
        "targets": (torch.int64, (26,)),
        "clean": (torch.uint8, (26,)),
    }
    rows = read_splits({"test": files.test}, files.reading(), files.columns())["test"]
    classifier = load_classifier(folder, "cpu")
    assert classifier.temperature == read_results(folder)["temperature"]
    answers = np.array(list(probabilities(classifier, [row.text for row in rows])))
    np.testing.assert_allclose(kept["probabilities"].numpy(), answers, atol=1e-5)
    targets = kept["targets"].numpy()
    assert targets.tolist() == [LABELS.index(row.label) for row in rows]
    is_clean = kept["clean"].numpy().astype(bool)
    for name, chosen in (("full", np.ones(26, bool)), ("clean", is_clean)):
        scores = read_results(folder)["test"][name]
        predicted = answers[chosen].argmax(axis=1)
        assert scores["num_items"] == chosen.sum()
        assert scores["accuracy"] == accuracy_score(targets[chosen], predicted)
        macro = f1_score(
            targets[chosen], predicted, average="macro", labels=[0, 1, 2], zero_division=0
        )
        assert scores["macro_f1"] == pytest.approx(macro)
        loss = log_loss(targets[chosen], answers[chosen], labels=[0, 1, 2])
        assert scores["loss"] == pytest.approx(loss, rel=1e-3)


def test_the_clean_test_is_what_the_leak_guard_finds_without_what_the_trunk_has_read(finished):
    home, files = finished
    names = {"train": files.train, "valid": files.valid, "test": files.test}
    splits = read_splits(names, files.reading(), files.columns())
    found = set(check(splits, None).cleaned["test"].clean)
    kept = safetensors.torch.load_file(home / "full" / "test.safetensors")["clean"].tolist()
    # The last one stands in the sketch of the trunk's text.
    assert {index for index, clean in enumerate(kept) if clean} == found - {25}
    assert kept[18:] == [0] * 8
    assert 25 in found


def test_the_trunk_of_a_frozen_classifier_is_the_run_it_came_from(finished, start):
    weights = load_run(finished[0] / "frozen", "cpu").model.state_dict()
    original = safetensors.torch.load_file(start / "weights.safetensors")
    for name in original:
        if name.startswith("trunk."):
            assert torch.equal(weights[name], original[name]), name
    swap = read_swap(finished[0] / "frozen")
    assert swap["loaded_sha256"] == trunk_sha256(original) == trunk_sha256(weights)
    assert (
        trunk_sha256(load_run(finished[0] / "full", "cpu").model.state_dict())
        != (swap["loaded_sha256"])
    )


@pytest.mark.parametrize("mode", TRANSFERS)
def test_the_temperature_is_the_one_that_explains_the_validation_examples_best(finished, mode):
    home, files = finished
    rows = read_splits({"valid": files.valid}, files.reading(), files.columns())["valid"]
    classifier = load_classifier(home / mode, "cpu")
    plain = probabilities(replace(classifier, temperature=1.0), [row.text for row in rows])
    logits, targets = (
        np.log(np.array(list(plain), float)),
        [LABELS.index(row.label) for row in rows],
    )

    def loss(log_temperature):
        log_probability = log_softmax(logits / np.exp(log_temperature), axis=1)
        return -log_probability[np.arange(len(targets)), targets].mean()

    def criterion(log_temperature):
        prior = (log_temperature / PRIOR_DEVIATION) ** 2 / 2
        return loss(log_temperature) + prior / len(targets)

    best = minimize_scalar(criterion, bounds=(np.log(0.05), np.log(20)), method="bounded")
    seen = read_results(home / mode)
    assert criterion(np.log(seen["temperature"])) == pytest.approx(best.fun, abs=1e-4)
    assert seen["valid"]["loss"] == pytest.approx(loss(best.x), abs=1e-3)


def test_the_test_is_scored_once_and_never_looked_at_before(start, tmp_path, monkeypatch):
    files, calls = write_examples(tmp_path / "examples"), []
    scored = LabelLearner.test_scores

    def counted(learner, model, folder, *arguments):
        calls.append(sum(row["kind"] == "valid" for row in read_log(folder / "log.jsonl")))
        return scored(learner, model, folder, *arguments)

    monkeypatch.setattr(LabelLearner, "test_scores", counted)
    transfer(transferring(start, files, settings(epochs=2)), tmp_path / "run")
    assert calls == [2]


def test_a_trunk_whose_run_is_not_finished_is_taken_as_far_as_it_is(stopped, tmp_path):
    files = write_examples(tmp_path)
    # A run is known for a classifier by its recipe alone, and only its trunk is read.
    write_recipe(stopped, replace(read_recipe(stopped), transfer=None))
    folder = begun_transfer(tmp_path / "run", stopped, files, settings(epochs=1))
    original = {n: t for n, t in read_weights(stopped).items() if n.startswith("trunk.")}
    assert read_swap(folder)["loaded_sha256"] == trunk_sha256(original)
    assert resume(folder, Resumption(), Watch())


def test_a_test_of_which_nothing_is_clean_has_no_clean_scores(start, tmp_path):
    files = write_examples(tmp_path)
    shutil.copyfile(files.train, files.test)
    transfer(transferring(start, files, settings(epochs=1)), tmp_path / "run")
    test = read_results(tmp_path / "run")["test"]
    assert test["clean"] is None
    assert test["full"]["num_items"] == 24


def test_without_a_test_there_are_no_scores_of_one(start, tmp_path):
    files = replace(write_examples(tmp_path), test=None)
    transfer(transferring(start, files, settings(epochs=1)), tmp_path / "run")
    assert read_results(tmp_path / "run")["test"] is None
    assert not (tmp_path / "run" / "test.safetensors").exists()


@pytest.mark.parametrize("num_labels", [2, 7])
def test_any_number_of_labels_is_learned_cold_too(tmp_path, num_labels):
    labels = [str(number + 8) for number in range(num_labels)]
    path = write_rows(tmp_path / "train.csv", planted(20 * num_labels, labels))
    wanted = transferring(None, ExamplesConfig(train=str(path)), settings(epochs=1))
    run = transfer(wanted, tmp_path / "run")
    assert run.recipe.transfer.labels == tuple(labels)
    assert not run.recipe.transfer.is_warm
    assert read_swap(tmp_path / "run") is None
    assert not (tmp_path / "run" / "start.json").exists()
    assert np.shape(read_results(tmp_path / "run")["valid"]["confusion"]) == (num_labels,) * 2


def test_windows_are_learned_from_and_used(start, tmp_path):
    files = write_examples(tmp_path)
    rows = [(" ".join([text] * 5), label) for text, label in planted(24)]
    write_rows(tmp_path / "train.csv", rows)
    how = settings(epochs=1, long_texts="windows", length=16)
    folder = begun_transfer(tmp_path / "run", start, files, how)
    learner = label_learner_of(folder)
    assert max(map(len, learner.train.rows)) > 2
    assert max(learner.train.lengths) == 16
    assert resume(folder, Resumption(), Watch())
    assert load_run(folder, "cpu").recipe.transfer.long_texts == "windows"


def test_fresh_layers_are_drawn_and_said_to_be_new(start, tmp_path):
    files = write_examples(tmp_path)
    folder = begun_transfer(tmp_path / "run", start, files, settings(num_fresh_layers=1))
    fates = {row["name"]: row["fate"] for row in read_swap(folder)["tensors"]}
    assert {name for name, fate in fates.items() if fate == "new"} == {
        name for name in fates if name.startswith(("trunk.layers.1.", "head."))
    }
    with pytest.raises(RecipeError, match="layers to begin anew are 3, but the trunk has 2"):
        begun_transfer(tmp_path / "more", start, files, settings(num_fresh_layers=3))


def test_a_classifier_is_no_start_wherever_one_is_named(finished, tmp_path):
    home, files = finished
    said = f"{home / 'full'} is a classifier already. Name the run that its trunk came from."
    for ask in (
        lambda: begin_transfer(transferring(home / "full", files), tmp_path / "run", Watch()),
        lambda: read_trunk(home / "full", "full"),
        lambda: TextClassifier(home / "full").fit(["one", "two"], ["good", "bad"]),
    ):
        with pytest.raises(RecipeError) as caught:
            ask()
        assert str(caught.value) == said
    assert not (tmp_path / "run").exists()


def test_fresh_layers_of_a_cold_start_are_refused(tmp_path):
    files = write_examples(tmp_path)
    with pytest.raises(RecipeError, match="layers to begin anew are 1, but the trunk is cold"):
        begun_transfer(tmp_path / "run", None, files, settings(num_fresh_layers=1))


def test_a_length_beyond_the_trunks_positions_is_refused_and_the_last_one_kept(start, tmp_path):
    files = write_examples(tmp_path)
    longest = read_recipe(start).model.trunk.max_length
    folder = begun_transfer(tmp_path / "run", start, files, settings(length=longest))
    assert read_recipe(folder).length == longest
    with pytest.raises(RecipeError, match=rf"A length of {longest + 1:,} .* 1 to {longest:,}\."):
        begun_transfer(tmp_path / "more", start, files, settings(length=longest + 1))
    assert not (tmp_path / "more" / "recipe.json").exists()


def test_a_trunk_of_another_kind_is_refused_before_there_is_a_run(tmp_path):
    files = write_examples(tmp_path)
    wide = write_trunk(tmp_path / "wide", trunk_recipe(width=32))
    with pytest.raises(RunError, match=r"^The tensor trunk\.\S+ is .* in the run, but this recipe"):
        begun_transfer(tmp_path / "run", wide, files, settings())
    assert not (tmp_path / "run" / "recipe.json").exists()


def interrupted(*_arguments):
    raise KeyboardInterrupt


def test_an_attempt_that_came_to_nothing_leaves_nothing_to_the_next(start, tmp_path, monkeypatch):
    files, folder = write_examples(tmp_path / "examples"), tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(LabelLearner, "new_model", interrupted)
        with pytest.raises(KeyboardInterrupt):
            begun_transfer(folder, start, files, settings())
        assert not folder.exists()
        # A process that is killed takes nothing back.
        with pytest.raises(KeyboardInterrupt):
            prepare_transfer(transferring(start, files, settings()), folder, Watch(), never)
    (folder / BEGUN).touch()
    assert (folder / SKETCH_FILE).exists()
    begun_transfer(folder, None, files, settings())
    assert not (folder / SKETCH_FILE).exists()
    assert not read_recipe(folder).transfer.is_warm
    assert resume(folder, Resumption(), Watch())


def test_a_folder_that_holds_a_run_is_left_alone(finished, start):
    home, files = finished
    with pytest.raises(RunError, match="holds a run already"):
        begin_transfer(transferring(start, files), home / "full", Watch())


@pytest.mark.parametrize("moment", ["before", "half"])
def test_a_kill_between_the_end_and_the_tidying_is_made_up_for(
    start, tmp_path, monkeypatch, moment
):
    folder = begun_transfer(
        tmp_path / "run", start, write_examples(tmp_path / "examples"), settings(epochs=1)
    )

    def killed(*_arguments):
        if moment == "half":
            (folder / "checkpoints").rename(folder / ".0123456789abcdef.part")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(label_learner, "remove_folder", killed)
        with pytest.raises(KeyboardInterrupt):
            resume(folder, Resumption(save_every=1), Watch())
    assert (folder / "start.safetensors").exists()
    assert resume(folder, Resumption(), Watch())
    left = {path.name for path in folder.rglob("*")}
    assert not left & {"checkpoints", "start.safetensors", ".0123456789abcdef.part"}


def test_the_best_epoch_is_kept_and_patience_ends_a_run_after_it(start, tmp_path, monkeypatch):
    totals = iter([0.5, 0.3, 0.4, 0.3, 0.35, 0.1])
    validate = LabelLearner.validate
    seen = {}

    def scripted(learner, state, *arguments):
        look = validate(learner, state, *arguments)
        seen[state.step] = {n: w.detach().clone() for n, w in state.model.named_parameters()}
        scores = replace(look.scores, loss=next(totals))
        return replace(look, scores=scores, best_by="loss")

    monkeypatch.setattr(LabelLearner, "validate", scripted)
    folder, files = tmp_path / "run", write_examples(tmp_path / "examples")
    how = settings(epochs=20, patience=3, best_by="loss")
    transfer(transferring(start, files, how), folder)
    results = read_results(folder)
    # The second epoch is the best; the fourth is as good, but later, and the fifth is the third
    # without a better one.
    assert (results["best_epoch"], results["epochs"], results["steps"]) == (2.0, 5.0, 30)
    weights = load_run(folder, "cpu").model.state_dict()
    assert all(torch.equal(weights[name], tensor) for name, tensor in seen[12].items())
    assert resume(folder, Resumption(), Watch())
    assert len(seen) == 5


def test_averaged_epochs_are_the_mean_of_the_best(start, tmp_path, monkeypatch):
    totals, seen = iter([0.5, 0.3, 0.4, 0.6, 0.35]), {}
    validate = LabelLearner.validate

    def scripted(learner, state, *arguments):
        look = validate(learner, state, *arguments)
        seen[state.step] = {n: w.detach().clone() for n, w in state.model.named_parameters()}
        return replace(look, scores=replace(look.scores, loss=next(totals)), best_by="loss")

    monkeypatch.setattr(LabelLearner, "validate", scripted)
    how = settings(epochs=5, best_by="loss", num_averaged=3)
    files = write_examples(tmp_path / "examples")
    run = transfer(transferring(start, files, how), tmp_path / "run")
    for name, weights in run.model.named_parameters():
        mean = (seen[12][name] + seen[18][name] + seen[30][name]) / 3
        torch.testing.assert_close(weights.detach(), mean, rtol=1e-5, atol=1e-7)


def test_files_that_changed_are_refused_unless_that_is_forced(start, tmp_path):
    files = write_examples(tmp_path / "examples")
    folder = begun_transfer(tmp_path / "run", start, files, settings(epochs=1))
    write_rows(tmp_path / "examples" / "valid.csv", planted(18, seed=7))
    with pytest.raises(RunError, match=r"valid\.csv changed since the run began\. Restore"):
        resume(folder, Resumption(), Watch())
    said = []
    assert resume(folder, Resumption(is_forced=True), Watch(say=said.append))
    assert "valid.csv changed since the run began; going on" in said[0]


def test_forced_files_with_another_label_are_refused_with_its_place(start, tmp_path):
    files = write_examples(tmp_path / "examples")
    folder = begun_transfer(tmp_path / "run", start, files, settings(epochs=1))
    write_rows(tmp_path / "examples" / "train.csv", [*planted(24), ("odd", "superb")])
    with pytest.raises(DataError, match=r"train\.csv.*'superb' is none of"):
        resume(folder, Resumption(is_forced=True), Watch())


def test_the_tokenizer_of_a_cold_start_is_that_of_the_training_texts_or_a_given_one(
    start, tmp_path
):
    files = write_examples(tmp_path)
    given = replace(transferring(None, files), tokenizer=start / "tokenizer")
    begin_transfer(given, tmp_path / "run", Watch())
    assert read_recipe(tmp_path / "run").model.trunk.vocabulary_size == tokenizer().size


@pytest.mark.gpu
@pytest.mark.parametrize(
    "how",
    [
        *SETTINGS.values(),
        settings("full", length=8, long_texts="windows"),
        settings("gradual", epochs=8),
        settings("frozen", length=8, long_texts="windows", dropout=0.0),
    ],
)
def test_a_gpu_transfers_what_a_processor_then_answers(start, tmp_path, how):
    files = write_examples(tmp_path / "examples", num_train=96)
    wanted = transferring(start, files, how)
    folder = tmp_path / "run"
    transfer(replace(wanted, place=replace(wanted.place, device="cuda")), folder)
    kept = safetensors.torch.load_file(folder / "test.safetensors")["probabilities"].numpy()
    texts = [text for text, _ in planted(18, seed=3)]
    answered = np.stack(list(probabilities(load_classifier(folder, "cpu"), texts)))
    # Products on a GPU are rounded to fewer digits.
    np.testing.assert_allclose(answered, kept, atol=0.01)
