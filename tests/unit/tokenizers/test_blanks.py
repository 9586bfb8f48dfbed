"""Blanks in a text stand where training would have hidden a piece."""

import pytest

from headstart.cut_text import WORD_START
from headstart.errors import DataError
from headstart.tokenizers.blanks import encode_with_blanks
from headstart.tokenizers.pieces import MASK


def words_of_one_piece(tokenizer, texts) -> list[str]:
    known = {word for text in texts for word in text.removesuffix(".").split()}
    return sorted(word for word in known if WORD_START + word in tokenizer.id_of)


def test_blank_stands_where_the_word_stood(tokenizer, texts):
    mask_id, num_tried = tokenizer.id_of[MASK], 0
    whole = words_of_one_piece(tokenizer, texts)
    for text in texts[:100]:
        for place, word in enumerate(words := text.removesuffix(".").split()):
            if word not in whole:
                continue
            blanked = " ".join([*words[:place], MASK, *words[place + 1 :]]) + "."
            hidden = encode_with_blanks(tokenizer, blanked)
            expected = tokenizer.encode(text).tolist()
            if tokenizer.vocabulary[expected[hidden.index(mask_id)]] != WORD_START + word:
                continue  # inside this text the word was cut otherwise
            expected[hidden.index(mask_id)] = mask_id
            assert hidden == expected
            num_tried += 1
    assert num_tried > 20


@pytest.mark.parametrize(
    ("text", "count"),
    [(MASK, 1), (f"{MASK}{MASK}", 2), (f"ab {MASK} {MASK}, {MASK}{MASK}{MASK}.", 5)],
)
def test_every_blank_is_one_piece(tokenizer, text, count):
    assert encode_with_blanks(tokenizer, text).count(tokenizer.id_of[MASK]) == count


def test_blank_alone_has_no_neighbours(tokenizer):
    assert encode_with_blanks(tokenizer, MASK) == [tokenizer.id_of[MASK]]


def test_private_letters_of_the_text_itself_are_no_blanks(tokenizer):
    ids = encode_with_blanks(tokenizer, f"a \ue000 {MASK} \ue001")
    assert ids.count(tokenizer.id_of[MASK]) == 1


def test_text_without_a_blank_is_refused(tokenizer):
    with pytest.raises(DataError, match="There is no <mask>"):
        encode_with_blanks(tokenizer, "abc mask")
