"""Survival: what did not come back, counted by brute force."""

import pytest

from headstart.tokenizers.importing import import_tokenizer
from headstart.tokenizers.pieces import UNKNOWN_ID
from headstart.tokenizers.survival import survival


@pytest.fixture
def imported(tmp_path, foreign_model, foreign_pieces):
    (tmp_path / "foreign.model").write_bytes(foreign_model)
    rows = "".join(f"{piece} 1\n" for piece in foreign_pieces[:150])
    (tmp_path / "dict.txt").write_text(rows, encoding="utf-8")
    return import_tokenizer(tmp_path / "foreign.model", tmp_path / "dict.txt")


def test_a_learned_tokenizer_loses_nothing_but_the_mark_of_a_word_start(learned, texts):
    seen = survival(learned, [*texts[:98], "\U0001f600\n  two", "a \u2581 b"])
    assert (seen.num_texts, seen.num_changed_texts, seen.num_unknown_pieces) == (100, 1, 0)
    assert seen.changed_share == 0.01
    assert seen.unknown_share == 0


def test_an_imported_tokenizer_is_measured_by_what_comes_back(imported, texts):
    tried = [*texts[:100], "two  spaces", "a \u2014 dash", "\U0001f600"]
    seen = survival(imported, tried)
    ids = [imported.encode(text).tolist() for text in tried]
    num_changed = sum(imported.decode(row) != text for row, text in zip(ids, tried, strict=True))
    assert seen.num_changed_texts == num_changed >= 3
    assert seen.num_pieces == sum(map(len, ids))
    assert seen.num_unknown_pieces == sum(row.count(UNKNOWN_ID) for row in ids) > 0
    assert seen.num_bytes == len("".join(tried).encode())
    assert seen.unknown_share == pytest.approx(seen.num_unknown_pieces / seen.num_pieces)
    assert seen.bytes_per_piece == pytest.approx(seen.num_bytes / seen.num_pieces)


def test_texts_are_read_once_and_may_be_a_stream(learned, texts):
    assert survival(learned, iter(texts)) == survival(learned, texts)


def test_no_text_has_no_share_of_anything(learned):
    seen = survival(learned, [])
    assert (seen.changed_share, seen.unknown_share, seen.bytes_per_piece) == (0, 0, 0)
