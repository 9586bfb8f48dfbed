"""The tables of how fast classifiers are."""

import pytest
from classifier_blocks import (
    CLASSIFIER_BLOCKS,
    fine_tuning,
    predicting,
    predicting_speed,
    starting,
)
from page_parts import NO_RECORD

ROW = {"median_seconds": 2.0, "min_seconds": 1.5, "max_seconds": 3.0}
RECORD = {
    "work": "some reviews",
    "date": "2026-11-15",
    "commit": "abc",
    "machine": {"processor": "any", "device": "cpu", "matrix_gflops_per_second": 100.0},
    "versions": {"torch": "2"},
    "reviews": 400,
    "padding_share": 0.042,
    "seconds": {"headstart": ROW, "theirs": ROW | {"median_seconds": 8.0}},
    "ratios": {"headstart": 1.0, "theirs": 4.0},
    "one": {"headstart": {"p50_ms": 5.04, "p95_ms": 6.0, "p50_ms_of_rounds": [4.0, 5.5]}},
    "one_ratio": 1.25,
    "ratio": 2.5,
}


@pytest.mark.parametrize("block", [fine_tuning, predicting])
def test_reviews_by_the_second(block):
    text = block(RECORD)
    assert "| headstart | 2.00 (1.50 to 3.00) | 200 | 1.00 |" in text
    assert "| theirs | 8.00 (1.50 to 3.00) | 50 | 4.00 |" in text


def test_each_says_what_is_its_own():
    assert "4.2 % of what Headstart reads is padding" in fine_tuning(RECORD)
    assert "| headstart | 5.0 ms (4.0 to 5.5) | 6.0 ms |" in predicting(RECORD)
    assert "1.25 times the pipeline's speed" in predicting(RECORD)
    assert "2.50 times as soon" in starting(RECORD)


def test_the_best_of_the_peers_ways_is_told():
    names = {"one by one": 4.0, "sorted": 2.0, "sorted, in bf16": 1.0}
    ratios = {f"Hugging Face pipeline, {name}": ratio for name, ratio in names.items()}
    theirs = {"Hugging Face pipeline": 12.0, "Hugging Face pipeline, in bf16": 10.08}
    one = RECORD["one"] | {name: {"p50_ms": time} for name, time in theirs.items()}
    text = predicting_speed(RECORD | {"one": one, "ratios": {"headstart": 0.5} | ratios})
    assert "5.0 ms, the best Hugging Face pipeline of the same shape takes 2.0 times" in text
    assert "2.0 s, the best pipeline 1.0 times as long, which is 2.0 in single precision" in text


@pytest.mark.parametrize("name", CLASSIFIER_BLOCKS)
def test_without_a_record_there_is_a_sentence(name, kept):
    kept({})
    assert CLASSIFIER_BLOCKS[name]() == NO_RECORD
