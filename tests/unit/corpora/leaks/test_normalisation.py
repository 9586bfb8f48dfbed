"""What differs only in form has the same words, and normalising twice changes nothing more."""

import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.corpora.leaks.normalisation import (
    WESTERN,
    folded,
    normalised,
    spelling,
    words,
)

# Letters with marks in any order, invisible characters, spaces of all kinds, half surrogate pairs.
AWKWARD = st.text(
    st.sampled_from(
        "aA\u00df\u017f\u0130\u0131\u01c5\u03a3\u03c2\u1fb3\u0345\u0301\u0327\u0302\u00ad"
    )
    | st.sampled_from(
        "\u200b\u200d\ufe0f\ufeff\u115f\uac00\u1100\u1161\uff76\uff9e\u6f22\u304b\u212a"
    )
    | st.sampled_from(" \u00bd\u2167'_-.\n\u2028\ud800\0")
    | st.characters()
)


@settings(deadline=None)
@given(text=AWKWARD | st.text())
def test_normalising_twice_is_normalising_once(text):
    assert normalised(normalised(text)) == normalised(text)


@pytest.mark.parametrize("mark", ["", "\u0301", "\u0345", "\u20e3"])
def test_every_character_of_the_basic_plane_is_stable(mark):
    for code_point in range(0x10000):
        once = normalised(f"a{chr(code_point)}{mark}")
        assert normalised(once) == once, hex(code_point)


@settings(deadline=None)
@given(text=AWKWARD)
def test_canonically_equal_texts_have_the_same_words(text):
    forms = {normalised(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")}
    assert len(forms) == 1


@settings(deadline=None)
@given(text=AWKWARD | st.text())
def test_words_can_be_written_as_utf_8_and_have_no_space_inside(text):
    for word in words(text):
        assert word.encode()
        assert word.split() == [word]


@settings(deadline=None)
@given(text=st.text(st.characters(max_codepoint=127)))
def test_the_fast_path_of_plain_letters_agrees_with_the_general_one(text):
    assert words(text) == words(f"é {text}")[1:]


def words_by_character(text: str) -> list[str]:
    """The words as they are told: each character of the folded text by its own spelling."""
    return "".join(map(spelling, folded(text))).split()


@settings(deadline=None)
@given(text=st.text(st.characters(codec=WESTERN)) | st.text(st.characters(codec="utf-8")))
def test_the_fast_path_of_western_letters_agrees_with_the_general_one(text):
    assert words(text) == words_by_character(text)


def test_every_western_letter_has_its_words_between_others():
    letters = bytes(range(256)).decode(WESTERN, errors="ignore")
    for letter in letters:
        for text in (letter, f"é{letter}b", f"É {letter}", f"a{letter}{letter}œ"):
            assert words(text) == words_by_character(text), hex(ord(letter))


@settings(deadline=None)
@given(text=st.text(st.characters(min_codepoint=0x80, max_codepoint=0x24F)))
def test_the_fast_path_of_folding_agrees_with_the_careful_one(text):
    careful = unicodedata.normalize("NFD", text.replace("\u00ad", "")).casefold()
    careful = unicodedata.normalize("NFKC", careful).casefold()
    assert folded(text) == unicodedata.normalize("NFKC", careful)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Hello,  World!", "hello world"),
        ("l’amour", "L'AMOUR"),
        ("straße", "STRASSE"),
        ("ﬁn", "fin"),
        ("caf\u00e9", "cafe\u0301"),
        ("\uff46\uff55\uff4c\uff4c", "full"),
        ("exam\u00adple", "example"),
        ("zero\u200bwidth", "zerowidth"),
        ("good ❤\ufe0f", "good"),
        ("1\ufe0f\u20e3", "1"),
        ("wait…", "wait..."),
        ("snake_case", "snake case"),
        ("漢字 かな", "漢字かな"),
        ("\ufeffstart", "start"),
        ("\u1fb3\u0302", "\u03b1\u0302\u0345"),
        ("half \ud800 pair", "half pair"),
        ("tab\tnew\nline\u00a0hard\u2028break", "tab new line hard break"),
    ],
)
def test_differences_of_form_are_not_differences(one, other):
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(("one", "other"), [("résumé", "resume"), ("no", "now"), ("a1", "a 1")])
def test_differences_of_letters_are_differences(one, other):
    assert normalised(one) != normalised(other)


def test_marks_stay_with_their_letters():
    assert words("हिन्दी भाषा") == ["हिन्दी", "भाषा"]


def test_scripts_without_spaces_have_a_word_a_character():
    assert words("我爱北京") == ["我", "爱", "北", "京"]


@pytest.mark.parametrize("text", ["", " ", "?!…", "❤️ 👍🏽", "\u200b\ufeff", "\0\x1f"])
def test_a_text_of_signs_has_no_words(text):
    assert words(text) == []


def test_a_character_that_unicode_does_not_know_is_kept():
    assert sys.maxunicode == 0x10FFFF
    assert words("\u0378") == ["\u0378"]
