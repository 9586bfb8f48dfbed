"""Tensors as a file: what others can read, the same bytes for the same tensors, read or refused."""

import pytest
import safetensors.torch
import torch

from headstart.checkpoints.tensor_file import TYPE_NAMES, read_tensors, write_tensors
from headstart.errors import DamagedFileError, FileError
from headstart.files import sha256_of, write_bytes


def some_tensors() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(4)
    return {
        "matrix": torch.randn(5, 3, generator=generator),
        "a count": torch.tensor(7.0),
        "nothing": torch.zeros(0, 4),
        "turned": torch.randn(4, 6, generator=generator).T,
        "every other": torch.arange(10)[::2],
    }


def assert_same(seen, expected) -> None:
    assert seen.keys() == expected.keys()
    for name, tensor in expected.items():
        assert seen[name].dtype == tensor.dtype, name
        assert seen[name].shape == tensor.shape, name
        assert torch.equal(seen[name], tensor), name


def test_tensors_survive_the_round_trip_bit_for_bit(tmp_path):
    tensors = some_tensors()
    digest = write_tensors(tmp_path / "file", tensors)
    assert digest == sha256_of(tmp_path / "file")
    assert_same(read_tensors(tmp_path / "file", digest), tensors)


@pytest.mark.parametrize("dtype", TYPE_NAMES, ids=str)
def test_every_type_of_the_table_survives(tmp_path, dtype):
    tensors = {"x": torch.tensor([0, 1, 1, 0]).to(dtype)}
    digest = write_tensors(tmp_path / "file", tensors)
    assert_same(read_tensors(tmp_path / "file", digest), tensors)


def test_the_library_of_the_format_reads_the_same(tmp_path):
    write_tensors(tmp_path / "file", some_tensors())
    assert_same(safetensors.torch.load_file(tmp_path / "file"), some_tensors())


def test_the_order_in_which_tensors_come_does_not_matter(tmp_path):
    tensors = some_tensors()
    one = write_tensors(tmp_path / "one", tensors)
    assert write_tensors(tmp_path / "two", dict(reversed(tensors.items()))) == one


def test_tensors_that_were_read_make_the_bytes_that_they_were_read_from(tmp_path):
    digest = write_tensors(tmp_path / "one", some_tensors())
    again = read_tensors(tmp_path / "one", digest)
    assert write_tensors(tmp_path / "two", again) == digest


def test_what_becomes_of_the_file_does_not_touch_what_was_read(tmp_path):
    path = tmp_path / "file"
    digest = write_tensors(path, some_tensors())
    seen = read_tensors(path, digest)
    with path.open("r+b") as handle:
        handle.write(bytes(path.stat().st_size))
    assert_same(seen, some_tensors())
    seen["matrix"].add_(1)
    assert path.read_bytes() == bytes(path.stat().st_size)


def test_a_flipped_bit_is_noticed(tmp_path):
    path = tmp_path / "file"
    digest = write_tensors(path, some_tensors())
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedFileError, match=f"{path} is damaged"):
        read_tensors(path, digest)


def test_a_file_that_is_as_recorded_but_holds_no_tensors_is_refused(tmp_path):
    digest = write_bytes(tmp_path / "file", b"no tensors")
    with pytest.raises(DamagedFileError, match="is no file of tensors"):
        read_tensors(tmp_path / "file", digest)


def test_a_file_that_is_gone_is_refused(tmp_path):
    with pytest.raises(FileError, match="Cannot read"):
        read_tensors(tmp_path / "missing", "0" * 64)
