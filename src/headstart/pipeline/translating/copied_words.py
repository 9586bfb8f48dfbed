"""Words that a translator has no piece for, copied from where it looked in the source.

Legend: H heads, S pieces of the source, T pieces of the target.
"""

from collections.abc import Sequence
from itertools import groupby

import torch

from headstart.cut_text import WORD_START
from headstart.models.inspection import pair_weights
from headstart.pipeline.run_folder import Run
from headstart.pipeline.translating.pair_scoring import PairRow, as_pairs
from headstart.pipeline.translating.source_parts import SourcePart
from headstart.tokenizers.pieces import UNKNOWN_ID
from headstart.tokenizers.spans import cut_with_spans
from headstart.tokenizers.tokenizer import Tokenizer
from headstart.tokenizers.words import words_of


def with_copied_words(run: Run, source: str, part: SourcePart, ids: Sequence[int]) -> str:
    """Returns the text of pieces, with the most-attended word of the source for unknown ones."""
    words = word_of_piece(run.tokenizer, source)
    looked_at = most_attended(run, part, ids)
    tokenizer, text, place = run.target_tokenizer, "", 0
    for is_unknown, group in groupby(ids, key=lambda number: number == UNKNOWN_ID):
        stretch = list(group)
        if is_unknown:
            places = range(place, place + len(stretch))
            found = [words[part.begin + looked_at[number]] for number in places]
            # A word that was cut into several unknown pieces is one word.
            copied = " ".join(word for word, _ in groupby(found))
            text = f"{text.rstrip()} {copied}".lstrip()
        else:
            begins_word = tokenizer.vocabulary[stretch[0]].startswith(WORD_START)
            gap = " " if text and begins_word else ""
            text += gap + tokenizer.decode(stretch)
        place += len(stretch)
    return text


def word_of_piece(tokenizer: Tokenizer, text: str) -> list[str]:
    """Returns for each piece of a text the word that it is a piece of."""
    prepared = tokenizer.prepared(text)
    spans = cut_with_spans(tokenizer, text)
    words = [
        prepared[word.begin : word.end] for word in words_of(prepared, spans) for _ in word.ids
    ]
    # Space at the very end belongs to no word.
    return words + [""] * (len(spans) - len(words))


@torch.no_grad()
def most_attended(run: Run, part: SourcePart, ids: Sequence[int]) -> list[int]:
    """Returns for each written piece the piece of the source that all heads together saw most."""
    row = PairRow(source=part.ids, target=tuple(ids))
    across = pair_weights(run.model.trunk, as_pairs(run, [row])).across
    weight_TS = torch.stack([layer_1HTS[0].mean(dim=0) for layer_1HTS in across]).mean(dim=0)
    # The last position of the source is its end, which is no word.
    places: list[int] = weight_TS[: len(ids), :-1].argmax(dim=1).tolist()
    return places
