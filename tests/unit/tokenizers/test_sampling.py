"""A sample of lines: as much as there is room for, every line with an equal chance."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.tokenizers.sampling import Sample, sample

LINES = st.lists(st.text(st.sampled_from("a\u00e9 "), max_size=12), max_size=60)


@pytest.mark.parametrize("most", [1, 5, 99, 100, 101])
def test_a_sample_has_so_many_lines_of_the_text_each_at_most_once(most):
    lines = [f"line {number}" for number in range(100)]
    kept = sample(iter(lines), 0, most)
    assert len(kept) == len(set(kept)) == min(most, 100)
    assert set(kept) <= set(lines)


@pytest.mark.parametrize("most", [{"most": 5}, {"most_bytes": 10}])
def test_a_sample_draws_every_line_with_equal_chance(most):
    lines = [f"{number:02}" for number in range(20)]
    counts = Counter(line for seed in range(2_000) for line in sample(lines, seed, **most))
    # 500 each are expected; five standard deviations are 97.
    assert all(abs(counts[line] - 500) < 97 for line in lines)


def test_long_lines_have_the_chance_of_short_ones_where_a_line_is_little_of_the_sample():
    lines = [("long " * 20 if number % 2 else "short ") + str(number) for number in range(400)]
    kept = [line for seed in range(200) for line in sample(lines, seed, most_bytes=5_000)]
    share = sum(line.startswith("long") for line in kept) / len(kept)
    # About 88 lines in each of 200 samples: five standard deviations are 0.019, and the line at
    # the edge of each sample, which a long one may miss, is another 0.006.
    assert abs(share - 0.5) < 0.025


@settings(deadline=None, max_examples=200)
@given(LINES, st.integers(1, 80), st.integers(1, 300), st.integers(0, 3))
def test_a_sample_fits_its_limits_in_the_order_of_the_text(lines, most, most_bytes, seed):
    kept = sample(iter(lines), seed, most, most_bytes)
    rest = iter(lines)
    assert all(line in rest for line in kept)
    assert len(kept) <= most
    assert sum(len(line.encode()) for line in kept) <= most_bytes or len(kept) == 1
    assert kept == sample(lines, seed, most, most_bytes)


def test_a_sample_of_a_part_is_that_of_the_least_keys_whenever_it_was_shrunk():
    draw = random.Random(1)
    rows = [(f"{number:04}", draw.random()) for number in range(500)]
    kept = Sample(50, 10_000)
    for line, key in rows:
        if key < kept.limit:
            kept.add(line, key)
            assert len(kept.lines) <= 64
    kept.shrink()
    least = sorted(rows, key=lambda row: row[1])[:50]
    assert kept.lines == sorted(line for line, _ in least)


def test_all_lines_stay_where_there_is_room():
    lines = [str(number) for number in range(1_000)]
    assert sample(lines, 0) == lines


def test_a_sample_passes_over_blank_lines():
    assert sample(["", " ", "a", "\t", "b"], 0) == ["a", "b"]


def test_seeds_draw_differently():
    lines = [str(number) for number in range(1_000)]
    assert sample(lines, 1, 50) == sample(lines, 1, 50) != sample(lines, 2, 50)


def test_copies_of_a_line_count_once_wherever_they_stand():
    lines = [f"line {number}" for number in range(50)]
    assert sample([*lines, *lines, "line 7"], seed=3) == lines


def test_a_line_is_chosen_or_not_whatever_stands_around_it():
    lines = [f"line {number}" for number in range(1_000)]
    chosen = set(sample(lines, seed=1, most=100))
    assert set(sample(list(reversed(lines)), seed=1, most=100)) == chosen
