"""Pairs as rows of pieces: what is too long or too odd is left out by its line and counted."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from headstart.apps.recipes.base import base
from headstart.apps.recipes.small import small
from headstart.corpora.pairs import Pair
from headstart.corpora.places import Complaints, Place
from headstart.errors import DataError
from headstart.pipeline.translating.pair_rows import (
    PairLimits,
    as_pair_rows,
    limits_of,
    ready_pairs,
    what_is_wrong,
)
from headstart.pipeline.translating.pair_tokenizers import PairTokenizers
from headstart.pipeline.translating.pairs import PairsConfig, Parallel

PATH = Path("train.src")
CONFIG = PairsConfig(source="a", target="b")


@pytest.fixture
def tokenizers(toy_tokenizer):
    return PairTokenizers(toy_tokenizer, toy_tokenizer)


def pairs_of(*texts: tuple[str, str]) -> list[Pair]:
    return [Pair(*both, Place(PATH, line)) for line, both in enumerate(texts, start=1)]


def test_rows_are_what_the_tokenizer_makes_of_each_text(tokenizers, toy_documents):
    texts = toy_documents(12)
    pairs = pairs_of(*zip(texts[:6], texts[6:], strict=True))
    rows, kept = as_pair_rows(
        pairs, tokenizers, PairLimits(1_000, math.inf), Complaints(skips_bad=False), 1
    )
    assert kept == pairs
    for number, pair in enumerate(pairs):
        assert np.array_equal(rows.sources[number], tokenizers.source.encode(pair.source))
        assert np.array_equal(rows.targets[number], tokenizers.target.encode(pair.target))
        # An end stands behind each.
        assert rows.source_lengths[number] == len(rows.sources[number]) + 1
        assert rows.target_lengths[number] == len(rows.targets[number]) + 1


@pytest.mark.parametrize(
    ("num_source", "num_target", "wrong"),
    [
        (100, 100, None),
        (101, 4, "a side has more than 100 pieces"),
        (4, 101, "a side has more than 100 pieces"),
        (90, 10, None),
        (91, 10, "one side is more than 9 times as long as the other"),
        (1, 12, "one side is more than 9 times as long as the other"),
        # Of so few pieces nothing can be told.
        (1, 10, None),
    ],
)
def test_what_is_wrong_with_a_pair_is_told_by_its_lengths(num_source, num_target, wrong):
    assert what_is_wrong(num_source, num_target, PairLimits(100, 9.0)) == wrong


def test_odd_pairs_are_left_out_of_training_but_not_of_validation(tokenizers):
    long = "the house watches the river " * 8
    pairs = pairs_of(("the house", "the river"), ("the house", long), (long, long * 9))
    complaints = Complaints(skips_bad=False)
    parallel = Parallel(train=pairs, valid=pairs, complaints=complaints)
    num_pieces = len(tokenizers.source.encode(long))
    ready = ready_pairs(parallel, tokenizers, PairLimits(num_pieces, 9.0), 1)
    assert [place.line for place in ready.train.places] == [1]
    assert [place.line for place in ready.valid.places] == [1, 2]
    assert ready.references == ["the river", long]
    assert complaints.summary() == [
        f"Skipped 2 rows: a side has more than {num_pieces} pieces "
        "(first: train.src, line 3; train.src, line 3)",
        "Skipped 1 row: one side is more than 9 times as long as the other "
        "(first: train.src, line 2)",
    ]


def test_where_no_pair_is_left_the_reasons_are_said(tokenizers):
    pairs = pairs_of(("the house", "the river"))
    parallel = Parallel(train=pairs, valid=pairs, complaints=Complaints(skips_bad=False))
    with pytest.raises(DataError, match=r"No training pair is left: Skipped .* more than 1 pieces"):
        ready_pairs(parallel, tokenizers, PairLimits(1, 9.0), 1)


def test_a_text_has_room_in_the_positions_and_in_a_step_with_its_mark():
    assert limits_of(base(), CONFIG) == PairLimits(2_047, 9.0)
    assert limits_of(small(), replace(CONFIG, most_pieces=80)) == PairLimits(80, 9.0)
    narrow = replace(small(), length=10, sequences_per_step=20)
    assert limits_of(narrow, CONFIG).most_pieces == 199
    assert limits_of(narrow, replace(CONFIG, most_pieces=5_000)).most_pieces == 199
