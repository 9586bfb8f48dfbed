"""The blocks about translators say what their records hold, and where there is none, that."""

import pytest
from page_parts import NO_RECORD
from translation_blocks import (
    TRAINING,
    TRANSLATION_BLOCKS,
    home_en_fr_block,
    multi30k_block,
    training_block,
    translating_block,
    translating_speed,
    translation_training,
)

FACTS = {
    "date": "2026-11-15",
    "commit": "0123456789ab",
    "machine": {"processor": "one", "device": "another", "matrix_gflops_per_second": 100.0},
    "versions": {"torch": "2.13.0"},
}
COMMAND = "headstart train-translator --recipe small --out WORK/en-de-0"


def scores(bleu: float) -> dict[str, object]:
    return {
        "bleu": bleu,
        "bleu_low": bleu - 1.25,
        "bleu_high": bleu + 1.25,
        "chrf": 60.5,
        "signature": "nrefs:1|case:mixed|tok:13a",
    }


def pair(*by_seed: float) -> dict[str, object]:
    mean = sum(by_seed) / len(by_seed)
    return {
        "by_seed": [scores(bleu) for bleu in by_seed],
        "bleu": {"mean": mean, "low": mean - 1.5, "high": mean + 1.5},
        "chrf": {"mean": 61.0},
        "num_seeds": len(by_seed),
        "num_sentences": 1_000,
    }


def run(seconds: float) -> dict[str, object]:
    return {"num_steps": 5_000, "is_side_by_side": True, "results": {"seconds": seconds}}


@pytest.fixture
def record():
    return FACTS | {
        "commands": [COMMAND],
        "beam": 4,
        "pairs": {"en-de": pair(38.0, 39.0, 40.0), "en-fr": pair(60.0)},
        "theirs": {"scores": scores(37.5), "steps": 5_000, "seconds": 70.0},
        "runs": {"en-de-0": run(100.0), "en-de-1": run(120.0), "en-fr-0": run(60.0)},
    }


def test_without_records_every_block_says_so(kept):
    kept({})
    assert {make() for make in TRANSLATION_BLOCKS.values()} == {NO_RECORD}


def test_means_seeds_and_times_are_those_of_the_record(record):
    text = multi30k_block(record)
    ours = "39.0 (37.5 to 40.5) | 38.0, 39.0, 40.0 | 61.0 | 5,000 | 2 minutes"
    assert f"| `small`, English to German | 3 | {ours} |" in text
    assert "| `small`, English to French | 1 | 60.0 (58.5 to 61.5) |" in text
    assert "| Hugging Face's Marian, English to German | 1 | 37.5 (36.2 to 38.8) |" in text
    assert "`nrefs:1|case:mixed|tok:13a`" in text
    assert "side by side" in text
    assert COMMAND in text


def test_where_marian_was_left_out_nothing_is_said_of_it(record):
    text = multi30k_block(record | {"theirs": None})
    assert "Marian" not in text


def test_speeds_and_hours_are_those_of_the_record(kept):
    speeds = {"headstart": 800_000.0, "hugging face, compiled": 500_000.0}
    record = FACTS | {
        "work": "base",
        "target_tokens_per_second": {
            name: {"median": speed, "lowest": speed - 1_000, "highest": speed + 1_000}
            for name, speed in speeds.items()
        },
        "projected_hours": {name: 2.5e9 / speed / 3_600 for name, speed in speeds.items()},
        "peak_bytes": dict.fromkeys(speeds, 8 << 30),
        "times_their_speed": 1.6,
    }
    text = training_block(record)
    assert "| headstart | 800,000 (799,000 to 801,000) | 0.87 hours | 8 GiB |" in text
    assert "1.60 times" in text
    kept(dict.fromkeys(TRAINING, record))
    assert translation_training().count("1.60 times") == len(TRAINING)


def test_times_and_texts_are_those_of_the_record():
    names = ("headstart", "another")
    record = FACTS | {
        "work": "1,000 texts, beam 4",
        "seconds": {
            name: {"median_seconds": each, "min_seconds": each - 0.5, "max_seconds": each + 0.5}
            for name, each in zip(names, (5.0, 15.0), strict=True)
        },
        "texts_per_second": dict.fromkeys(names, 200.0),
        "times_as_long_as_headstart": {"headstart": 1.0, "another": 3.0},
        "same_as_headstart": {"headstart": 1_000, "another": 999},
        "bleu": {"headstart": 39.25, "another": 39.125},
    }
    text = translating_block(record)
    assert "| another | 15.0 (14.5 to 15.5) | 200 | 3.00 | 39.12 |" in text
    assert "the same texts were written: 999 by another." in text


def test_the_speed_of_translating_is_one_sentence():
    times = {"headstart": 1.0, "ctranslate2": 0.84}
    times |= {"hugging face, as called first": 4.25, "hugging face, at its best": 3.125}
    record = FACTS | {
        "work": "1,000 texts, beam 4, 2 threads",
        "seconds": {"headstart": {"median_seconds": 5.71}},
        "times_as_long_as_headstart": times,
    }
    text = translating_speed(record)
    assert "5.7 s. With the same weights Hugging Face takes 4.2 times as long, at its best" in text
    assert "at its best 3.1 times, CTranslate2 0.84 times (" in text


def test_the_tutorial_has_its_score_with_its_interval_and_time():
    made = run(300.0) | {"recipe": "pocket", "num_steps": 2_000}
    record = FACTS | {"scores": scores(33.5), "runs": {"en-fr": made}}
    text = home_en_fr_block(record)
    assert "**33.5 BLEU** (32.2 to 34.8, over other such sentences)" in text
    assert "2,000 steps of `pocket` in 5 minutes" in text
