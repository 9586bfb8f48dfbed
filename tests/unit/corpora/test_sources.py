"""Names to files: files, folders and patterns, in one order everywhere, or a sentence."""

import os

import pytest

from headstart.corpora.sources import KNOWN_SUFFIXES, find_files, is_known, total_bytes
from headstart.errors import DataError


@pytest.fixture
def folder(tmp_path):
    for name in (
        "b.txt",
        "a.csv.gz",
        "deep/er/c.jsonl",
        "deep/d.parquet",
        "deep/e.spm",
        "f.tsv.zst",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")
    for name in ("picture.png", "archive.zip", "deep/notes", "table.xlsx", "x.tar.gz"):
        (tmp_path / name).write_bytes(b"\xff")
    (tmp_path / "empty").mkdir()
    return tmp_path


def names(folder, *given) -> list[str]:
    return [str(path.relative_to(folder)) for path in find_files([str(name) for name in given])]


def refused(*given) -> str:
    with pytest.raises(DataError) as caught:
        find_files([str(name) for name in given])
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_folder_stands_for_the_text_files_in_it_however_deep(folder):
    found = names(folder, folder)
    assert sorted(found) == [
        "a.csv.gz", "b.txt", "deep/d.parquet", "deep/e.spm", "deep/er/c.jsonl", "f.tsv.zst",
    ]  # fmt: skip
    assert found == names(folder, folder)


def test_files_keep_the_order_in_which_they_were_named(folder):
    assert names(folder, folder / "f.tsv.zst", folder / "b.txt") == ["f.tsv.zst", "b.txt"]


def test_a_file_named_twice_is_read_once(folder):
    assert names(folder, folder / "b.txt", folder / "*.txt", folder / "b.txt") == ["b.txt"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.txt", ["b.txt"]),
        ("?.csv.gz", ["a.csv.gz"]),
        ("**/*.jsonl", ["deep/er/c.jsonl"]),
        ("deep/[de].*", ["deep/d.parquet", "deep/e.spm"]),
    ],
)
def test_a_pattern_stands_for_what_it_matches_in_order(folder, pattern, expected):
    assert names(folder, f"{folder}/{pattern}") == expected


def test_a_pattern_can_be_relative(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert [str(path) for path in find_files(["deep/*.spm"])] == ["deep/e.spm"]


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(folder):
    (folder / "odd[1].txt").write_text("text")
    assert names(folder, folder / "odd[1].txt") == ["odd[1].txt"]


@pytest.mark.parametrize(
    "name", ["absent.txt", "*.none", "a**.txt", "x" * 5_000, "b.txt/inside", "[", "a\0b", "~nobody"]
)
def test_a_name_for_which_there_is_nothing_is_repeated(folder, name):
    assert name.split("\0")[0][:6] in refused(folder / name)


def test_a_stream_is_not_said_to_be_missing(folder):
    os.mkfifo(folder / "pipe")
    assert "is a stream or a device" in refused(folder / "pipe")


@pytest.mark.parametrize(
    ("name", "data"), [("a.xlsx", b"a"), ("a.dat", b"PK\3\4"), ("a", b"%PDF-1")]
)
def test_a_spreadsheet_or_document_is_refused_by_its_ending_or_bytes(folder, name, data):
    (folder / name).write_bytes(data)
    assert "Save it as .csv or .txt" in refused(folder / name)


def test_no_name_at_all_is_refused(folder):
    assert "Name" in refused()


def test_an_empty_name_does_not_stand_for_the_folder_one_is_in(folder, monkeypatch):
    monkeypatch.chdir(folder)
    refused("")


def test_a_folder_without_text_says_what_would_be_read(folder):
    sentence = refused(folder / "empty")
    assert str(folder / "empty") in sentence
    assert all(suffix in sentence for suffix in KNOWN_SUFFIXES)


def test_a_pattern_passes_over_what_is_no_text_as_a_folder_does(folder):
    assert "picture.png" not in names(folder, folder / "*")


@pytest.mark.parametrize("suffix", KNOWN_SUFFIXES)
@pytest.mark.parametrize("compression", ["", ".gz", ".bz2", ".xz", ".zst", ".GZ"])
def test_known_files_are_known_however_compressed(folder, suffix, compression):
    assert is_known(folder / f"a{suffix}{compression}")
    assert is_known(folder / f"a{suffix.upper()}{compression}")
    assert not is_known(folder / f"a{suffix}{compression}.bak")


def test_sizes_are_those_on_disk(folder):
    assert total_bytes([folder / "b.txt", folder / "picture.png"]) == 5
