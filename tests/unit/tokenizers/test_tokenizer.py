"""Text to ids and back: as bare SentencePiece cuts it, and bound to a fingerprint."""

from dataclasses import replace

import numpy as np
import pytest
import sentencepiece
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headstart.errors import TokenizerError
from headstart.tokenizers.pieces import BASIC_PIECES, SPECIAL_PIECES, UNKNOWN_ID
from headstart.tokenizers.tokenizer import Tokenizer

WORD_START = "\u2581"
TEXT = st.text(st.characters(codec="utf-8", exclude_characters=WORD_START))
WORDY = st.lists(
    st.sampled_from(["a", "et", " ", "  ", "\n", "\r\n", "\t", "\U0001f600", "\u00e9", ".", "\0"])
)
relaxed = settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@relaxed
@given(TEXT)
@example("")
@example(" ")
@example("  two  spaces  ")
@example("line\n\nends\r\n")
@example("<sos> <mask> <0x41> <unk> </s>")
@example("\ufeff\u3000\u00a0\u200d\U0001f469\u200d\U0001f469")
def test_any_text_comes_back(learned, text):
    assert learned.decode(learned.encode(text)) == text


@relaxed
@given(WORDY)
def test_any_mixture_of_words_spaces_and_line_ends_comes_back(learned, parts):
    assert learned.decode(learned.encode("".join(parts))) == "".join(parts)


def test_the_one_letter_that_does_not_come_back_is_the_mark_of_a_word_start(learned):
    assert learned.decode(learned.encode(f"a{WORD_START}b")) == "a b"


@relaxed
@given(TEXT)
def test_ids_are_those_of_bare_sentencepiece(learned, text):
    processor = sentencepiece.SentencePieceProcessor(model_proto=learned.model)
    assert learned.encode(text).tolist() == processor.encode(text)


@pytest.mark.parametrize("num_threads", [1, 2, 7])
def test_many_texts_at_once_have_the_ids_of_each_alone(learned, texts, num_threads):
    some = [*texts[:200], "", " ", "\U0001f600\n"]
    cut = learned.encode_all(some, num_threads)
    assert cut.lengths.sum() == len(cut.ids)
    rows = np.split(cut.ids, np.cumsum(cut.lengths)[:-1])
    for text, row in zip(some, rows, strict=True):
        assert row.tolist() == learned.encode(text).tolist()


def test_no_texts_have_no_ids(learned):
    cut = learned.encode_all([], num_threads=2)
    assert (len(cut.ids), len(cut.lengths)) == (0, 0)


def test_text_that_is_cut_has_the_ids_of_its_pieces(learned, texts):
    processor = sentencepiece.SentencePieceProcessor(model_proto=learned.model)
    for text in texts[:50]:
        pieces = " ".join(processor.encode(text, out_type=str))
        assert learned.encode_cut(pieces).tolist() == learned.encode(text).tolist()


def test_a_piece_that_is_not_in_the_vocabulary_is_unknown(learned):
    assert learned.encode_cut("nosuchpieceatall").tolist() == [UNKNOWN_ID]


def test_text_that_is_cut_cannot_hold_marks_but_may_hold_pieces_that_look_like_them(learned):
    larger = learned.with_pieces([*SPECIAL_PIECES, "<url>"])
    for piece in (*BASIC_PIECES, *SPECIAL_PIECES):
        assert larger.encode_cut(f"{piece} {piece}").tolist() == [UNKNOWN_ID] * 2
    assert larger.encode_cut("<url>").tolist() == [larger.id_of["<url>"]]


def test_special_pieces_have_no_text(learned, texts):
    ids = learned.encode(texts[0]).tolist()
    specials = [learned.id_of[piece] for piece in sorted(learned.special_pieces)]
    assert learned.decode([*specials, *ids, *specials]) == texts[0]


def test_an_unknown_piece_is_seen_in_the_text(learned):
    assert learned.decode([UNKNOWN_ID]).strip()


def test_a_fingerprint_changes_with_anything_that_decides_ids(learned):
    pieces = learned.vocabulary
    others = [
        replace(learned, model=learned.model + b"\0"),
        replace(learned, vocabulary=(*pieces[:-2], pieces[-1], pieces[-2])),
        replace(learned, vocabulary=pieces[:-1]),
        replace(learned, vocabulary=(*pieces, "<new>")),
        replace(learned, replacements={"\u2014": "-"}),
        replace(learned, replacements={"-": "\u2014"}),
        # Neighbours must not run into one another.
        replace(learned, vocabulary=(*pieces[:-2], pieces[-2] + pieces[-1], "")),
    ]
    seen = {learned.fingerprint, *(other.fingerprint for other in others)}
    assert len(seen) == 1 + len(others)


def test_equal_tokenizers_have_equal_fingerprints(learned):
    copy = Tokenizer(bytes(learned.model), (*learned.vocabulary,), {})
    assert copy.fingerprint == learned.fingerprint


def test_the_wrong_tokenizer_is_named_with_the_right_one(learned):
    other = learned.with_pieces(["<new>"])
    other.require(other.fingerprint, "runs/one")
    with pytest.raises(TokenizerError) as caught:
        other.require(learned.fingerprint, "runs/one")
    for word in ("runs/one", learned.fingerprint[:12], other.fingerprint[:12]):
        assert word in str(caught.value)


def test_new_pieces_stand_behind_the_old_ones_and_change_no_id(learned, texts):
    more = learned.with_pieces(["<mask>", "<new>", "<other>"])
    assert more.vocabulary == (*learned.vocabulary, "<new>", "<other>")
    assert more.encode(texts[0]).tolist() == learned.encode(texts[0]).tolist()
    assert more.decode(more.encode(texts[0])) == texts[0]


def test_a_new_piece_named_twice_is_there_once(learned):
    assert learned.with_pieces(["<new>", "<new>"]).size == learned.size + 1


def test_pieces_that_are_there_change_nothing(learned):
    assert learned.with_pieces(["<mask>", "<eos>"]) is learned


def test_replacements_are_made_before_text_is_cut(learned):
    other = replace(learned, replacements={"\u2014": "-", "\u2019": "'"})
    text = "l\u2019\u00e9t\u00e9 \u2014 a"
    assert other.encode(text).tolist() == learned.encode("l'\u00e9t\u00e9 - a").tolist()
    assert other.encode_all([text, text], 2).ids.tolist() == 2 * other.encode(text).tolist()


@pytest.mark.parametrize("number", [-1, 420, 10**9])
def test_an_id_that_no_piece_has_is_answered_in_a_sentence(learned, number):
    with pytest.raises(TokenizerError, match=f"no piece {number:,}.*419"):
        learned.decode([5, number])


@pytest.mark.parametrize("num_texts", [0, 1, 3])
def test_texts_may_come_in_a_tuple(learned, texts, num_texts):
    some = texts[:num_texts]
    assert (
        learned.encode_all(tuple(some), 2).ids.tolist() == learned.encode_all(some, 2).ids.tolist()
    )


@pytest.mark.parametrize("num_words", [1, 500])
def test_long_and_short_texts_are_cut_alike(learned, num_words):
    text = " ".join(["\u00e9t\u00e9"] * num_words)
    cut = learned.encode_all([text, text], 2)
    assert cut.ids.tolist() == 2 * learned.processor.encode(text)
    assert cut.lengths.tolist() == 2 * [len(cut.ids) // 2]


def test_letters_in_bytes_are_joined_beside_a_piece_that_the_model_lacks(learned):
    more = replace(learned, vocabulary=(*learned.vocabulary, "\u2581foreign"))
    ids = [*more.encode("\U0001f600 A").tolist(), more.size - 1]
    assert more.decode(ids) == "\U0001f600 A foreign"
    lone = more.id_of["<0xC3>"]
    assert more.decode([lone, more.size - 1]) == "\ufffd foreign"
