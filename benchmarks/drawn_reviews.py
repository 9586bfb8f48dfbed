"""Reviews that nobody wrote: as long as real ones, of pieces and words as uneven as real ones."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer
from headstart.tokenizers.tokenizer import Tokenizer

# Fitted to the 1,600 French book reviews that one learns from in Webis-CLS-10, cut by the
# documents' tokenizer: the mean and the deviation of the logarithm of their pieces. Of real ones a
# half have up to 102 pieces and 11 % more than 256; of drawn ones up to 100 and 11 %.
LOG_MEAN, LOG_DEVIATION, FEWEST = 4.607, 0.768, 9
LETTERS = np.array(list("eaisnrtoludcmpévqfbg"))
# The basic pieces of a vocabulary stand for no text.
NUM_BASIC_PIECES = 4
NUM_WORDS_IN_LINE = 50


def drawn_lengths(num_reviews: int, longest: int, seed: int = 0) -> NDArray[np.int64]:
    """Returns how many pieces each review has, long ones cut."""
    drawn = np.random.default_rng(seed).lognormal(LOG_MEAN, LOG_DEVIATION, num_reviews)
    return np.clip(drawn.astype(np.int64), FEWEST, longest)


def drawn_rows(lengths: Sequence[int], num_pieces: int, seed: int = 1) -> list[list[int]]:
    """Returns a row of ids for each length, frequent pieces as frequent as Zipf's law has them."""
    generator = np.random.default_rng(seed)
    chances = 1 / np.arange(1, num_pieces - NUM_BASIC_PIECES + 1)
    flat = generator.choice(len(chances), int(np.sum(lengths)), p=chances / chances.sum())
    parts = np.split(flat + NUM_BASIC_PIECES, np.cumsum(lengths)[:-1])
    return [part.tolist() for part in parts]


def drawn_words(num_words: int, seed: int = 2) -> list[str]:
    """Returns different words of random letters, short ones first."""
    generator = np.random.default_rng(seed)
    lengths = np.sort(generator.integers(2, 10, 2 * num_words))
    letters = "".join(generator.choice(LETTERS, int(lengths.sum())))
    ends = np.cumsum(lengths)
    words = dict.fromkeys(
        letters[end - length : end] for end, length in zip(ends, lengths, strict=True)
    )
    # Evenly out of all, so that there are long ones too.
    kept = np.linspace(0, len(words) - 1, num_words).astype(np.int64)
    every = list(words)
    return [every[place] for place in kept]


def drawn_tokenizer(words: Sequence[str], num_pieces: int) -> Tokenizer:
    """Returns a tokenizer learned from a list of words."""
    lines = [
        " ".join(words[begin : begin + NUM_WORDS_IN_LINE])
        for begin in range(0, len(words), NUM_WORDS_IN_LINE)
    ]
    return learn_tokenizer(lines, TokenizerConfig(size=num_pieces))


def drawn_texts(
    lengths: Sequence[int], words: Sequence[str], tokenizer: Tokenizer, seed: int = 3
) -> list[str]:
    """Returns a text of exactly so many pieces for each length."""
    generator = np.random.default_rng(seed)
    return [text_of(int(length), words, tokenizer, generator) for length in lengths]


def text_of(
    num_pieces: int, words: Sequence[str], tokenizer: Tokenizer, generator: np.random.Generator
) -> str:
    """Returns words in a row, as many as have so many pieces."""
    # No word joins another: the pieces of a text are those of its words.
    ranks = np.minimum(generator.zipf(1.3, num_pieces), len(words)) - 1
    chosen = [words[rank] for rank in ranks]
    counts = tokenizer.encode_all(chosen, num_threads=1).lengths
    ends = np.cumsum(counts)
    num_whole = int(np.searchsorted(ends, num_pieces, side="right"))
    missing = num_pieces - (int(ends[num_whole - 1]) if num_whole else 0)
    # What is missing is filled by a word of one piece as often as needed.
    filling = chosen[int(np.argmin(counts))]
    return " ".join([*chosen[:num_whole], *[filling] * missing])
