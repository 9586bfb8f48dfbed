"""Learning: our special ids, every text known, and one vocabulary for a seed, in any process."""

import subprocess
import sys
from pathlib import Path

import pytest
import sentencepiece

from headstart.errors import RecipeError, TokenizerError
from headstart.tokenizers import learning
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer, lines_of
from headstart.tokenizers.pieces import OBJECTIVE_PIECES, UNKNOWN_ID

FROM_ANOTHER_PROCESS = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from conftest import SIZE, toy_texts
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer
config = TokenizerConfig(size=SIZE, kind=sys.argv[1], seed=int(sys.argv[2]))
print(learn_tokenizer(toy_texts(), config).fingerprint)
"""

# 60 MB of lines as long as they come, of 50,000 words; prints the peak in kilobytes.
LEARN_AND_WEIGH = """
import random, resource, sys
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer, lines_of
draw = random.Random(0)
words = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(2, 9))) for _ in range(50_000)]
lines = list(lines_of(" ".join(draw.choices(words, k=150))[:990] for _ in range(60_000)))
learn_tokenizer(lines, TokenizerConfig(size=8_000, kind=sys.argv[1]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_special_pieces_have_the_ids_of_the_documents_dictionary(learned):
    assert learned.vocabulary[:4] == ("<sos>", "<pad>", "<eos>", "<oov>")


@pytest.mark.parametrize("objective", OBJECTIVE_PIECES)
def test_pieces_that_an_objective_needs_are_there_and_are_special(learned, objective):
    needed = OBJECTIVE_PIECES[objective]
    assert set(needed) <= learned.special_pieces
    assert learned.with_pieces(needed).fingerprint == learned.fingerprint


def test_the_vocabulary_has_the_size_that_was_asked_for_and_no_piece_twice(learned):
    assert learned.size == len(set(learned.vocabulary)) == 420


def test_the_ids_are_those_of_the_sentencepiece_model(learned):
    processor = sentencepiece.SentencePieceProcessor(model_proto=learned.model)
    assert [processor.id_to_piece(n) for n in range(learned.size)] == list(learned.vocabulary)
    specials = (processor.bos_id(), processor.pad_id(), processor.eos_id(), processor.unk_id())
    assert specials == (0, 1, 2, 3)


def test_no_text_is_unknown(learned, texts):
    for text in [*texts[:50], "\U0001f600 \u4f60\u597d \u05d0\n\t\x01", "<sos><mask>"]:
        assert UNKNOWN_ID not in learned.encode(text)


def test_special_pieces_cannot_be_typed(learned):
    special = {learned.id_of[piece] for piece in learned.special_pieces}
    for piece in learned.special_pieces:
        assert not special & set(learned.encode(f"a {piece} b").tolist())


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_seed_gives_one_vocabulary_in_any_process(texts, kind):
    config = TokenizerConfig(size=420, kind=kind, seed=11)
    here = [learn_tokenizer(texts, config).fingerprint for _ in range(2)]
    command = [sys.executable, "-c", FROM_ANOTHER_PROCESS, kind, "11"]
    there = subprocess.check_output(command, text=True).strip()
    assert {*here, there} == {here[0]}


@pytest.mark.parametrize("letter", ["x", "\u00e9", "\u4f60", "\U0001f600"])
@pytest.mark.parametrize("num_letters", [999, 1_000, 1_001, 10_000])
def test_long_lines_are_cut_so_that_sentencepiece_leaves_none_out(letter, num_letters):
    parts = list(lines_of([letter * num_letters]))
    assert "".join(parts) == letter * num_letters
    assert all(len(part.encode()) <= learning.NUM_LONGEST_LINE_BYTES for part in parts)


def test_long_lines_are_cut_at_spaces_where_there_are_any():
    text = " ".join(["word"] * 5_000)
    parts = list(lines_of([text]))
    assert "".join(parts) == text
    assert all(set(part.split()) == {"word"} for part in parts)


def test_a_text_of_several_lines_is_learned_line_by_line():
    assert list(lines_of(["a\nb\r\nc", "d"])) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("texts", [[], [""], [" ", "\n\n"], ["\u2585 \u2585"]])
def test_no_text_is_answered_in_a_sentence(texts):
    with pytest.raises(TokenizerError, match="no text to learn from"):
        learn_tokenizer(texts, TokenizerConfig())


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize("text", ["a", "one two three two one", "\u00e9t\u00e9 " * 50])
def test_too_little_text_is_told_a_size_that_works(kind, text):
    with pytest.raises(TokenizerError) as caught:
        learn_tokenizer([text], TokenizerConfig(size=5_000, kind=kind))
    assert "5,000" in str(caught.value)
    size = int(str(caught.value).rstrip(".").split()[-1].replace(",", ""))
    assert learn_tokenizer([text], TokenizerConfig(size=size, kind=kind)).size == size


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_too_many_letters_for_a_size_are_answered_without_internals(kind):
    letters = "".join(chr(0x4E00 + number) for number in range(1_000))
    with pytest.raises(TokenizerError) as caught:
        learn_tokenizer([letters], TokenizerConfig(size=300, kind=kind))
    assert ".cc" not in str(caught.value)
    assert "--character_coverage" not in str(caught.value)
    assert "size" in str(caught.value)


def test_every_line_of_the_text_is_learned_from(texts):
    marked = learn_tokenizer([f"{text} \u2585" for text in texts], TokenizerConfig(size=420))
    assert set(marked.vocabulary) & set("abcdef")


@pytest.mark.parametrize("size", [0, -1, 263, 1_000_001])
def test_a_size_out_of_range_is_answered_with_the_range(size):
    with pytest.raises(RecipeError) as caught:
        TokenizerConfig(size=size)
    for word in (f"{size:,}", "264", "1,000,000"):
        assert word in str(caught.value)


def test_an_unknown_kind_is_answered_with_the_kinds():
    with pytest.raises(RecipeError, match=r"'unigramm'.*unigram, bpe"):
        TokenizerConfig(kind="unigramm")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory otherwise")
@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_learning_from_a_part_of_a_large_corpus_takes_less_than_a_gigabyte(kind):
    command = [sys.executable, "-c", LEARN_AND_WEIGH, kind]
    assert int(subprocess.check_output(command, text=True)) < 1 << 20
