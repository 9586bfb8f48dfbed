"""The machine at hand is measured once and remembered, whatever happens to the memory of it."""

import json
import os
import sys
from dataclasses import replace

import pytest

from headstart.errors import RecipeError
from headstart.models.accounting.duration import Machine
from headstart.pipeline import this_machine as module
from headstart.pipeline.this_machine import (
    choose_device,
    described_machine,
    remember,
    this_machine,
    with_memory,
)

SEEN = Machine(name="a desk", matrix_rate=1e11, pass_rate=5e9, memory_bytes=8 << 30)


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """Returns the file that measurements go to."""
    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "machines.json"


@pytest.fixture
def measurements(monkeypatch):
    """Counts measurements in place of making them."""
    devices = []

    def measure(device):
        devices.append(device)
        return SEEN

    monkeypatch.setattr(module, "measure_machine", measure)
    monkeypatch.setattr(module, "memory_bytes", lambda _device: SEEN.memory_bytes)
    return devices


def refuse(_device):
    raise AssertionError("measured again")


def test_the_second_call_does_not_measure(cache, measurements, monkeypatch):
    first = this_machine("cpu")
    monkeypatch.setattr(module, "measure_machine", refuse)
    assert this_machine("cpu") == first == SEEN
    assert measurements == ["cpu"]


def test_another_number_of_threads_is_measured_for_itself(cache, measurements, monkeypatch):
    this_machine("cpu")
    monkeypatch.setattr(module, "describe", lambda device: f"{device}, 64 threads")
    this_machine("cpu")
    assert len(measurements) == 2


def test_another_machine_with_the_same_home_is_measured_for_itself(
    cache, measurements, monkeypatch
):
    this_machine("cpu")
    monkeypatch.setattr(module.socket, "gethostname", lambda: "elsewhere")
    this_machine("cpu")
    monkeypatch.undo()
    assert len(measurements) == 2
    assert len(json.loads(cache.read_text())) == 2


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b'{"cpu": 3}',
        b'{"cpu": {"name": "a desk"}}',
        b'{"cpu": {"name": "a", "matrix_rate": 1, "pass_rate": 1, "memory_bytes": 1, "more": 1}}',
    ],
)
def test_a_damaged_file_is_measured_anew_and_made_whole(cache, measurements, damage):
    cache.parent.mkdir()
    cache.write_bytes(damage)
    assert this_machine("cpu") == SEEN
    assert this_machine("cpu") == SEEN
    assert measurements == ["cpu"]


@pytest.mark.parametrize("rate", ["fast", None, 0, -1, []])
def test_a_rate_that_is_no_rate_is_measured_anew(cache, measurements, rate):
    this_machine("cpu")
    rows = json.loads(cache.read_text())
    for row in rows.values():
        row["matrix_rate"] = rate
    cache.write_text(json.dumps(rows))
    assert this_machine("cpu") == SEEN
    assert len(measurements) == 2


def test_a_cache_that_cannot_be_a_folder_is_no_error(monkeypatch, tmp_path, measurements):
    (tmp_path / "cache").write_text("a file stands here")
    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path / "cache"))
    assert this_machine("cpu") == SEEN


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="everything can be written here"
)
def test_a_cache_that_may_not_be_written_is_no_error(cache, measurements):
    cache.parent.mkdir(mode=0o500)
    assert this_machine("cpu") == SEEN


def test_a_later_measurement_replaces_the_earlier_one(cache, measurements):
    this_machine("cpu")
    remember(replace(SEEN, matrix_rate=2e11), "cpu")
    assert this_machine("cpu").matrix_rate == 2e11
    assert measurements == ["cpu"]


def test_a_machine_with_other_memory_has_the_same_rates():
    seen = with_memory(SEEN, 0.5)
    assert seen == replace(SEEN, name="a desk with 0.5 GiB", memory_bytes=1 << 29)


def test_a_described_machine_costs_no_measurement(monkeypatch):
    monkeypatch.setattr(module, "measure_machine", refuse)
    assert described_machine(2.1, 4).matrix_rate == 2.1e12


def test_a_processor_is_always_there():
    assert choose_device("cpu") == "cpu"


@pytest.mark.parametrize(("num_gpus", "device"), [(0, "cpu"), (1, "cuda"), (2, "cuda")])
def test_auto_is_a_gpu_where_there_is_one(monkeypatch, num_gpus, device):
    monkeypatch.setattr(module.torch.cuda, "is_available", lambda: num_gpus > 0)
    monkeypatch.setattr(module.torch.cuda, "device_count", lambda: num_gpus)
    assert choose_device("auto") == device


@pytest.mark.parametrize("name", ["tpu", "", "CPU", "cuda:7", "meta"])
def test_an_unknown_device_is_answered_with_those_that_are_there(name):
    with pytest.raises(RecipeError, match=r"Choose one of: auto, cpu"):
        choose_device(name)
