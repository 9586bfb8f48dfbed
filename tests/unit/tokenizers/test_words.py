"""Pieces with their characters, and the words that they make."""

from headstart.tokenizers.spans import cut_with_spans
from headstart.tokenizers.words import words_of

ODD_TEXTS = [
    "",
    "   ",
    " abc  def ",
    "abc\ndef\tghi",
    "caf\u00e9 \U0001f600 \u65e5\u672c caf\u00e9",
    "e\u0301t\u00e9 \ufb01n",
    "abc\n\n\ndef",
]


def test_pieces_with_spans_are_the_pieces_of_encode(tokenizer, texts):
    for text in [*texts[:50], *ODD_TEXTS]:
        spans = cut_with_spans(tokenizer, text)
        assert [span.id for span in spans] == tokenizer.encode(text).tolist()
        assert all(0 <= span.begin <= span.end <= len(text) for span in spans)


def test_words_are_what_stands_between_spaces(tokenizer, texts):
    for text in [*texts[:50], *ODD_TEXTS]:
        words = words_of(text, cut_with_spans(tokenizer, text))
        assert [text[word.begin : word.end] for word in words] == text.split()


def test_words_have_all_the_pieces_of_a_text_in_order(tokenizer, texts):
    for text in texts[:50]:
        words = words_of(text, cut_with_spans(tokenizer, text))
        assert [number for word in words for number in word.ids] == tokenizer.encode(text).tolist()
