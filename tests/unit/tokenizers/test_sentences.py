"""Sentences: cut at a space behind a mark that ends one, and nothing of the text lost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.tokenizers.sentences import sentences

PIECES = st.sampled_from(
    ["One", "two", "\u00c9t\u00e9", ".", "!", "?", "...", " ", "\u00bb", '"', ")", "(", "3", "\n"]
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two.", ["One.", "Two."]),
        ("One! Two? Three\u2026 Four", ["One!", "Two?", "Three\u2026", "Four"]),
        ("He said \u00abNo.\u00bb Then he left.", ["He said \u00abNo.\u00bb", "Then he left."]),
        ('"Yes." "No."', ['"Yes."', '"No."']),
        ("Fin. \u00c9t\u00e9 suivant.", ["Fin.", "\u00c9t\u00e9 suivant."]),
        ("\u00bfQu\u00e9? \u00a1Nada!", ["\u00bfQu\u00e9?", "\u00a1Nada!"]),
        ("It cost 3.5 euros, i.e. little.", ["It cost 3.5 euros, i.e. little."]),
        ("no end", ["no end"]),
        ("One.Two", ["One.Two"]),
        ("wait... what", ["wait... what"]),
    ],
)
def test_sentences_end_behind_a_mark_before_something_that_begins_one(text, expected):
    assert sentences(text) == expected


@settings(deadline=None, max_examples=500)
@given(st.lists(PIECES).map("".join))
def test_no_letter_is_lost(text):
    assert "".join(sentences(text)).replace(" ", "") == text.replace(" ", "") or not text.strip()


@settings(deadline=None, max_examples=500)
@given(st.lists(PIECES).map("".join))
def test_sentences_joined_by_a_space_are_the_text_where_spaces_are_single(text):
    text = " ".join(text.split(" ")).strip()
    while "  " in text:
        text = text.replace("  ", " ")
    assert " ".join(sentences(text)) == text


def test_two_spaces_behind_a_sentence_are_not_lost():
    assert " ".join(sentences("One.  Two.")) == "One.  Two."


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_a_blank_text_has_no_sentences(text):
    assert sentences(text) == []


def test_a_long_text_without_an_end_takes_no_time():
    assert sentences("." * 50_000) == ["." * 50_000]
    assert sentences(")" * 50_000) == [")" * 50_000]
    assert sentences(". " + "(" * 50_000) == [". " + "(" * 50_000]
