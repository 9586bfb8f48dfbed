"""Pairs: each source with its target, from two files or one table, and none torn apart."""

import lzma

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.corpora.documents import Reading
from headstart.corpora.pairs import read_pair_table, read_pairs
from headstart.errors import DataError

LINE = st.sampled_from([b"one", "d\u00e9j\u00e0".encode(), b" two ", b"\xff", b"a\0b", b"", b"  "])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pairs")


def written(folder, name: str, data: bytes | str):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def two_files(folder, sources, targets):
    lines = [b"".join(line + b"\n" for line in side) for side in (sources, targets)]
    return written(folder, "train.src", lines[0]), written(folder, "train.tgt", lines[1])


def sides(pairs) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in pairs]


def refused(make) -> str:
    with pytest.raises(DataError) as caught:
        list(make())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def is_good(line: bytes) -> bool:
    return bool(line.strip()) and b"\xff" not in line and b"\0" not in line


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(LINE, LINE), min_size=1, max_size=8))
def test_pairs_of_two_good_lines_are_kept_and_no_others(folder, rows):
    paths = two_files(folder, *zip(*rows, strict=True))
    lenient = Reading.plain(skips_bad=True)
    expected = [
        (number, source.decode(), target.decode())
        for number, (source, target) in enumerate(rows, start=1)
        if is_good(source) and is_good(target)
    ]
    try:
        pairs = list(read_pairs(*paths, lenient))
    except DataError:
        pairs = []  # as a file without any pair may be answered
    assert [(pair.place.line, pair.source, pair.target) for pair in pairs] == expected
    assert bool(lenient.complaints.counts) == (len(expected) < len(rows))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(LINE, LINE), min_size=1, max_size=8))
def test_the_first_bad_line_is_named_where_nothing_may_be_skipped(folder, rows):
    paths = two_files(folder, *zip(*rows, strict=True))
    is_bad = [not (is_good(source) and is_good(target)) for source, target in rows]
    if any(is_bad):
        number = is_bad.index(True) + 1
        assert f", line {number}: " in refused(lambda: read_pairs(*paths, Reading.plain()))
    else:
        assert len(list(read_pairs(*paths, Reading.plain()))) == len(rows)


@pytest.mark.parametrize("bad", [b"\xff", b"a\0b", b"x" * (10 << 20)])
@pytest.mark.parametrize("side", [0, 1])
def test_a_bad_last_line_is_skipped_as_any_other(folder, bad, side):
    files = [[b"a", b"b"], [b"A", b"B"]]
    files[side][1] = bad
    lenient = Reading.plain(skips_bad=True)
    assert sides(read_pairs(*two_files(folder, *files), lenient)) == [("a", "A")]
    assert sum(lenient.complaints.counts.values()) == 1


@pytest.mark.parametrize("skips_bad", [False, True])
@pytest.mark.parametrize(("num_sources", "num_targets"), [(3, 2), (2, 3), (1, 0), (0, 1), (5, 2)])
def test_a_side_that_is_longer_is_named_with_its_first_lonely_line(
    folder, num_sources, num_targets, skips_bad
):
    paths = two_files(folder, [b"a"] * num_sources, [b"A"] * num_targets)
    sentence = refused(lambda: read_pairs(*paths, Reading.plain(skips_bad=skips_bad)))
    assert f"line {min(num_sources, num_targets) + 1}" in sentence
    assert all(str(path) in sentence for path in paths)


@pytest.mark.parametrize("missing", ["train.src", "train.tgt"])
def test_a_side_that_is_not_there_is_named_with_what_to_name(tmp_path, missing):
    for name in {"train.src", "train.tgt"} - {missing}:
        written(tmp_path, name, "a\n")
    paths = (tmp_path / "train.src", tmp_path / "train.tgt")
    sentence = refused(lambda: read_pairs(*paths, Reading.plain()))
    assert sentence.startswith(f"There is no file '{tmp_path / missing}'. Name a file with a text")


@pytest.mark.parametrize("skips_bad", [False, True])
def test_two_empty_files_are_refused(folder, skips_bad):
    paths = two_files(folder, [], [])
    assert "train." in refused(lambda: read_pairs(*paths, Reading.plain(skips_bad=skips_bad)))


def test_an_empty_side_is_named_or_counted(folder):
    paths = two_files(folder, [b"a", b"b", b"c"], [b"A", b" ", b"C"])
    sentence = refused(lambda: read_pairs(*paths, Reading.plain()))
    assert "line 2: the target is empty" in sentence
    lenient = Reading.plain(skips_bad=True)
    assert sides(read_pairs(*paths, lenient)) == [("a", "A"), ("c", "C")]
    assert sum(lenient.complaints.counts.values()) == 1


def test_an_empty_target_is_placed_in_the_file_of_the_targets(folder):
    paths = two_files(folder, [b"a"], [b""])
    assert str(paths[1]) in refused(lambda: read_pairs(*paths, Reading.plain()))


def test_the_two_files_may_be_compressed_each_in_its_way(folder):
    source = written(folder, "a.src.xz", lzma.compress(b"a\nb\n"))
    target = written(folder, "a.tgt", "A\r\nB")
    assert sides(read_pairs(source, target, Reading.plain())) == [("a", "A"), ("b", "B")]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("p.csv", 'source,target\n"a, a",A\nb,B\n'),
        ("p.tsv", "n\tsrc\ttgt\n0\ta, a\tA\n1\tb\tB\n"),
        ("p.jsonl", '{"input": "a, a", "output": "A"}\n{"output": "B", "input": "b"}\n'),
        ("p.csv", 'Source,Translation\n"a, a",A\nb,B\n'),
    ],
)
def test_a_table_has_a_column_for_each_side(folder, name, data):
    pairs = list(read_pair_table(written(folder, name, data), Reading.plain()))
    assert sides(pairs) == [("a, a", "A"), ("b", "B")]


@pytest.mark.parametrize(("header", "missing"), [("a,target", "source"), ("source,b", "target")])
def test_a_missing_column_is_answered_with_those_there_are(folder, header, missing):
    path = written(folder, "p.csv", f"{header}\nx,y\n")
    sentence = refused(lambda: read_pair_table(path, Reading.plain()))
    for word in (str(path), missing, header.replace(",", ", ")):
        assert word in sentence


@pytest.mark.parametrize("skips_bad", [False, True])
@pytest.mark.parametrize("data", ["source,target\n", ""])
def test_a_table_without_pairs_is_refused(folder, data, skips_bad):
    path = written(folder, "p.csv", data)
    sentence = refused(lambda: read_pair_table(path, Reading.plain(skips_bad=skips_bad)))
    assert str(path) in sentence


def test_bad_rows_of_a_table_are_named_or_counted(folder):
    rows = ['{"source": "a", "target": "A"}', '{"source": "b"}', '{"source": " ", "target": "C"}']
    path = written(folder, "p.jsonl", "\n".join([*rows, '{"source": "\\ud800", "target": "D"}']))
    assert "line 2" in refused(lambda: read_pair_table(path, Reading.plain()))
    lenient = Reading.plain(skips_bad=True)
    assert sides(read_pair_table(path, lenient)) == [("a", "A")]
    assert sum(lenient.complaints.counts.values()) == 3


def test_a_missing_side_is_told_which_names_are_known_and_no_option_that_is_not(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("source,french\na,b\n")
    with pytest.raises(DataError, match=r"target.*tgt, output, translation") as caught:
        list(read_pair_table(path, Reading.plain()))
    assert "--" not in str(caught.value)


@pytest.mark.parametrize("name", ["test.en", "test.txt", "test", "folder"])
def test_what_is_no_table_is_refused_with_how_two_files_are_named(folder, name):
    path = folder if name == "folder" else written(folder, name, "a line")
    sentence = refused(lambda: read_pair_table(path, Reading.plain()))
    assert "is no table of pairs" in sentence
    assert "--source and --target" in sentence
