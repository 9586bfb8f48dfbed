"""Examples as a transfer reads them: labels in order, draws inside draws, nothing unknown."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_transfers import LABELS, planted, write_examples, write_rows

from headstart.corpora.leaks.normalisation import normalised
from headstart.errors import DamagedFileError, DataError
from headstart.pipeline.examples import (
    ExamplesConfig,
    drawn,
    example_hashes,
    in_proportion,
    labels_of,
    read_examples_config,
    read_labelled,
    write_examples_config,
)


@pytest.fixture
def files(tmp_path):
    return write_examples(tmp_path, num_train=60)


def config_of(tmp_path, rows, columns=("text", "label"), **changes):
    return ExamplesConfig(train=str(write_rows(tmp_path / "own.csv", rows, columns)), **changes)


def texts(examples):
    return [example.text for example in examples]


@pytest.mark.parametrize(
    ("found", "ordered"),
    [
        (["10", "2", "1"], ("1", "2", "10")),
        (["3", "-1", "0"], ("-1", "0", "3")),
        (["01", "1", "0"], ("0", "01", "1")),
        (["10", "2", "two"], ("10", "2", "two")),
        (["good", "Bad", "fair"], ("Bad", "fair", "good")),
        (["--5", "3", "10"], ("--5", "10", "3")),
        (["-", "1"], ("-", "1")),
        (["²", "3"], ("3", "²")),
    ],
)
def test_labels_are_in_the_order_of_numbers_where_all_are_numbers(tmp_path, found, ordered):
    rows = [(f"text {number}", label) for number, label in enumerate(found)]
    write_rows(tmp_path / "valid.csv", [("another text", ordered[0])])
    config = config_of(tmp_path, rows, valid=str(tmp_path / "valid.csv"))
    assert read_labelled(config).labels == ordered


def test_one_label_alone_is_refused_with_its_name(tmp_path):
    with pytest.raises(DataError, match=r"one label only, 'good'"):
        read_labelled(config_of(tmp_path, [("one", "good"), ("two", "good")]))


@pytest.mark.parametrize("part", ["valid", "test"])
def test_a_label_that_nothing_was_learned_of_is_named_with_its_place(files, tmp_path, part):
    path = tmp_path / f"{part}.csv"
    write_rows(path, [*planted(5), ("odd one", "superb")])
    with pytest.raises(DataError) as caught:
        read_labelled(files)
    assert str(path) in str(caught.value)
    assert "'superb' is none of the training examples' (bad, fair, good)" in str(caught.value)
    # The row of the table, below its header.
    assert "7" in str(caught.value)


@pytest.mark.parametrize("size", [0, -1, 61, 1_000])
def test_a_size_that_cannot_be_drawn_is_refused_with_what_can(files, size):
    with pytest.raises(DataError, match=rf"^{size:,} examples were asked for, but there are 60"):
        read_labelled(replace(files, size=size))


def test_smaller_draws_are_parts_of_larger_ones_in_the_order_of_the_file(files):
    everything = texts(read_labelled(files).train)
    before: list[str] = []
    for size in range(2, 61):
        now = texts(read_labelled(replace(files, size=size, draw=3)).train)
        assert len(now) == size
        assert set(before) <= set(now) <= set(everything)
        assert now == [text for text in everything if text in set(now)]
        before = now


def test_another_draw_draws_others_and_the_same_draw_the_same(files):
    draws = [texts(read_labelled(replace(files, size=12, draw=draw)).train) for draw in range(4)]
    assert len({tuple(draw) for draw in draws}) == 4
    assert texts(read_labelled(replace(files, size=12, draw=2)).train) == draws[2]


COUNTED = st.lists(st.integers(1, 60), min_size=1, max_size=9)


@settings(deadline=None, max_examples=150)
@given(COUNTED)
def test_whatever_the_size_each_label_is_within_one_of_its_share(counts):
    num_of = {f"label {number}": count for number, count in enumerate(counts)}
    total, seen = sum(counts), Counter()
    for number, label in enumerate(in_proportion(num_of), start=1):
        seen[label] += 1
        for each, count in num_of.items():
            assert abs(seen[each] - count * number / total) < 1
    assert seen == num_of


def test_one_frequent_label_and_many_rare_ones_are_drawn_in_proportion(tmp_path):
    rows = [
        (f"text {number}", "0" if number < 900 else str(number % 7 + 1)) for number in range(1_000)
    ]
    write_rows(tmp_path / "valid.csv", rows[:1])
    labelled = read_labelled(config_of(tmp_path, rows, valid=str(tmp_path / "valid.csv")))
    for size in (10, 26, 100, 333):
        counts = Counter(example.label for example in drawn(labelled.train, size, seed=1))
        assert abs(counts["0"] - 0.9 * size) < 1
        for label in labels_of(labelled.train)[1:]:
            share = sum(example.label == label for example in labelled.train) / 1_000
            assert abs(counts[label] - share * size) < 1


def test_another_process_draws_and_splits_the_same(tmp_path):
    config = config_of(tmp_path, planted(80), size=20, draw=5)
    here = read_labelled(config)
    program = (
        "import json\n"
        "from headstart.pipeline.examples import ExamplesConfig, read_labelled\n"
        f"seen = read_labelled(ExamplesConfig(train={config.train!r}, size=20, draw=5))\n"
        "print(json.dumps([[one.text for one in part] for part in (seen.train, seen.valid)]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [texts(here.train), texts(here.valid)]


def test_without_a_validation_file_groups_and_copies_stay_on_one_side(tmp_path):
    rows = [
        (text, label, f"film {number // 4}") for number, (text, label) in enumerate(planted(120))
    ]
    # The same texts again, shouted, in groups of their own.
    rows += [
        (f"{text.upper()}!", label, f"copy {n}") for n, (text, label, _) in enumerate(rows[:30])
    ]
    columns = ("text", "label", "film")
    seen = read_labelled(config_of(tmp_path, rows, columns, group_column="film"))
    assert len(seen.train) + len(seen.valid) == 150
    assert 10 <= len(seen.valid) <= 40
    assert not {one.group for one in seen.train} & {one.group for one in seen.valid}
    sides = [{normalised(one.text) for one in part} for part in (seen.train, seen.valid)]
    assert not sides[0] & sides[1]


def test_no_more_are_held_out_than_it_takes_to_choose(tmp_path):
    rows = [f"a text number {number},{number % 2}" for number in range(9_000)]
    (tmp_path / "many.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    seen = read_labelled(ExamplesConfig(train=str(tmp_path / "many.csv")))
    assert (len(seen.train), len(seen.valid)) == (8_000, 1_000)


def test_another_draw_splits_otherwise_where_there_is_no_validation_file(tmp_path):
    config = config_of(tmp_path, planted(60))
    splits = {tuple(texts(read_labelled(replace(config, draw=n)).valid)) for n in range(4)}
    assert len(splits) == 4


def test_fewer_validation_examples_are_the_same_ones_in_every_draw(files):
    few = [read_labelled(replace(files, num_valid=6, draw=draw)).valid for draw in range(3)]
    assert few[0] == few[1] == few[2]
    assert Counter(one.label for one in few[0]) == dict.fromkeys(LABELS, 2)
    # More than there are is all there are.
    assert len(read_labelled(replace(files, num_valid=100)).valid) == 18


def test_what_could_have_been_learned_from_or_chosen_by_is_all_there_is(files):
    everything = read_labelled(files)
    few = read_labelled(replace(files, size=5, num_valid=6))
    assert few.pool == everything.pool == [*everything.train, *everything.valid]


def test_files_and_what_they_were_are_written_and_read_again(files, tmp_path):
    hashes = example_hashes(files)
    assert set(hashes) == {files.train, files.valid, files.test}
    config = replace(files, size=7, draw=2, skips_bad=True)
    write_examples_config(tmp_path, config, hashes)
    assert read_examples_config(tmp_path) == (config, hashes)
    (tmp_path / "examples.json").write_text('{"sha256": "", "value": []}')
    with pytest.raises(DamagedFileError, match=r"examples\.json"):
        read_examples_config(tmp_path)


def test_labels_that_are_given_are_taken_and_kept(files, tmp_path):
    given = replace(files, labels=("zero", *LABELS))
    assert read_labelled(given).labels == ("zero", *LABELS)
    write_examples_config(tmp_path, given, {})
    assert read_examples_config(tmp_path) == (given, {})
    with pytest.raises(DataError, match=rf"train\.csv.* the label '{LABELS[0]}' is none"):
        read_labelled(replace(files, labels=LABELS[1:]))


def test_labels_beside_texts_are_hashed_with_them(tmp_path):
    (tmp_path / "train.txt").write_text("one\ntwo\n")
    (tmp_path / "train.label").write_text("a\nb\n")
    hashes = example_hashes(ExamplesConfig(train=str(tmp_path / "train.txt")))
    assert set(hashes) == {str(tmp_path / "train.txt"), str(tmp_path / "train.label")}


def test_copies_that_leave_nothing_to_choose_by_are_refused_before_a_run_begins(tmp_path):
    config = config_of(tmp_path, [("one text", "x"), ("another", "y")] * 20)
    with pytest.raises(DataError, match=r"training examples \(40\) are copies of so few texts"):
        read_labelled(config)


def test_a_draw_of_one_label_is_refused(tmp_path):
    rows = [(f"text {number}", "x" if number % 2 else "y") for number in range(40)]
    with pytest.raises(DataError, match=r"have only the label .* Choose a larger --size"):
        read_labelled(config_of(tmp_path, rows, size=1))
    drawn_labels = {each.label for each in read_labelled(config_of(tmp_path, rows, size=2)).train}
    assert drawn_labels == {"x", "y"}
