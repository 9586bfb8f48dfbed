"""Pairs are read with every fault named by its line, and no validation source is learned from."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from headstart.errors import DamagedFileError, DataError, RecipeError
from headstart.pipeline.translating.pairs import (
    MOST_HELD_OUT,
    PairsConfig,
    pair_hashes,
    read_pairs_config,
    read_parallel,
    write_pairs_config,
)


@pytest.fixture
def write(tmp_path):
    """Writes a list of pairs as two files, and returns their names."""

    def make(name: str, pairs: list[tuple[str, str]]) -> tuple[str, str]:
        paths = [tmp_path / f"{name}.{side}" for side in ("src", "tgt")]
        for path, texts in zip(paths, zip(*pairs, strict=True), strict=True):
            path.write_text("".join(f"{text}\n" for text in texts))
        return str(paths[0]), str(paths[1])

    return make


def numbered(num: int, seed: int = 0) -> list[tuple[str, str]]:
    draw = random.Random(seed)
    return [(f"one {n} {draw.random()}", f"un {n} {draw.random()}") for n in range(num)]


def config_of(train: tuple[str, str], valid: tuple[str, str] | None = None) -> PairsConfig:
    config = PairsConfig(source=train[0], target=train[1])
    if valid is None:
        return config
    return replace(config, valid_source=valid[0], valid_target=valid[1])


def test_pairs_are_read_in_their_order_with_their_lines(write):
    rows = numbered(30)
    parallel = read_parallel(config_of(write("train", rows), write("valid", numbered(5, seed=9))))
    assert [(pair.source, pair.target) for pair in parallel.train] == rows
    assert [pair.place.line for pair in parallel.train] == list(range(1, 31))
    assert len(parallel.valid) == 5
    assert parallel.complaints.summary() == []


def test_unequal_line_counts_are_an_error_that_names_the_first_line_too_many(write, tmp_path):
    source, target = write("train", numbered(4))
    Path(target).write_text("un\ndeux\n")
    with pytest.raises(DataError) as caught:
        read_parallel(config_of((source, target)))
    assert str(caught.value) == (
        f"{source} has more lines than {target}, from line 3 on. Each line needs its other side."
    )


def test_empty_sides_are_left_out_and_named_by_their_lines(write):
    rows = numbered(30)
    rows[2], rows[7] = ("", "un"), ("one", "  ")
    rows[11] = ("\t", "deux")
    source, target = write("train", rows)
    parallel = read_parallel(config_of((source, target), write("valid", numbered(2, seed=9))))
    assert [pair.place.line for pair in parallel.train] == [
        line for line in range(1, 31) if line not in {3, 8, 12}
    ]
    assert parallel.complaints.summary() == [
        f"Skipped 2 rows: the source is empty (first: {source}, line 3; {source}, line 12)",
        f"Skipped 1 row: the target is empty (first: {target}, line 8)",
    ]


def test_bytes_that_are_no_text_are_an_error_unless_they_may_be_skipped(write):
    source, target = write("train", numbered(30))
    data = Path(source).read_bytes().splitlines(keepends=True)
    Path(source).write_bytes(b"".join([*data[:4], b"caf\xe9\n", *data[5:]]))
    config = config_of((source, target), write("valid", numbered(2, seed=9)))
    with pytest.raises(DataError, match=rf"{source}, line 5: byte 4 \(0xe9\) is not UTF-8"):
        read_parallel(config)
    parallel = read_parallel(replace(config, skips_bad=True))
    assert len(parallel.train) == 29
    assert "line 5" in parallel.complaints.summary()[0]


def test_copies_of_validation_pairs_and_sources_are_left_out_of_training(write):
    rows, valid = numbered(20), numbered(5, seed=9)
    rows[3] = (valid[1][0].upper() + " !", f"« {valid[1][1]} »")
    rows[6] = (valid[2][0], "quite another target")
    rows[9] = ("another source", valid[3][1])
    source, target = write("train", rows)
    parallel = read_parallel(config_of((source, target), write("valid", valid)))
    lines = {pair.place.line for pair in parallel.train}
    # The same target alone is no copy: short ones are many.
    assert lines == set(range(1, 21)) - {4, 7}
    assert parallel.complaints.summary() == [
        f"Skipped 1 row: the pair is in the validation pairs too (first: {source}, line 4)",
        "Skipped 1 row: the source is in the validation pairs too, with another target "
        f"(first: {source}, line 7)",
    ]


def test_at_most_a_few_lines_are_shown_and_all_are_counted(write):
    valid = numbered(50, seed=9)
    source, target = write("train", [*numbered(10), *valid])
    parallel = read_parallel(config_of((source, target), write("valid", valid)))
    (line,) = parallel.complaints.summary()
    assert line.startswith("Skipped 50 rows:")
    assert line.count("line ") == 3


def test_without_validation_files_some_pairs_are_held_out_by_their_sources(write):
    rows = [row for row in numbered(200) for _ in range(2)]
    config = config_of(write("train", rows))
    parallel = read_parallel(config)
    assert len(parallel.valid) == 20
    assert len(parallel.train) == 380
    sources = [{pair.source for pair in split} for split in (parallel.train, parallel.valid)]
    assert not sources[0] & sources[1]
    again, other = read_parallel(config), read_parallel(replace(config, draw=1))
    assert again.valid == parallel.valid
    assert other.valid != parallel.valid


def test_no_more_is_held_out_than_a_look_can_read(write):
    parallel = read_parallel(config_of(write("train", numbered(50_000))))
    assert len(parallel.valid) == MOST_HELD_OUT


def test_too_few_sources_to_hold_any_out_are_refused(write):
    with pytest.raises(DataError, match=r"pairs \(2\) have too few different sources \(1\)"):
        read_parallel(config_of(write("train", [("one", "un"), ("One.", "une")])))


def test_where_nothing_is_left_the_reasons_are_said(write):
    valid = numbered(3)
    with pytest.raises(DataError, match=r"No training pair is left.*3 rows: the pair is in the"):
        read_parallel(config_of(write("train", valid), write("valid", valid)))


def test_one_validation_file_alone_is_refused():
    with pytest.raises(DataError, match=r"are v.src and no target\. Name both files"):
        PairsConfig(source="a", target="b", valid_source="v.src")
    with pytest.raises(DataError, match=r"The longest ratio is 0\.5"):
        PairsConfig(source="a", target="b", longest_ratio=0.5)
    with pytest.raises(RecipeError, match="most_pieces is 0"):
        PairsConfig(source="a", target="b", most_pieces=0)


def test_where_pairs_came_from_is_read_as_it_was_written(write, tmp_path):
    config = config_of(write("train", numbered(3)), write("valid", numbered(2)))
    hashes = pair_hashes(config)
    assert len(hashes) == 4
    write_pairs_config(tmp_path, config, hashes)
    assert read_pairs_config(tmp_path) == (config, hashes)
    path = tmp_path / "pairs.json"
    path.write_text(path.read_text().replace("train", "brain", 1))
    with pytest.raises(DamagedFileError):
        read_pairs_config(tmp_path)
