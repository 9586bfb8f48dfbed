"""A tokenizer on disk: read as it was written, or refused; never another one in silence."""

import contextlib
import json
import random

import pytest

from headstart.errors import HeadstartError
from headstart.tokenizers.folder import (
    DESCRIPTION_FILE,
    MODEL_FILE,
    load_tokenizer,
    save_tokenizer,
)
from headstart.tokenizers.importing import import_tokenizer

NUM_FLIPS = 250


@pytest.fixture
def folder(tmp_path, learned):
    save_tokenizer(learned, tmp_path / "tokenizer")
    return tmp_path / "tokenizer"


def refused(folder) -> str:
    with pytest.raises(HeadstartError) as caught:
        load_tokenizer(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_tokenizer_is_read_as_it_was_written(folder, learned, texts):
    loaded = load_tokenizer(folder)
    assert loaded == learned
    assert loaded.fingerprint == learned.fingerprint
    assert loaded.encode(texts[0]).tolist() == learned.encode(texts[0]).tolist()


def test_an_imported_tokenizer_keeps_its_ids_and_replacements(
    tmp_path, foreign_model, foreign_pieces, texts
):
    (tmp_path / "foreign.model").write_bytes(foreign_model)
    rows = "".join(f"{piece} 1\n" for piece in foreign_pieces)
    (tmp_path / "dict.txt").write_text(rows, encoding="utf-8")
    imported = import_tokenizer(tmp_path / "foreign.model", tmp_path / "dict.txt")
    more = imported.with_pieces(["<mask>", "\u2028", '"', "\\"])
    save_tokenizer(more, tmp_path / "kept")
    loaded = load_tokenizer(tmp_path / "kept")
    assert loaded.vocabulary == more.vocabulary
    assert (
        loaded.encode(f"{texts[0]} \u2014").tolist() == more.encode(f"{texts[0]} \u2014").tolist()
    )


def test_a_folder_can_be_written_again_with_another_tokenizer(folder, learned):
    more = learned.with_pieces(["<new>"])
    save_tokenizer(more, folder)
    assert load_tokenizer(folder).fingerprint == more.fingerprint


@pytest.mark.parametrize("name", [MODEL_FILE, DESCRIPTION_FILE])
def test_a_file_with_one_bit_changed_is_refused_or_reads_the_same(folder, learned, name):
    path, draw = folder / name, random.Random(name)
    whole = path.read_bytes()
    for _ in range(NUM_FLIPS):
        data = bytearray(whole)
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path.write_bytes(data)
        try:
            loaded = load_tokenizer(folder)
        except HeadstartError:
            continue
        assert loaded == learned
        assert name == DESCRIPTION_FILE


@pytest.mark.parametrize("name", [MODEL_FILE, DESCRIPTION_FILE])
@pytest.mark.parametrize("part", [0, 0.3, 0.99])
def test_a_file_cut_short_is_refused_by_name(folder, name, part):
    path = folder / name
    path.write_bytes(path.read_bytes()[: int(part * path.stat().st_size)])
    assert name in refused(folder)


@pytest.mark.parametrize("name", [MODEL_FILE, DESCRIPTION_FILE])
def test_a_file_that_is_missing_is_named(folder, name):
    (folder / name).unlink()
    assert name in refused(folder)


def test_a_folder_without_a_tokenizer_says_what_to_name(tmp_path):
    assert "Name a folder that `headstart tokenizer` has written" in refused(tmp_path / "absent")


@pytest.mark.parametrize("field", ["fingerprint", "model_sha256", "replacements", "vocabulary"])
@pytest.mark.parametrize("value", [None, 3, "", "text", [], [1], [["a"]], {}, {"a": 1}, True, 1.5])
def test_a_description_of_other_types_is_refused_or_means_the_same(folder, learned, field, value):
    description = json.loads((folder / DESCRIPTION_FILE).read_text(encoding="utf-8"))
    (folder / DESCRIPTION_FILE).write_text(json.dumps(description | {field: value}))
    with contextlib.suppress(HeadstartError):
        assert load_tokenizer(folder) == learned


@pytest.mark.parametrize("field", ["fingerprint", "model_sha256", "replacements", "vocabulary"])
def test_a_description_that_lacks_a_field_is_refused(folder, field):
    description = json.loads((folder / DESCRIPTION_FILE).read_text(encoding="utf-8"))
    del description[field]
    (folder / DESCRIPTION_FILE).write_text(json.dumps(description))
    assert DESCRIPTION_FILE in refused(folder)


@pytest.mark.parametrize("text", ["[]", "3", "null", '"text"', "{}", "[" * 100_000])
def test_a_description_that_is_none_is_refused(folder, text):
    (folder / DESCRIPTION_FILE).write_text(text)
    assert DESCRIPTION_FILE in refused(folder)


def test_the_vocabulary_cannot_be_edited_in_silence(folder):
    path = folder / DESCRIPTION_FILE
    description = json.loads(path.read_text(encoding="utf-8"))
    pieces = description["vocabulary"]
    pieces[300], pieces[301] = pieces[301], pieces[300]
    path.write_text(json.dumps(description))
    assert str(folder) in refused(folder)
