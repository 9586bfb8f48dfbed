"""Run, texts and a word to its uses, each beside the uses most like it in context."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from headstart.errors import DataError, RecipeError
from headstart.evaluation.neighbours import nearest_neighbours
from headstart.pipeline.embed import Passage, Use, Vectors, embed_words
from headstart.pipeline.run_folder import Run

# Every use is held against every other: more would fill the memory, and tell a person no more.
NUM_MOST_USES = 2_000
# Around a word, what is no part of it: "bank," and "(bank" are uses of "bank".
AROUND = re.compile(r"^\W+|\W+$")


@dataclass(frozen=True)
class LikeUse:
    """Another use of a word, and how alike the two are."""

    use: Use
    cosine: float


@dataclass(frozen=True)
class UseInContext:
    """A use of a word, and the uses most like it, the most alike first."""

    use: Use
    nearest: tuple[LikeUse, ...]


@dataclass(frozen=True, kw_only=True)
class Neighbourhood:
    """The uses of a word in some texts."""

    word: str
    num_uses: int
    """All there are; of very many only the first are compared, and of copies one."""
    uses: tuple[UseInContext, ...]


def neighbours(run: Run, parts: Iterable[Passage], word: str, count: int) -> Neighbourhood:
    """Returns each use of a word with the `count` uses most like it."""
    if not bare(word) or len(word.split()) != 1:
        raise RecipeError(f"{word!r} is no word. Name one word, without spaces.")
    vectors: list[Vectors] = []
    uses: list[Use] = []
    known: set[tuple[str, int]] = set()
    num_uses = 0
    for vector, use in uses_of(run, parts, word):
        num_uses += 1
        # A copy of a text is most like its original, which tells nobody anything.
        where = (use.passage.text, use.word.begin)
        if where not in known and len(uses) < NUM_MOST_USES:
            known.add(where)
            vectors.append(vector)
            uses.append(use)
    if len(uses) < 2:
        raise DataError(
            f"The texts have {len(uses)} different uses of the word {word!r}; at least 2 are "
            "needed to compare them. Name another word, or give more text."
        )
    found = nearest_neighbours(np.stack(vectors), count)
    return Neighbourhood(
        word=word,
        num_uses=num_uses,
        uses=tuple(
            UseInContext(use, tuple(LikeUse(uses[place], cosine) for place, cosine in nearest))
            for use, nearest in zip(uses, found, strict=True)
        ),
    )


def uses_of(run: Run, parts: Iterable[Passage], word: str) -> Iterator[tuple[Vectors, Use]]:
    """Yields each use of a word with its vector; passages without the word are not read."""
    wanted = bare(word)

    def is_wanted(use: Use) -> bool:
        return bare(use.text) == wanted

    with_word = (part for part in parts if any(is_wanted(Use(part, found)) for found in part.words))
    for vectors, uses in embed_words(run, with_word):
        yield from (pair for pair in zip(vectors, uses, strict=True) if is_wanted(pair[1]))


def bare(word: str) -> str:
    """Returns a word without the signs around it, and without its capitals."""
    return AROUND.sub("", word).casefold()
