"""Texts without labels: which are drawn, and which are left out."""

import random
from pathlib import Path

import numpy as np
import pytest

from headstart.corpora.documents import Document
from headstart.corpora.examples import Example
from headstart.corpora.places import Place
from headstart.errors import DataError
from headstart.pipeline.unlabelled import draw_unlabelled, held_out_marks, numbered
from headstart.randomness import derive_seed

HELD_OUT = [Example("A Dull film.", "bad", Place(Path("test.csv"), 2))]


def documents_of(texts):
    return [Document(text, Place(Path("texts.txt"), line)) for line, text in enumerate(texts, 1)]


def mixed_texts(num, seed=0):
    """Texts among which every seventh is held out, and every ninth has no words."""
    draw = random.Random(seed)
    odd = {0: "a DULL film", 1: "?!"}
    return [
        odd[0]
        if number % 7 == 3
        else odd[1]
        if number % 9 == 4
        else f"text {number} {draw.random()}"
        for number in range(num)
    ]


@pytest.mark.parametrize("most", [1, 5, 40, 74, 75, 76, 200])
@pytest.mark.parametrize("seed", [0, 3])
def test_those_with_the_lowest_lots_are_kept_in_their_order(most, seed):
    texts = mixed_texts(100)
    seen = draw_unlabelled(documents_of(texts), held_out_marks(HELD_OUT), most, seed)
    lots = np.random.default_rng(derive_seed(seed, "unlabelled")).random(100)
    good = [number for number in range(100) if texts[number].startswith("text")]
    kept = sorted(sorted(good, key=lambda number: lots[number])[:most])
    assert seen.numbers == kept
    assert seen.texts == [texts[number] for number in kept]
    last = max(lots[number] for number in kept) if len(kept) == most else 2.0
    below = [texts[number] for number in range(100) if lots[number] < last]
    assert seen.num_copies == sum("DULL" in text for text in below)
    assert seen.num_wordless == sum(text == "?!" for text in below)
    assert seen.num_read == 100


def test_a_smaller_draw_is_a_part_of_a_larger_one():
    documents = documents_of(mixed_texts(60))
    small, large = (draw_unlabelled(documents, set(), most, seed=1) for most in (10, 30))
    assert set(small.numbers) < set(large.numbers)
    other = draw_unlabelled(documents, set(), 10, seed=2)
    assert other.numbers != small.numbers


def test_documents_are_found_again_by_their_numbers():
    documents = documents_of(mixed_texts(50))
    seen = draw_unlabelled(documents, held_out_marks(HELD_OUT), 20, seed=5)
    assert numbered(iter(documents), seen.numbers) == seen.documents


def test_where_nothing_is_left_it_is_said_why():
    texts = ["a dull FILM!", "...", "A dull, film"]
    with pytest.raises(DataError, match=r"Of 3 texts .* none is left .*: 2 are copies"):
        draw_unlabelled(documents_of(texts), held_out_marks(HELD_OUT), 10, seed=0)
