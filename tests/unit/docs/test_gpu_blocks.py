"""The blocks about GPUs say what their records hold, and where there is none, that."""

import pytest
from gpu_blocks import GPU_BLOCKS, fine_tuning_block, head_block, step_block
from page_parts import NO_RECORD

FACTS = {
    "date": "2026-11-16",
    "commit": "0123456789ab",
    "machine": {"processor": "one", "device": "another", "matrix_gflops_per_second": 100.0},
    "versions": {"torch": "2.13.0"},
    "work": "some work",
}


def test_without_records_every_block_says_so(kept):
    kept({})
    assert {make() for make in GPU_BLOCKS.values()} == {NO_RECORD}


def test_steps_are_held_to_the_best_peer_and_not_to_the_floor_or_to_ourselves():
    speeds = {
        "headstart": 300.0,
        "headstart, packed documents": 310.0,
        "one peer": 100.0,
        "another peer": 200.0,
        "floor: three bare products": 900.0,
    }
    record = FACTS | {
        "tokens": 1_000,
        "tokens_per_second": speeds,
        "seconds": {
            name: {"min_seconds": 500 / speed, "max_seconds": 2_000 / speed}
            for name, speed in speeds.items()
        },
        "gibibytes": {name: {"peak": 1.5} for name in speeds if "floor" not in name},
    }
    text = step_block(record)
    assert "some work: 1.50 times the best peer (another peer)." in text
    assert "| one peer | 100 (50 to 200) | 3.00 | 1.50 GiB |" in text
    assert "| floor: three bare products | 900 (450 to 1,800) | 0.33 |  |" in text


def test_the_parts_of_the_head_are_those_at_the_size_that_is_used():
    names = ("logits", "gradient of vectors", "gradient of table")
    parts = {f"{name}, chunks of 16384": 2.0 for name in names}
    passes = {"pass, chunks of 16384, block 2048, 4 warps": 3.0}
    whole = {"whole head, chunks of 8192, 1 GiB": 9.0, "whole head, chunks of 16384, 2 GiB": 9.5}
    errors = {"loss": 1e-6, "vectors": 0.004, "table": 0.002, "bias": 0.001}
    text = head_block(FACTS | {"milliseconds": parts | passes | whole, "errors": errors})
    assert "| the whole of it | 9.50 |" in text
    assert "| the one pass: exponentials, sums, losses | 3.00 |" in text
    assert "1e-06 of itself, the gradients by at most 0.4%" in text


@pytest.mark.parametrize("name", ["lab", "strong"])
def test_transfers_are_shown_with_the_first_by_itself(name):
    one = {"first": 12.25, "median": 5.0, "seconds": [4.0, 5.0, 6.5]}
    text = fine_tuning_block(FACTS | {"seconds": {name: one}})
    assert f"| `{name}` | 5.0 (4.0 to 6.5) | 12.2 |" in text
