"""Sentences among pieces: behind a mark that ends one, before what begins one, nothing moved."""

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer
from headstart.tokenizers.pieces import END_ID
from headstart.tokenizers.sentences import begins_sentence, sentence_marks

PARTS = st.sampled_from(
    ["One", "two", "\u00c9t\u00e9", ".", "!", "...", " ", "\u00bb", '"', ")", "(", "3", "\n", "\r"]
)
relaxed = settings(
    deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module", params=["letters", "words"])
def tokenizer(request):
    """A vocabulary of hardly more than letters, and one of whole words."""
    draw = random.Random(2)
    words = ["One", "Two", "two", "wait", "what", "Then", "he", "said", "left", "little", "Fin"]
    ends = [".", "!", "?", "\u2026", '."', ".\u00bb", " \u00ab", "\u00bf", "\u00a1", "(", "["]
    lines = [" ".join(draw.choices(words, k=8)) + draw.choice(ends) for _ in range(300)]
    size = {"letters": 294, "words": 305}[request.param]
    return learn_tokenizer(lines, TokenizerConfig(size=size))


def sentences(text: str, tokenizer) -> list[str]:
    """Cuts a text, splits its pieces into sentences, and returns the text of each."""
    ids = tokenizer.encode(text)
    is_start = begins_sentence(ids, sentence_marks(tokenizer.vocabulary))
    starts = [0, *(place for place in np.flatnonzero(is_start).tolist() if place)]
    # In front of each stands a word without a start, since joining drops a first space.
    first = tokenizer.encode_cut("a").tolist()
    parts = np.split(ids, starts[1:])
    return [tokenizer.decode([*first, *part.tolist()])[1:] for part in parts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two.", ["One.", " Two."]),
        ("One! Two? Three\u2026 Four", ["One!", " Two?", " Three\u2026", " Four"]),
        ("He said \u00abNo.\u00bb Then he left.", ["He said \u00abNo.\u00bb", " Then he left."]),
        ('"Yes." "No."', ['"Yes."', ' "No."']),
        ("Fin. \u00c9t\u00e9 suivant.", ["Fin.", " \u00c9t\u00e9 suivant."]),
        ("\u00bfQu\u00e9? \u00a1Nada!", ["\u00bfQu\u00e9?", " \u00a1Nada!"]),
        ("Fin. [Note] Two", ["Fin.", " [Note] Two"]),
        ("It cost 3.5 euros, i.e. little.", ["It cost 3.5 euros, i.e. little."]),
        ("In 1990. 1991 was better.", ["In 1990.", " 1991 was better."]),
        ("no end", ["no end"]),
        ("One.Two", ["One.Two"]),
        ("wait... what", ["wait... what"]),
        ('One. " Two', ['One. " Two']),
        ("One. \u2728 two", ["One. \u2728 two"]),
        # Line ends and several spaces stay with the sentence that they follow.
        ("One.  Two.", ["One. ", " Two."]),
        ("One.\nTwo.", ["One.\n", "Two."]),
        ("One.\r\nTwo.", ["One.\r\n", "Two."]),
        ("One.\n\n  Two.", ["One.\n\n ", " Two."]),
        ("One.\n\u00abTwo.\u00bb\nThen", ["One.\n", "\u00abTwo.\u00bb\n", "Then"]),
        ("One\nTwo. Then\nhe left.", ["One\nTwo.", " Then\nhe left."]),
        ("One.\n", ["One.\n"]),
        ("", [""]),
        (" ", [" "]),
    ],
)
def test_sentences_end_behind_a_mark_before_something_that_begins_one(tokenizer, text, expected):
    # The first word's start is written in front of every text.
    assert sentences(text, tokenizer) == [" " + expected[0] if text else "", *expected[1:]]


@relaxed
@given(st.lists(PARTS).map("".join))
def test_sentences_one_after_another_are_the_text(tokenizer, text):
    parts = sentences(text, tokenizer)
    assert "".join(parts).removeprefix(" ") == text or not text.strip(" ")
    assert all(part.strip() for part in parts[1:])


@relaxed
@given(st.lists(st.lists(PARTS).map("".join), max_size=5))
def test_a_document_has_the_same_sentences_whatever_stands_beside_it(tokenizer, texts):
    marks = sentence_marks(tokenizer.vocabulary)
    rows = [[*tokenizer.encode(text).tolist(), END_ID] for text in texts]
    alone = [begins_sentence(np.array(row, dtype=np.int32), marks)[1:].tolist() for row in rows]
    flat = np.array([number for row in rows for number in row], dtype=np.int32)
    together = begins_sentence(flat, marks)
    bounds = np.cumsum([len(row) for row in rows])[:-1] if rows else []
    assert [part[1:].tolist() for part in np.split(together, bounds)] == (alone or [[]])


def test_text_that_others_cut_has_its_sentences():
    text = "_Un _li vre . _ \u00c9t \u00e9 _? _\u00ab Oui . \u00bb _Non".replace("_", "\u2581")
    pieces = text.split()
    marks = sentence_marks(tuple(pieces))
    places = np.flatnonzero(begins_sentence(np.arange(len(pieces), dtype=np.int32), marks))
    assert [pieces[place] for place in places] == ["\u2581", "\u2581\u00ab", "\u2581Non"]


def test_a_long_text_without_an_end_takes_no_time(tokenizer):
    for text in ("." * 50_000, ")" * 50_000, ". " + "(" * 50_000, "\n" * 50_000):
        assert len(sentences(text, tokenizer)) == 1
