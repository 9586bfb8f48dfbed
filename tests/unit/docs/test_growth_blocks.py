"""The blocks about growth say what their records hold, show figures that are there, or say none."""

import re
import xml.etree.ElementTree as ET

import pytest
from growth_blocks import (
    GROWTH_BLOCKS,
    preparing_block,
    steps_block,
    write_growth_figures,
)
from page_parts import NO_RECORD

FACTS = {
    "date": "2026-11-15",
    "commit": "0123456789ab",
    "machine": {"processor": "one", "device": "another", "matrix_gflops_per_second": 100.0},
    "versions": {"torch": "2.13.0"},
}
IMAGE = re.compile(r"!\[[^]]+\]\(figures/([\w-]+)\.svg\)")


def axis(values, speed, memory):
    """An axis on which everything follows powers, the plain step a tenth slower than said."""

    def costs(value, slower):
        return {"tokens_per_second": slower * 1e6 * value**speed, "peak_bytes": 1e6 * value**memory}

    names = {"ledger": 1.0, "plain": 0.9, "headstart": 2.0}
    return {
        "values": list(values),
        "points": [{name: costs(value, by) for name, by in names.items()} for value in values],
        "exponents": {
            "tokens_per_second": dict.fromkeys(names, speed),
            "peak_bytes": dict.fromkeys(names, memory),
        },
    }


@pytest.fixture
def steps():
    return FACTS | {
        "work": "lab in other sizes",
        "base": {"length": 256, "vocabulary": 4_096, "width": 128, "batch": 2, "num_layers": 2},
        "axes": {
            "length": axis((64, 128, 256), -0.25, 1.0),
            "vocabulary": axis((1_024, 4_096, 262_144), -0.75, 0.5),
            "batch": axis((2, 4, 8), 0.0, 1.25),
        },
    }


@pytest.fixture
def preparing():
    points = [
        {
            "num_bytes": size * 1_000_000,
            "num_tokens": size * 250_000,
            "seconds": size / 8,
            "peak_bytes": 300 << 20,
            "imported_bytes": 240 << 20,
            "added_bytes": 60 << 20,
            "keep_out_seconds": size / 20,
        }
        for size in (1, 4, 16)
    ]
    exponents = {"seconds": 1.0, "keep_out_seconds": 1.0, "peak_bytes": 0.0, "added_bytes": 0.01}
    return FACTS | {"work": "made-up text", "points": points, "exponents": exponents}


def test_without_records_every_block_says_so(kept, tmp_path):
    kept({})
    assert {make() for make in GROWTH_BLOCKS.values()} == {NO_RECORD}
    assert write_growth_figures(tmp_path) == []


def test_exponents_are_those_of_the_record(steps):
    text = steps_block("growth-cpu", steps)
    assert "| length | 64 | 256 | -0.25 | -0.25 | -0.25 | +1.00 | +1.00 | +1.00 |" in text
    assert "| vocabulary | 1,024 | 262,144 | -0.75 |" in text
    assert "in tokens/s the plain step has 0.90 to 0.90 of what was predicted" in text
    assert steps["commit"] in text


def test_sizes_of_a_corpus_are_rows(preparing):
    text = preparing_block(preparing)
    assert "| 16 MB | 4,000,000 | 2 seconds | 8.0 | 300 MiB | 60 MiB | 20.0 MB/s |" in text
    assert "time grows with the power +1.00" in text


def test_every_figure_shown_is_drawn_as_a_picture(kept, tmp_path, steps, preparing):
    kept({"growth": steps, "preparing": preparing})
    shown = {name for make in GROWTH_BLOCKS.values() for name in IMAGE.findall(make())}
    paths = write_growth_figures(tmp_path)
    assert {path.stem for path in paths} == shown
    assert len(paths) == 2 * len(shown) == 6
    for path in paths:
        if path.suffix == ".svg":
            assert ET.fromstring(path.read_text()).tag.endswith("svg")
