"""Vectors of texts: the same in any batch, in the order of the texts, windows pooled."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_classifiers import recipe_of, run_of

from headstart.models.kernels.library import compiled_kernels
from headstart.models.single_row import new_single_row
from headstart.objectives.labels import to_label_batch
from headstart.pipeline import text_vectors as module
from headstart.pipeline.learner import ScoringStopped
from headstart.pipeline.text_vectors import batches, text_vectors, text_vectors_one_by_one

needs_code = pytest.mark.skipif(
    compiled_kernels() is None, reason="no code was built for this machine"
)


def rows_of(*lengths, seed=0):
    draw = random.Random(f"{lengths} {seed}")
    return [[draw.randrange(10, 280) for _ in range(length)] for length in lengths]


@pytest.mark.parametrize("shape", ["lab", "bert", "compact-masked", "compact-causal"])
@pytest.mark.parametrize("num_positions", [1, 40, 4_096])
def test_every_text_has_the_vector_that_it_has_alone(shape, num_positions, monkeypatch):
    monkeypatch.setitem(module.NUM_POSITIONS_PER_BATCH, "cpu", num_positions)
    model = run_of(recipe_of(shape)).model
    texts = [rows_of(9), rows_of(24, 24, 5), rows_of(1), rows_of(17), rows_of(24, 2)]
    seen = text_vectors(model, texts)
    assert seen.shape == (5, 32)
    for number, text in enumerate(texts):
        with torch.inference_mode():
            rows = [to_label_batch([[row]], [0], [""], "cpu").vectors(model)[0] for row in text]
        total = sum(map(len, text))
        alone = sum(len(row) / total * vector for row, vector in zip(text, rows, strict=True))
        torch.testing.assert_close(seen[number], alone, rtol=1e-4, atol=1e-5)


@settings(deadline=None)
@given(st.lists(st.integers(1, 60), max_size=60).map(sorted), st.integers(1, 200))
def test_batches_hold_every_row_once_in_order_and_no_more_than_there_is_room_for(lengths, room):
    found = list(batches(lengths, room))
    assert [place for part in found for place in part] == list(range(len(lengths)))
    for part in found:
        assert len(part) == 1 or max(lengths[place] for place in part) * len(part) <= room
    for part, after in pairwise(found):
        # The next row would not have fitted.
        assert lengths[after[0]] * (len(part) + 1) > room


def test_someone_who_would_rather_stop_is_asked_before_each_batch(monkeypatch):
    monkeypatch.setitem(module.NUM_POSITIONS_PER_BATCH, "cpu", 1)
    model, asked = run_of(recipe_of("lab")).model, []

    def stop_at_the_third() -> bool:
        asked.append(None)
        return len(asked) == 3

    with pytest.raises(ScoringStopped):
        text_vectors(model, [rows_of(4), rows_of(5), rows_of(6), rows_of(7)], stop_at_the_third)
    assert len(asked) == 3


def test_windows_are_joined_in_single_precision_where_products_are_done_in_half():
    model = run_of(recipe_of("compact-masked")).model
    texts = [rows_of(9, 4), rows_of(7), rows_of(5, 5, 2)]
    expected_ND = text_vectors(model, texts)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        vector_ND = text_vectors(model, texts)
    # A head outside of that block takes them as they are.
    assert vector_ND.dtype == torch.float32
    torch.testing.assert_close(vector_ND, expected_ND, rtol=0.1, atol=0.1)


@needs_code
@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("pooling", ["last", "first", "mean"])
@pytest.mark.parametrize("shape", ["lab", "bert", "compact-masked", "compact-causal"])
def test_one_by_one_gives_what_batches_give(shape, pooling, num_threads, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: num_threads)
    recipe = recipe_of(shape)
    head = replace(recipe.model.head, pooling=pooling)
    model = run_of(replace(recipe, model=replace(recipe.model, head=head))).model
    row = new_single_row(model.trunk)
    texts = [rows_of(9), rows_of(24, 24, 5), rows_of(1), *(rows_of(n % 24 + 1) for n in range(60))]
    found = text_vectors_one_by_one(model.head, row, texts)
    torch.testing.assert_close(found, text_vectors(model, texts), rtol=1e-4, atol=1e-5)
    # Not a bit depends on what stands beside a text.
    for number, text in enumerate(texts[:5]):
        alone = text_vectors_one_by_one(model.head, row, [text])
        assert torch.equal(found[number : number + 1], alone)


@needs_code
def test_someone_who_would_rather_stop_is_asked_between_turns_of_rows(monkeypatch):
    monkeypatch.setattr(module, "NUM_ROWS_PER_TURN", 2)
    model, asked = run_of(recipe_of("lab")).model, []

    def stop_at_the_third() -> bool:
        asked.append(None)
        return len(asked) == 3

    texts = [rows_of(4) for _ in range(20)]
    with pytest.raises(ScoringStopped):
        text_vectors_one_by_one(model.head, new_single_row(model.trunk), texts, stop_at_the_third)
    assert len(asked) == 3
