"""Text to trunk: runs begin whole or not at all, and go on from one another."""

import json
import os
import shutil
from dataclasses import replace

import pytest
import torch

from headstart.apps.recipes.base import base
from headstart.errors import DataError, RecipeError, RunError
from headstart.locks import locked
from headstart.pipeline import planning, training_run
from headstart.pipeline.corpus_stores import CorpusConfig
from headstart.pipeline.free_folder import BEGUN
from headstart.pipeline.planning import Budget, Place
from headstart.pipeline.pretrain import Pretraining, begin, pretrain, resume_run
from headstart.pipeline.resumption import Resumption
from headstart.pipeline.run_files import read_recipe, read_results
from headstart.pipeline.run_folder import load_run, read_weights
from headstart.pipeline.run_log import read_log
from headstart.pipeline.watch import Watch
from headstart.tokenizers.folder import save_tokenizer
from headstart.training.loop import Trainer

OBJECTIVES = ("causal", "masked", "masked+next")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Leaves out flushing and drawing, which others test and which take most of a short run."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    monkeypatch.setattr(training_run, "write_curves", lambda _folder: None)


@pytest.fixture
def corpus(toy, tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(toy.documents(200)) + "\n")
    return path


@pytest.fixture
def wanted(toy, corpus, tmp_path):
    """Makes the wish for a run of three steps with the toy's tokenizer."""
    save_tokenizer(toy.tokenizer, tmp_path / "tokenizer")

    def make(objective="causal", path=corpus, **changes) -> Pretraining:
        recipe = toy.recipe(objective)
        recipe = replace(recipe, learning=replace(recipe.learning, peak_rate=0.01))
        made = Pretraining(
            recipe=recipe,
            corpus=CorpusConfig(corpus=(str(path),)),
            budget=Budget(num_steps=3),
            place=Place(device="cpu", num_threads=1),
            tokenizer=tmp_path / "tokenizer",
        )
        return replace(made, **changes)

    return make


def begin_and_stop(wish, folder, watch) -> None:
    """Begins a run and leaves it where it was told to stop."""
    with locked(folder):
        begin(wish, folder, watch)
        assert not resume_run(folder, Resumption(), watch)


def logged(folder, kind):
    return [row for row in read_log(folder / "log.jsonl") if row["kind"] == kind]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_run_has_all_that_is_needed_to_use_it(wanted, objective, tmp_path):
    folder = tmp_path / "run"
    run = pretrain(wanted(objective), folder)
    results = read_results(folder)
    assert results["steps"] == 3
    rows = logged(folder, "step")
    assert [row["step"] for row in rows] == [1, 2, 3]
    parts = ["pieces", "next"] if objective == "masked+next" else ["pieces"]
    for row in rows:
        assert list(row["parts"]) == parts
        assert row["loss"] == pytest.approx(sum(row["parts"].values()))
    valid = logged(folder, "valid")
    best = min(valid, key=lambda row: row["total"])
    assert results["best_step"] == best["step"]
    assert results["held_out"]["total"] == pytest.approx(best["total"], rel=1e-6)
    assert (results["held_out"]["next_accuracy"] is None) == (objective != "masked+next")
    again = load_run(folder, "cpu")
    assert again.recipe == run.recipe
    for one, other in zip(run.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(one, other)
    for name in ("manifest.json", "corpus.json", "corpus.sketch"):
        assert (folder / name).stat().st_size > 0


@pytest.mark.parametrize("stop_at", [None, 5])
def test_a_run_whose_steps_are_read_late_is_the_same_run(
    wanted, recorded_on_a_processor, monkeypatch, tmp_path, stop_at
):
    ahead, plain = tmp_path / "ahead", tmp_path / "plain"
    wish = wanted(budget=Budget(num_steps=25))
    shown = []

    def stopping(progress):
        shown.append(progress.step)

    watch = Watch(show=stopping, should_stop=lambda: stop_at is not None and stop_at in shown)
    if stop_at is not None:
        begin_and_stop(wish, ahead, watch)
        # One step is under way when someone says stop, and is the last.
        assert shown[-1] == stop_at + 1
        resume_run(ahead, Resumption(), Watch())
    else:
        pretrain(wish, ahead, watch)
        assert shown == list(range(1, 26))
    assert recorded_on_a_processor
    monkeypatch.setattr(Trainer, "runs_ahead", lambda *_: False)
    pretrain(wish, plain)
    one, other = read_weights(ahead), read_weights(plain)
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert rows_without_times(ahead) == rows_without_times(plain)


def rows_without_times(folder):
    times = {"seconds", "tokens_per_second"}
    rows = read_log(folder / "log.jsonl")
    return [{key: row[key] for key in row if key not in times} for row in rows]


def test_the_same_wish_gives_the_same_weights_and_another_seed_others(wanted, tmp_path):
    folders = [tmp_path / name for name in ("one", "again", "other")]
    for folder, seed in zip(folders, (0, 0, 1), strict=True):
        pretrain(wanted(place=Place(device="cpu", num_threads=1, seed=seed)), folder)
    one, again, other = map(read_weights, folders)
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_a_run_that_goes_on_from_another_begins_with_its_weights(wanted, corpus, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    pretrain(wanted(), first)
    # The same text and the same seed: what the other run scores is what this one begins with.
    lower = replace(read_recipe(first), plan=None)
    lower = replace(lower, learning=replace(lower.learning, peak_rate=1e-12))
    pretrain(wanted(recipe=lower, start=first, tokenizer=None, budget=Budget(num_steps=1)), second)
    best = read_results(first)["held_out"]
    begun = logged(second, "valid")[0]
    assert begun["loss"] == pytest.approx(best["loss"], rel=1e-6)
    # Weights were taken along at the beginning; the other run is needed no more.
    shutil.rmtree(first)
    assert resume_run(second, Resumption(), Watch())


def test_a_start_that_was_left_by_an_attempt_is_not_taken_up(wanted, tmp_path):
    first, second, fresh = (tmp_path / name for name in ("first", "second", "fresh"))
    pretrain(wanted(), first)
    pretrain(wanted(recipe=replace(read_recipe(first), plan=None), start=first), second)
    shutil.rmtree(second / "checkpoints")
    for path in list(second.iterdir()):
        if path.is_file() and not path.name.startswith("start."):
            path.unlink()
    (second / BEGUN).touch()
    pretrain(wanted(), second)
    pretrain(wanted(), fresh)
    one, other = read_weights(second), read_weights(fresh)
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_folder_that_is_a_run_is_refused(wanted, tmp_path):
    pretrain(wanted(), tmp_path / "run")
    before = read_weights(tmp_path / "run")
    with pytest.raises(RunError, match="holds a run already"):
        pretrain(wanted(place=Place(device="cpu", seed=9)), tmp_path / "run")
    after = read_weights(tmp_path / "run")
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_recipe_that_text_does_not_teach_is_refused(wanted, tmp_path):
    with pytest.raises(RecipeError, match="base has the objective translation"):
        pretrain(wanted(recipe=base()), tmp_path / "run")


@pytest.mark.parametrize(
    ("objective", "documents", "told"),
    [
        ("causal", (40, (1, 1)), "too few for one step"),
        ("masked+next", (200, (1, 1)), "has two sentences"),
        ("masked+next", (9, (2, 2)), "pairs of sentences, too few for one step"),
    ],
)
@pytest.mark.parametrize("budget", [Budget(num_steps=3), Budget(minutes=0.01)])
def test_too_little_text_leaves_no_run_behind_and_the_folder_free(
    toy, wanted, tmp_path, objective, documents, told, budget
):
    count, sentences = documents
    path, valid = tmp_path / "little.txt", tmp_path / "valid.txt"
    path.write_text("\n".join(toy.documents(count, sentences=sentences)) + "\n")
    valid.write_text("\n".join(toy.documents(20, seed=3)) + "\n")
    recipe = toy.recipe(objective, sequences_per_step=16)
    corpus = CorpusConfig(corpus=(str(path),), valid=(str(valid),))
    with pytest.raises(DataError, match=told):
        pretrain(wanted(objective, recipe=recipe, corpus=corpus, budget=budget), tmp_path / "run")
    assert not (tmp_path / "run" / "recipe.json").exists()
    pretrain(wanted(), tmp_path / "run")


def test_held_out_text_without_pairs_is_refused_before_the_first_step(
    toy, wanted, corpus, tmp_path
):
    valid = tmp_path / "valid.txt"
    valid.write_text("\n".join(toy.documents(20, seed=3, sentences=(1, 1))) + "\n")
    config = CorpusConfig(corpus=(str(corpus),), valid=(str(valid),))
    with pytest.raises(DataError, match=r"In the held-out text: .*two sentences.*--valid"):
        pretrain(wanted("masked+next", corpus=config), tmp_path / "run")
    assert not (tmp_path / "run" / "recipe.json").exists()


def test_a_budget_in_minutes_is_frozen_as_steps(wanted, tmp_path, monkeypatch):
    monkeypatch.setattr(planning, "num_steps_in", lambda *_asked: 4)
    pretrain(wanted(budget=Budget(minutes=2.0)), tmp_path / "run")
    recipe = json.loads((tmp_path / "run" / "recipe.json").read_text())
    assert recipe["plan"]["num_steps"] == 4
    assert read_results(tmp_path / "run")["steps"] == 4


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_averaged_weights_are_the_ones_that_are_scored_and_kept(wanted, objective, tmp_path):
    made = wanted(objective)
    learning = replace(made.recipe.learning, average_decay=0.999)
    folder = tmp_path / "run"
    run = pretrain(replace(made, recipe=replace(made.recipe, learning=learning)), folder)
    plain = pretrain(made, tmp_path / "plain")
    differences = [
        not torch.equal(one, other)
        for one, other in zip(run.model.parameters(), plain.model.parameters(), strict=True)
    ]
    assert any(differences)
    best = min(logged(folder, "valid"), key=lambda row: row["total"])
    assert read_results(folder)["held_out"]["total"] == pytest.approx(best["total"], rel=1e-6)


def test_a_run_of_text_that_another_had_encoded_goes_on_when_the_cache_is_gone(
    wanted, corpus, cache, tmp_path
):
    pretrain(wanted(), tmp_path / "first")
    moved = tmp_path / "moved.txt"
    shutil.copyfile(corpus, moved)
    stops = iter([False, True])
    second = tmp_path / "second"
    begin_and_stop(wanted(path=moved), second, Watch(should_stop=lambda: next(stops, False)))
    shutil.rmtree(cache)
    assert resume_run(second, Resumption(), Watch())


def test_changed_text_is_an_error_unless_it_is_forced(wanted, corpus, tmp_path):
    stops, folder = iter([True]), tmp_path / "run"
    begin_and_stop(wanted(), folder, Watch(should_stop=lambda: next(stops, False)))
    corpus.write_text(corpus.read_text() + "The ship leaves. The river crosses.\n")
    with pytest.raises(RunError, match=r"corpus.txt changed since the run began.*--force"):
        resume_run(folder, Resumption(), Watch())
    said = []
    assert resume_run(folder, Resumption(is_forced=True), Watch(say=said.append))
    assert any("corpus.txt changed" in line for line in said)
