"""A run held against any text, also beyond the length it was trained at."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from headstart.errors import DataError, RunError
from headstart.models.inputs import Text
from headstart.objectives.batch import to_batch
from headstart.objectives.objective import StepRows
from headstart.pipeline.corpus_stores import CorpusConfig
from headstart.pipeline.evaluate import (
    evaluate_language,
    lengths_to_try,
    one_text_rows,
    write_position_figure,
)
from headstart.pipeline.run_folder import Run
from headstart.pipeline.watch import Watch


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def text(toy, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(toy.documents(40)) + "\n")
    return CorpusConfig(corpus=(str(path),))


def run_of(toy, name, tmp_path, **changes) -> Run:
    recipe = replace(toy.recipe(name), **changes)
    return Run(tmp_path / "run", recipe, toy.tokenizer, toy.model(name))


def evaluated(run, text):
    return evaluate_language(run, text, "cpu", 1, Watch())


@torch.no_grad()
def test_scores_are_over_all_of_the_text(toy, text, tmp_path):
    run = run_of(toy, "causal", tmp_path)
    seen = evaluated(run, text)
    lines = (tmp_path / "text.txt").read_text().splitlines()
    store = toy.store(lines)
    assert seen.scores.num_pieces == store.num_tokens - 1
    objective = toy.objective("causal")
    nats = 0.0
    for rows in objective.held_out_rows(store, StepRows(length=48, sequences=1, seed=9)):
        nats += objective.loss(run.model, to_batch(rows, "cpu"))["pieces"].item()
    assert seen.scores.loss == pytest.approx(nats / (store.num_tokens - 1), rel=1e-5)
    bits = seen.scores.loss * store.num_tokens / math.log(2) / sum(map(len, lines))
    assert seen.scores.bits_per_byte == pytest.approx(bits, rel=1e-6)


@pytest.mark.parametrize("name", ["causal", "masked"])
def test_one_two_and_four_times_the_trained_length_are_tried(toy, text, tmp_path, name):
    seen = evaluated(run_of(toy, name, tmp_path), text)
    assert seen.trained_length == 48
    assert [row.length for row in seen.by_position] == [48, 96, 192]
    assert seen.beyond == ""
    for row in seen.by_position:
        assert row.places == tuple(sorted(row.places))
        assert row.places[-1] < row.length
        assert math.isfinite(row.loss)


@torch.no_grad()
def test_by_position_every_piece_has_all_the_text_of_its_row_before_it(toy, text, tmp_path):
    run = run_of(toy, "causal", tmp_path)
    store = toy.store((tmp_path / "text.txt").read_text().splitlines())
    rows = list(one_text_rows(toy.objective("causal"), store, 96, "cpu"))
    assert all(batch.text.document_BT is None for batch in rows)
    assert all(batch.text.tokens_BT.shape[1] == 96 for batch in rows)
    losses = np.zeros(96)
    count = 0
    for batch in rows:
        for row, wanted in zip(
            batch.text.tokens_BT, batch.target_M.view_as(batch.text.tokens_BT), strict=True
        ):
            scores = run.model(Text(row[None]))[0].log_softmax(-1)
            losses -= scores.gather(1, wanted[:, None])[:, 0].double().numpy()
            count += 1
    (seen,) = [row for row in evaluated(run, text).by_position if row.length == 96]
    assert seen.loss == pytest.approx(losses.mean() / count, rel=1e-5)
    starts = sorted({number * 96 // 32 for number in range(32)})
    expected = np.add.reduceat(losses, starts) / np.diff([*starts, 96]) / count
    assert seen.losses == pytest.approx(expected.tolist(), rel=1e-5)


def test_positions_that_end_are_not_gone_beyond(toy, text, tmp_path):
    recipe = toy.recipe("causal")
    trunk = replace(recipe.model.trunk, positions="learned", max_length=100)
    run = run_of(toy, "causal", tmp_path, model=replace(recipe.model, trunk=trunk))
    store = toy.store(toy.documents(40))
    assert lengths_to_try(run, store) == ([48, 96], "The learned positions end at 100.")


def test_a_text_too_short_for_longer_ones_says_so(toy, tmp_path):
    run = run_of(toy, "causal", tmp_path)
    for count in (1, 2, 3):
        store = toy.store(toy.documents(count))
        lengths, why = lengths_to_try(run, store)
        assert lengths == [length for length in (48, 96, 192) if length < store.num_tokens]
        assert why == f"The text has {store.num_tokens} pieces, too few for longer ones."


def test_pairs_are_scored_by_both_questions_and_not_by_position(toy, text, tmp_path):
    seen = evaluated(run_of(toy, "masked+next", tmp_path), text)
    assert seen.by_position == ()
    assert "Pairs of sentences" in seen.beyond
    assert 0 <= seen.scores.next_accuracy <= 1
    assert seen.scores.num_pairs > 40


def test_text_without_pairs_is_answered_in_a_sentence(toy, tmp_path):
    path = tmp_path / "single.txt"
    path.write_text("\n".join(toy.documents(20, sentences=(1, 1))) + "\n")
    with pytest.raises(DataError, match="two sentences"):
        evaluated(run_of(toy, "masked+next", tmp_path), CorpusConfig(corpus=(str(path),)))


def test_a_run_that_was_trained_for_something_else_is_refused(toy, text, tmp_path):
    run = run_of(toy, "causal", tmp_path)
    object.__setattr__(run.recipe, "objective", "translation")
    with pytest.raises(RunError, match="translation"):
        evaluated(run, text)


def test_the_same_text_gives_the_same_scores_each_time(toy, text, tmp_path):
    run = run_of(toy, "masked", tmp_path)
    assert evaluated(run, text) == evaluated(run, text)


def test_the_loss_by_position_becomes_two_files(toy, text, tmp_path):
    run = run_of(toy, "causal", tmp_path)
    paths = write_position_figure(evaluated(run, text), "Loss by position", tmp_path / "figures")
    assert [path.suffix for path in paths] == [".png", ".svg"]
    assert all(path.stat().st_size > 1_000 for path in paths)
    pairs = run_of(toy, "masked+next", tmp_path)
    assert write_position_figure(evaluated(pairs, text), "none", tmp_path / "none") == []
    assert not (tmp_path / "none").exists()
