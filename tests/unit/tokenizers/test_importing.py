"""Importing: the ids are the lines of the dictionary, the cutting is the model's."""

from pathlib import Path

import pytest
import sentencepiece
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headstart.errors import HeadstartError, TokenizerError
from headstart.tokenizers.importing import import_tokenizer
from headstart.tokenizers.pieces import BASIC_PIECES, UNKNOWN_ID

SHARED = Path(__file__).parents[4] / "shared" / "data" / "cls-books"
DASH = "\u2014"


def dictionary(pieces, end="\n") -> bytes:
    return "".join(f"{piece} {count}{end}" for count, piece in enumerate(pieces)).encode()


@pytest.fixture
def model(tmp_path, foreign_model):
    path = tmp_path / "foreign.model"
    path.write_bytes(foreign_model)
    return path


@pytest.fixture
def bring(tmp_path, model):
    """Imports the toy model with a dictionary of these bytes."""

    def with_dictionary(data: bytes):
        path = tmp_path / "dict.txt"
        path.write_bytes(data)
        return import_tokenizer(model, path)

    return with_dictionary


def refused(make) -> str:
    with pytest.raises(TokenizerError) as caught:
        make()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_vocabulary_is_the_dictionary_behind_the_basic_pieces(bring, foreign_pieces):
    assert bring(dictionary(foreign_pieces)).vocabulary == (*BASIC_PIECES, *foreign_pieces)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_ids_are_bare_sentencepiece_looked_up_in_the_dictionary(
    bring, foreign_model, foreign_pieces, texts, data
):
    kept = data.draw(st.lists(st.sampled_from(foreign_pieces), min_size=1, unique=True))
    text = data.draw(st.one_of(st.sampled_from(texts), st.text(st.characters(codec="utf-8"))))
    tokenizer = bring(dictionary(kept))
    id_of = {piece: number for number, piece in enumerate([*BASIC_PIECES, *kept])}
    processor = sentencepiece.SentencePieceProcessor(model_proto=foreign_model)
    pieces = processor.encode(text.replace(DASH, "-"), out_type=str)
    expected = [id_of.get(piece, UNKNOWN_ID) for piece in pieces]
    assert tokenizer.encode(text).tolist() == expected


def test_a_text_whose_pieces_are_all_there_comes_back(bring, foreign_pieces, texts):
    tokenizer = bring(dictionary(foreign_pieces))
    for text in texts[:50]:
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_unknown_pieces_are_seen_in_the_text(bring, foreign_pieces, texts):
    tokenizer = bring(dictionary(foreign_pieces[:5]))
    ids = tokenizer.encode(texts[0])
    assert UNKNOWN_ID in ids
    assert tokenizer.decode([UNKNOWN_ID]).strip()


def test_a_piece_that_only_the_dictionary_has_keeps_its_text(bring, foreign_pieces):
    tokenizer = bring(dictionary([*foreign_pieces, "\u2581dictionary"]))
    ids = tokenizer.encode_cut("\u2581dictionary")
    assert tokenizer.decode(ids) == "dictionary"


def test_a_dash_that_the_dictionary_lacks_is_written_otherwise(bring, foreign_pieces):
    assert bring(dictionary(foreign_pieces)).replacements == {DASH: "-"}
    assert bring(dictionary([*foreign_pieces, DASH])).replacements == {}


def test_the_special_pieces_of_the_model_are_not_ours(bring, foreign_pieces):
    tokenizer = bring(dictionary(foreign_pieces))
    assert not {"<s>", "</s>", "<unk>"} & set(tokenizer.vocabulary)
    assert set(BASIC_PIECES) <= tokenizer.special_pieces


def test_pieces_that_an_objective_needs_stand_behind_the_dictionary_and_have_no_text(
    bring, foreign_pieces, texts
):
    tokenizer = bring(dictionary(foreign_pieces))
    more = tokenizer.with_pieces(["<mask>", "<first>", "<sep>"])
    assert more.vocabulary == (*tokenizer.vocabulary, "<mask>", "<first>", "<sep>")
    assert {"<mask>", "<first>", "<sep>"} <= more.special_pieces
    framed = [more.id_of["<first>"], *more.encode(texts[0]), more.id_of["<sep>"]]
    assert more.decode(framed) == texts[0]


def test_line_ends_of_windows_change_nothing(bring, foreign_pieces):
    expected = bring(dictionary(foreign_pieces)).fingerprint
    assert bring(dictionary(foreign_pieces, "\r\n")).fingerprint == expected


def test_a_last_line_without_an_end_is_read(bring, foreign_pieces):
    assert bring(dictionary(foreign_pieces)[:-1]).size == 4 + len(foreign_pieces)


def test_a_mark_of_utf_8_is_no_part_of_the_first_piece(bring, foreign_pieces):
    data = b"\xef\xbb\xbf" + dictionary(foreign_pieces)
    assert bring(data).vocabulary[4] == foreign_pieces[0]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", ["empty"]),
        (b"\n", ["line 1"]),
        (b"a 1\n\nb 1\n", ["line 2"]),
        (b"a 1\nb\n", ["line 2", "'b'"]),
        (b"a 1\nb x\n", ["line 2", "'b x'"]),
        (b"a 1\nb -1\n", ["line 2"]),
        (b"a 1\n 5\n", ["line 2"]),
        (b"a 1\nb 2\na 3\n", ["line 3", "'a'", "twice"]),
        (b"a 1\n<pad> 2\n", ["line 2", "'<pad>'"]),
        (b"a 1\n\xff 2\n", ["dict.txt"]),
        ("a 1\nb 2\n".encode("utf-16"), ["dict.txt"]),
    ],
    ids=range(11),
)
def test_a_dictionary_that_is_none_is_answered_with_file_and_line(bring, data, words):
    sentence = refused(lambda: bring(data))
    for word in ["dict.txt", *words]:
        assert word in sentence


def test_a_dictionary_that_is_not_there_is_named_without_the_systems_jargon(model, tmp_path):
    sentence = refused(lambda: import_tokenizer(model, tmp_path / "absent.txt"))
    assert "absent.txt" in sentence
    assert "Errno" not in sentence
    assert "a piece and its count on each line" in sentence


@pytest.mark.parametrize("data", [b"", b"no model", b"\0" * 100, b"\xff" * 100])
def test_a_model_that_is_none_is_named(tmp_path, data):
    path = tmp_path / "no.model"
    path.write_bytes(data)
    (tmp_path / "dict.txt").write_bytes(b"a 1\n")
    assert "no.model" in refused(lambda: import_tokenizer(path, tmp_path / "dict.txt"))


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.99])
def test_a_model_that_was_cut_short_is_refused_or_works(bring, model, foreign_pieces, part):
    model.write_bytes(model.read_bytes()[: int(part * model.stat().st_size)])
    try:
        tokenizer = bring(dictionary(foreign_pieces))
    except HeadstartError:
        return
    assert tokenizer.encode("a").size


def test_a_model_that_is_not_there_is_named(tmp_path):
    sentence = refused(lambda: import_tokenizer(tmp_path / "absent", tmp_path / "dict.txt"))
    assert "absent" in sentence
    assert "Name a SentencePiece model" in sentence


@pytest.mark.shared_data
@pytest.mark.skipif(not SHARED.is_dir(), reason=f"there is no {SHARED}")
def test_the_documents_model_gives_the_documents_ids():
    from headstart.cut_text import joined_pieces

    tokenizer = import_tokenizer(SHARED / "sentencepiece.french.model", SHARED / "dict.txt")
    assert tokenizer.size == 50_001
    assert tokenizer.vocabulary[:4] == ("<sos>", "<pad>", "<eos>", "<oov>")
    lines = (SHARED / "train.review.spm").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1_600
    for line in lines:
        assert tokenizer.encode(joined_pieces(line)).tolist() == tokenizer.encode_cut(line).tolist()
