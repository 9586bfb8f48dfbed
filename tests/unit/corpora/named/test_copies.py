"""Copies are told whatever was done to their case, spaces and punctuation."""

from hypothesis import given
from hypothesis import strategies as st

from headstart.corpora.leaks.normalisation import normalised
from headstart.corpora.named.copies import one_line, without_copies


def test_case_spaces_punctuation_and_forms_of_letters_make_no_other_text():
    assert normalised("A  plain,\nfine film…") == normalised("a plain fine ﬁlm!")
    assert normalised("STRASSE") == normalised("straße")


def test_words_are_not_run_together():
    assert normalised("1.5 hours") != normalised("15 hours")
    assert normalised("a_b") == normalised("a b")


@given(text=st.text())
def test_a_text_on_one_line_is_a_copy_of_itself_with_no_other_spaces(text):
    line = one_line(text)
    assert normalised(line) == normalised(text)
    assert line.split(" ") == line.split() or line == ""


@given(texts=st.lists(st.sampled_from(["a b", "A b.", "c", "C", "", "?!", "d"])))
def test_every_text_with_words_is_there_once_and_first_come(texts):
    kept = list(without_copies(texts, str))
    keys = [normalised(text) for text in kept]
    assert len(set(keys)) == len(keys)
    assert set(keys) == {normalised(text) for text in texts} - {""}
    assert all(text == next(t for t in texts if normalised(t) == normalised(text)) for text in kept)
