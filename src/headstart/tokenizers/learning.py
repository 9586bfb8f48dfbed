"""Learning a vocabulary from text, by SentencePiece's unigram or byte-pair algorithm."""

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import sentencepiece

from headstart.choices import nearest
from headstart.errors import RecipeError, TokenizerError, TooFewTextsError
from headstart.randomness import derive_seed
from headstart.tokenizers.pieces import (
    BASIC_PIECES,
    END,
    END_ID,
    PADDING,
    PADDING_ID,
    SPECIAL_PIECES,
    START,
    START_ID,
    UNKNOWN,
    UNKNOWN_ID,
)
from headstart.tokenizers.sampling import sample
from headstart.tokenizers.tokenizer import Tokenizer

TokenizerKind = Literal["unigram", "bpe"]

# SentencePiece leaves longer lines out without a word, so they are cut before it sees them.
NUM_LONGEST_LINE_BYTES = 4_000
NUM_BYTE_PIECES = 256
# Sums depend on how many threads share them: always as many, and a seed gives one vocabulary.
NUM_THREADS = 16
FEWEST_PIECES = len(BASIC_PIECES) + len(SPECIAL_PIECES) + NUM_BYTE_PIECES + 1
INNER_SIGN = "\u2585"
TOO_FEW_PIECES = re.compile(r"required_chars\. \d+ vs (\d+)")
TOO_MANY_PIECES = re.compile(r"<= (\d+)")


@dataclass(frozen=True, kw_only=True)
class TokenizerConfig:
    """How large a vocabulary is learned, and by which algorithm."""

    size: int = 8_000
    kind: TokenizerKind = "unigram"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.kind not in get_args(TokenizerKind):
            choices = ", ".join(get_args(TokenizerKind))
            hint = nearest(self.kind, dict.fromkeys(get_args(TokenizerKind)))
            raise RecipeError(f"There is no kind {self.kind!r}.{hint} Choose one of: {choices}.")
        if not FEWEST_PIECES <= self.size <= 1_000_000:
            raise RecipeError(
                f"The size is {self.size:,}; choose one from {FEWEST_PIECES} (special pieces and "
                "every byte) to 1,000,000."
            )


def learn_tokenizer(lines: Iterable[str], config: TokenizerConfig) -> Tokenizer:
    """Learns a vocabulary from lines of text, or a sample of them; the same for the same seed."""
    chosen = sample(visible(lines_of(lines)), config.seed)
    if not chosen:
        raise no_text()
    model = io.BytesIO()
    sentencepiece.set_random_generator_seed(derive_seed(config.seed, "tokenizer") % 2**32)
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(chosen),
            model_writer=model,
            vocab_size=config.size,
            model_type=config.kind,
            num_threads=NUM_THREADS,
            bos_id=START_ID,
            bos_piece=START,
            pad_id=PADDING_ID,
            pad_piece=PADDING,
            eos_id=END_ID,
            eos_piece=END,
            unk_id=UNKNOWN_ID,
            unk_piece=UNKNOWN,
            control_symbols=list(SPECIAL_PIECES),
            # Letters too rare for a piece are spelled in bytes, and spaces kept: text comes back.
            byte_fallback=True,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            max_sentence_length=2 * NUM_LONGEST_LINE_BYTES,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise learning_error(error, config) from error
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    pieces = processor.id_to_piece(list(range(processor.get_piece_size())))
    return Tokenizer(model.getvalue(), tuple(pieces), {})


def no_text() -> TokenizerError:
    """Returns the error for nothing to learn from."""
    return TokenizerError("There is no text to learn from. Name files that hold some.")


def learning_error(error: RuntimeError, config: TokenizerConfig) -> TokenizerError:
    """Returns what SentencePiece said as a sentence that says what to do."""
    if match := TOO_FEW_PIECES.search(str(error)):
        return TokenizerError(
            f"The text has too many different letters for {config.size:,} pieces. Choose a size "
            f"of at least {int(match[1]):,}."
        )
    if match := TOO_MANY_PIECES.search(str(error)):
        most = int(match[1])
        return TooFewTextsError(
            f"The text is too small for {config.size:,} pieces. Give more text, or choose a size "
            f"of at most {most:,}.",
            most,
        )
    # Behind the last bracket stands what was meant for people.
    reason = " ".join(str(error).rpartition("] ")[2].split()).rstrip(".") or "it is too small"
    return TokenizerError(f"SentencePiece could not learn from this text: {reason}.")


def visible(lines: Iterable[str]) -> Iterator[str]:
    """Yields lines without SentencePiece's inner sign: what holds it, it would leave out."""
    return (line.replace(INNER_SIGN, " ") for line in lines)


def lines_of(texts: Iterable[str]) -> Iterator[str]:
    """Yields the lines of texts, none longer than SentencePiece takes."""
    for text in texts:
        for line in text.splitlines():
            # At most four bytes a letter, so that a cut never splits one.
            step = NUM_LONGEST_LINE_BYTES // 4 if len(line) * 4 > NUM_LONGEST_LINE_BYTES else None
            yield from cut(line, step) if step else [line]


def cut(line: str, num_letters: int) -> Iterator[str]:
    """Yields a long line in parts, at spaces where there are any."""
    while len(line) > num_letters:
        end = line.rfind(" ", num_letters // 2, num_letters)
        end = num_letters if end < 0 else end
        yield line[:end]
        line = line[end:]
    yield line
