"""Texts become rows that lose nothing in windows, and are never empty."""

import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from headstart.errors import DataError, RecipeError, RunError
from headstart.models.heads.config import LabelHeadConfig
from headstart.pipeline.feeding import MARKS, marks_for
from headstart.pipeline.run_folder import Run
from headstart.pipeline.text_rows import TextReader, reader_of, window_starts
from headstart.tokenizers.pieces import UNKNOWN_ID
from headstart.transfers.config import TransferConfig


def reader(tokenizer, objective="masked", length=10, long_texts="cut") -> TextReader:
    tokenizer = tokenizer.with_pieces(["<mask>", "<first>", "<sep>"])
    return TextReader(tokenizer, marks_for(objective, tokenizer), length, long_texts)


@pytest.mark.parametrize("objective", MARKS)
def test_a_short_text_is_its_pieces_between_marks(tokenizer, objective):
    for long_texts in ("cut", "windows"):
        found = reader(tokenizer, objective, 99, long_texts)
        pieces = tokenizer.encode("le chat voit").tolist()
        assert found.rows("le chat voit") == [found.marks.around(pieces)]


@pytest.mark.parametrize("objective", MARKS)
def test_a_long_text_is_cut_to_the_length_with_its_marks(tokenizer, objective):
    found = reader(tokenizer, objective, 10)
    text = "le chat rouge voit la maison bleu " * 5
    (row,) = found.rows(text)
    assert len(row) == 10
    room = 10 - found.marks.num_pieces
    assert row == found.marks.around(tokenizer.encode(text)[:room].tolist())


def test_windows_cover_every_piece_in_order_and_only_the_last_overlaps():
    for num_pieces in range(60):
        for room in range(1, 12):
            starts = window_starts(num_pieces, room, "windows")
            windows = [range(num_pieces)[start : start + room] for start in starts]
            assert sorted({place for window in windows for place in window}) == list(
                range(num_pieces)
            )
            assert starts == sorted(set(starts))
            assert all(second - first == room for first, second in pairwise(starts[:-1]))
            # All full, but for a text shorter than one.
            assert all(len(window) == min(room, num_pieces) for window in windows)
            assert len(windows) == max(1, -(-num_pieces // room))


def test_windows_have_their_marks(tokenizer):
    found = reader(tokenizer, "masked+next", 8, "windows")
    pieces = tokenizer.encode("le chat rouge voit la maison bleu ville").tolist()
    rows = found.rows("le chat rouge voit la maison bleu ville")
    starts = [*range(0, len(pieces) - 6, 6), len(pieces) - 6]
    assert len(rows) > 1
    assert rows == [found.marks.around(pieces[start : start + 6]) for start in starts]


def test_a_text_without_pieces_has_one_row_with_a_piece(tokenizer):
    assert reader(tokenizer, "masked").rows("") == [[UNKNOWN_ID]]
    causal = reader(tokenizer, "causal")
    assert causal.rows("") == [causal.marks.around([])]


def test_many_texts_are_read_as_one_by_one(tokenizer, texts):
    draw = random.Random(3)
    mixed = [" ".join(draw.sample(texts, draw.randint(1, 4))) for _ in range(40)] + ["", "ω ☃", "a"]
    found = reader(tokenizer, "masked+next", 16, "windows")
    assert found.rows_of_all(mixed) == [found.rows(text) for text in mixed]
    assert found.rows_of_all([]) == []


def test_half_a_surrogate_pair_is_an_error_of_one_sentence(tokenizer):
    with pytest.raises(DataError, match="surrogate"):
        reader(tokenizer).rows("le chat \ud800")


def test_a_row_needs_room_for_text(tokenizer):
    with pytest.raises(RecipeError, match="at least 3"):
        reader(tokenizer, "masked+next", 2)


def test_a_run_reads_as_its_transfer_says(runs):
    run = runs["masked"]
    with pytest.raises(RunError, match="headstart transfer --from run "):
        reader_of(run)
    head = LabelHeadConfig(num_labels=2, pooling="mean")
    transfer = TransferConfig(labels=("no", "yes"), is_warm=True, long_texts="windows")
    model = replace(run.recipe.model, head=head)
    recipe = replace(run.recipe, model=model, transfer=transfer, length=12)
    found = reader_of(Run(Path("run"), recipe, run.tokenizer, run.model))
    assert (found.length, found.long_texts) == (12, "windows")
