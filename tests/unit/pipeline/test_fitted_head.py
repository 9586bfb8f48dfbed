"""A warm transfer begins with a fitted head, the same from every seed, and is fitted once."""

import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from tiny_runs import label_learner_of
from tiny_transfers import (
    LABELS,
    planted,
    settings,
    transferring,
    trunk_recipe,
    write_examples,
    write_rows,
    write_trunk,
)

from headstart.apps.estimator import TextClassifier
from headstart.errors import RecipeError
from headstart.pipeline import fitted_head, training_run
from headstart.pipeline.examples import ExamplesConfig
from headstart.pipeline.resume import resume
from headstart.pipeline.resumption import Resumption
from headstart.pipeline.run_folder import read_start, read_weights
from headstart.pipeline.text_vectors import text_vectors
from headstart.pipeline.transfer import begin_transfer, read_swap
from headstart.pipeline.watch import Watch
from headstart.transfers.head_fit import STRENGTHS

HEAD = ("head.output.weight", "head.output.bias")


@pytest.fixture(autouse=True)
def no_curves(monkeypatch):
    monkeypatch.setattr(training_run, "write_curves", lambda _folder: None)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    return write_trunk(tmp_path_factory.mktemp("trunk"))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_examples(tmp_path_factory.mktemp("examples"), num_train=48)


def begun(folder, start, files, how=None, seed=0, said=None):
    """Makes the folder of a transfer that has done no step, by default with a fitted head."""
    how = how or settings(fits_head=True)
    tell = [].append if said is None else said.append
    begin_transfer(transferring(start, files, how, seed), folder, Watch(say=tell))
    return folder


def fates_in(folder):
    return {row["name"]: row["fate"] for row in read_swap(folder)["tensors"]}


@pytest.mark.parametrize("mode", ["full", "gradual", "frozen"])
def test_the_first_head_is_the_same_from_every_seed(start, files, tmp_path, mode):
    how = settings(mode, fits_head=True)
    said = []
    folders = [begun(tmp_path / f"{seed}", start, files, how, seed, said) for seed in (0, 7)]
    assert said == ["Fitting the head to the trunk on 48 examples."] * 2
    starts = [read_start(folder) for folder in folders]
    for name in HEAD:
        assert torch.equal(starts[0][name], starts[1][name])
        assert starts[0][name].any()
    models = [label_learner_of(folder).new_state().model for folder in folders]
    for model in models:
        assert all(torch.equal(model.get_parameter(name), starts[0][name]) for name in HEAD)
    # What is drawn is another one from each seed.
    how = settings(mode, fits_head=False)
    drawn = [begun(tmp_path / f"drawn{seed}", start, files, how, seed) for seed in (0, 7)]
    assert not any(name in read_start(folder) for folder in drawn for name in HEAD)
    weights = [label_learner_of(folder).new_state().model.head.output.weight for folder in drawn]
    assert not torch.equal(*weights)


def test_the_swap_calls_the_head_fitted_and_the_trunk_loaded(start, files, tmp_path):
    fates = fates_in(begun(tmp_path / "fitted", start, files))
    assert {name for name, fate in fates.items() if fate == "fitted"} == set(HEAD)
    assert {fate for name, fate in fates.items() if name not in HEAD} == {"loaded"}
    fates = fates_in(begun(tmp_path / "drawn", start, files, settings(fits_head=False)))
    assert {name for name, fate in fates.items() if fate == "new"} == set(HEAD)


@pytest.mark.usefixtures("single_precision")
def test_the_first_head_is_a_logistic_regression_on_the_vectors_of_the_trunk(
    start, files, tmp_path
):
    learner = label_learner_of(begun(tmp_path / "run", start, files))
    model = learner.new_state().model.eval()
    train, valid = (text_vectors(model, split.rows) for split in (learner.train, learner.valid))
    with torch.inference_mode():
        ours = model.head.output(valid).softmax(-1).numpy()
    mean, spread = train.double().mean(0), train.double().std(0, correction=0)
    scaled, asked = ((each.double() - mean) / spread for each in (train, valid))

    def oracle(strength: float):
        """Returns the answers of a regression that is held as strongly near 0."""
        regression = LogisticRegression(C=train.shape[1] / (strength * len(train)), max_iter=10_000)
        return regression.fit(scaled, learner.train.targets).predict_proba(asked)

    answers = [oracle(strength) for strength in STRENGTHS]
    losses = [log_loss(learner.valid.targets, each) for each in answers]
    assert ours == pytest.approx(answers[losses.index(min(losses))], abs=1e-2)


def test_a_resumed_run_does_not_fit_again_and_ends_with_the_same_weights(
    start, files, tmp_path, monkeypatch
):
    whole, cut = (begun(tmp_path / name, start, files) for name in ("whole", "cut"))

    def refuse(*_):
        raise AssertionError("fitted again")

    monkeypatch.setattr(fitted_head, "fit_head", refuse)
    assert resume(whole, Resumption(), Watch())
    # Stopped before its first step, as a kill right behind the beginning would have it.
    assert not resume(cut, Resumption(save_every=1), Watch(should_stop=lambda: True))
    assert not resume(cut, Resumption(save_every=1), Watch(should_stop=after(7)))
    assert resume(cut, Resumption(), Watch())
    first, second = read_weights(whole), read_weights(cut)
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def after(num_calls: int):
    """Says to stop once it has been asked so many times."""
    asked = iter(range(1_000))
    return lambda: next(asked) >= num_calls


def test_a_label_with_one_example_and_one_that_is_not_validated_are_no_trouble(start, tmp_path):
    rows = [*planted(30, LABELS[:2], seed=1), ("the film was sweet and kind", "lone")]
    train = write_rows(tmp_path / "train.csv", rows)
    valid = write_rows(tmp_path / "valid.csv", planted(12, LABELS[:2], seed=2))
    files = ExamplesConfig(train=str(train), valid=str(valid))
    folder = begun(tmp_path / "run", start, files, settings(fits_head=True, weighs_labels=True))
    head = read_start(folder)
    assert head["head.output.weight"].shape == (3, 16)
    assert all(head[name].isfinite().all() for name in HEAD)
    assert resume(folder, Resumption(), Watch())


def test_a_cold_start_has_nothing_to_fit_a_head_to(files, tmp_path):
    with pytest.raises(RecipeError) as caught:
        begun(tmp_path / "run", None, files)
    assert str(caught.value) == (
        "The head is to be fitted, but the trunk is cold and knows nothing yet that it could be "
        "fitted to. Name a run with --from, or leave --fit-head out."
    )
    assert not (tmp_path / "run" / "recipe.json").exists()


def test_fresh_layers_have_no_vectors_to_fit_a_head_to():
    with pytest.raises(RecipeError, match="to be fitted, but the layers to begin anew are 2"):
        settings(fits_head=True, num_fresh_layers=2)


def test_a_cold_gradual_start_draws_its_head_without_being_told():
    texts = [text for text, _ in planted(24)]
    labels = [label for _, label in planted(24)]
    classifier = TextClassifier(
        pretrained=None, recipe=trunk_recipe(), mode="gradual", epochs=1, device="cpu"
    )
    assert set(classifier.fit(texts, labels).classes_) == set(LABELS)
