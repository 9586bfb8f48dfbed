"""A save that the disk refuses, at any of its calls: what was kept before is there, and is told."""

import contextlib
import errno
import os
import re
import resource
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from lives import Life, limited_life
from tiny_runs import (
    NUM_STEPS,
    SAVE_EVERY,
    Killed,
    Witness,
    assert_same_run,
    checkpoints_of,
    content,
    count,
    go_on,
    last_checkpoint,
    names_beside,
)

from headstart.checkpoints.checkpoint import newest_checkpoint
from headstart.checkpoints.names import steps_in
from headstart.errors import FileError
from headstart.files import PART
from headstart.pipeline.training_run import TrainingRun

OBJECTIVE = "causal"
CODES = (errno.ENOSPC, errno.EIO, errno.EACCES)
# What can be saved after a failure is tried after some of them only, since it takes half the time.
NUM_CALLS_BETWEEN_SAVES = count(20, 1)
# A run has to be gone on with for each failure at its end.
NUM_CALLS_BETWEEN_FAULTS = count(7, 1)
# At this step two checkpoints are there, and the older of them is to go.
STEP = 3 * SAVE_EVERY


class Faults:
    """Notes each call to the system, and fails the one whose number is given."""

    def __init__(self, fail_at: int | None = None, code: int = errno.EIO) -> None:
        self.fail_at, self.code = fail_at, code
        self.calls: list[str] = []

    def wrap(self, name, call):
        def wrapped(*arguments, **options):
            self.calls.append(name)
            if len(self.calls) - 1 == self.fail_at:
                raise OSError(self.code, os.strerror(self.code))
            return call(*arguments, **options)

        return wrapped

    @contextlib.contextmanager
    def at_work(self):
        open_file = Path.open
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                Path,
                "open",
                self.wrap(
                    "open", lambda *given, **more: FaultyHandle(open_file(*given, **more), self)
                ),
            )
            patch.setattr(Path, "mkdir", self.wrap("mkdir", Path.mkdir))
            patch.setattr(Path, "replace", self.wrap("rename file", Path.replace))
            patch.setattr(Path, "rename", self.wrap("rename folder", Path.rename))
            patch.setattr(os, "open", self.wrap("open folder", os.open))
            # Not flushed in truth: hundreds of saves would take minutes.
            patch.setattr(os, "fsync", self.wrap("fsync", lambda _descriptor: None))
            patch.setattr(shutil, "rmtree", self.wrap("remove", shutil.rmtree))
            patch.setattr(shutil, "disk_usage", self.wrap("free space", shutil.disk_usage))
            yield


class FaultyHandle:
    """An open file whose calls are noted and may fail."""

    def __init__(self, handle, faults: Faults) -> None:
        self.write = faults.wrap("write", handle.write)
        self.flush = faults.wrap("flush", handle.flush)
        self.report = faults.wrap("close", lambda: None)
        self.handle = handle
        self.fileno, self.read = handle.fileno, handle.read

    def close(self) -> None:
        """Closes the file, as a close that reports an error does too."""
        self.handle.close()
        self.report()

    def __enter__(self):
        return self

    def __exit__(self, *_raised) -> None:
        self.close()


# With what a transfer keeps, a save has half as many calls again.
KINDS = (OBJECTIVE, "full", "translation")[: count(1, 3)]


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def stopped(world, kind, tmp_path_factory):
    """A run about to save at a step: its folder, what saves it, and its state."""
    folder, live = world.fresh(kind, tmp_path_factory.mktemp("disk") / "run"), []
    save = TrainingRun.save

    def caught(run, state):
        if state.step == STEP:
            live.extend([run, state])
            raise Killed
        save(run, state)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_CACHE", str(world.cache))
        patch.setattr(TrainingRun, "save", caught)
        with pytest.raises(Killed):
            go_on(folder)
    return SimpleNamespace(folder=folder, save=lambda: save(*live))


@pytest.fixture
def ready(stopped, tmp_path):
    """The same, put back as it was when the test is done, and before each try in it."""
    kept = shutil.copytree(checkpoints_of(stopped.folder), tmp_path / "kept")

    def put_back():
        shutil.rmtree(checkpoints_of(stopped.folder))
        shutil.copytree(kept, checkpoints_of(stopped.folder))

    yield SimpleNamespace(folder=stopped.folder, save=stopped.save, put_back=put_back)
    put_back()


def calls_of(ready) -> list[str]:
    faults = Faults()
    with faults.at_work():
        ready.save()
    ready.put_back()
    return faults.calls


def newest_step(folder: Path) -> int:
    """Returns the step of the newest checkpoint, which must be whole and the first one tried."""
    said: list[str] = []
    checkpoint = newest_checkpoint(checkpoints_of(folder), said.append)
    assert said == []
    return checkpoint.step


def test_a_save_makes_every_kind_of_call_that_is_failed_here(ready):
    ready.save()
    num_files = len(list(last_checkpoint(ready.folder).iterdir()))
    ready.put_back()
    seen = Counter(calls_of(ready))
    assert set(seen) == {
        "free space",
        "mkdir",
        "open",
        "write",
        "flush",
        "fsync",
        "close",
        "rename file",
        "open folder",
        "rename folder",
        "remove",
    }
    assert seen["rename file"] == num_files
    # Each file and the folder it is named in, the folder of all, twice, and the log.
    assert seen["fsync"] == 2 * num_files + 2 + 1


@pytest.mark.parametrize("code", CODES, ids=errno.errorcode.get)
def test_whichever_call_fails_the_last_good_checkpoint_loads_and_a_line_says_why(
    ready, code, no_flushing, record_property
):
    calls = calls_of(ready)
    for number, name in enumerate(calls):
        with Faults(number, code).at_work():
            if name == "free space":
                ready.save()  # unknown is not too little; the writing itself will tell
                ready.put_back()
                continue
            with pytest.raises(FileError) as caught:
                ready.save()
        sentence, where = str(caught.value), f"{name}, call {number}: {caught.value}"
        assert len(sentence.splitlines()) == 1, where
        assert str(ready.folder) in sentence, where
        assert os.strerror(code) in sentence or "the disk is full" in sentence, where
        if "log.jsonl" not in sentence and not sentence.startswith("Cannot remove"):
            assert f"step-{STEP:08d} of " in sentence, where
            assert re.search(r"of [\d,]+ bytes could not be kept", sentence), where
        step = newest_step(ready.folder)
        # Only what follows upon the renaming of the whole may leave the new one.
        assert step == STEP - SAVE_EVERY or "rename folder" in calls[:number], where
        assert len(steps_in(checkpoints_of(ready.folder))) >= 2, where
        if number % NUM_CALLS_BETWEEN_SAVES == 0:
            ready.save()
            assert newest_step(ready.folder) == STEP
        ready.put_back()
    record_property("calls_failed", len(calls))


def test_a_run_goes_on_after_any_kind_of_failure_and_ends_as_if_none_had_been(
    world, kind, ready, tmp_path, no_flushing
):
    calls = calls_of(ready)
    kinds = list(dict.fromkeys(calls)) if count(0, 1) else ["write", "fsync", "rename folder"]
    for number, name in enumerate(kinds):
        faults = Faults(calls.index(name), CODES[number % len(CODES)])
        with faults.at_work(), contextlib.suppress(FileError):
            ready.save()
        run = shutil.copytree(ready.folder, tmp_path / str(number))
        assert go_on(run)
        assert_same_run(content(run), world.undisturbed(kind))
        assert not names_beside(run, lambda path: path.name.endswith(PART))
        ready.put_back()


@pytest.fixture(scope="module", params=[OBJECTIVE, "full", "translation"])
def ending(request):
    return request.param


@pytest.fixture(scope="module")
def at_its_end(world, ending, tmp_path_factory):
    """A run that has done all its steps, and has still to say what it is worth."""
    folder = world.fresh(ending, tmp_path_factory.mktemp("end") / "run")

    def killed(_run, _state):
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_CACHE", str(world.cache))
        patch.setattr(TrainingRun, "finish", killed)
        with pytest.raises(Killed):
            go_on(folder)
    return folder


def finish_with(faults: Faults, folder: Path, monkeypatch) -> None:
    """Goes on with a run, where only its end meets the faults."""
    finish = TrainingRun.finish

    def faulty(run, state):
        with faults.at_work():
            return finish(run, state)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingRun, "finish", faulty)
        go_on(folder)


def test_a_disk_that_fails_at_the_end_of_a_run_costs_nothing_but_going_on_again(
    world, ending, at_its_end, tmp_path, monkeypatch, no_flushing, record_property
):
    counted = Faults()
    finish_with(counted, shutil.copytree(at_its_end, tmp_path / "counted"), monkeypatch)
    numbers = range(0, len(counted.calls), NUM_CALLS_BETWEEN_FAULTS)
    for number in numbers:
        run = shutil.copytree(at_its_end, tmp_path / str(number))
        where = f"{counted.calls[number]}, call {number}"
        told: list[str] = []
        try:
            finish_with(Faults(number, CODES[number % len(CODES)]), run, monkeypatch)
        except FileError as error:
            told.extend(str(error).splitlines())
        # All but a disk that does not say how much is free is told, in one line.
        assert len(told) == (counted.calls[number] != "free space"), where
        assert all(str(run) in line or str(world.cache) in line for line in told), where
        assert go_on(run), where
        assert_same_run(content(run), world.undisturbed(ending))
        assert not names_beside(run, lambda path: path.name.endswith(PART)), where
        shutil.rmtree(run)
    record_property("calls_failed", len(numbers))


def test_a_disk_that_is_too_small_is_refused_before_the_first_step(world, tmp_path, monkeypatch):
    folder, witness = world.fresh(OBJECTIVE, tmp_path / "run"), Witness()
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=1_000))
    with pytest.raises(FileError, match=r"has 1,000 bytes free, but keeping this run needs [\d,]+"):
        go_on(folder, witness)
    assert witness.steps == []
    assert not checkpoints_of(folder).exists()


def test_a_run_with_checkpoints_needs_room_only_for_what_is_still_to_be_written(
    world, tmp_path, monkeypatch, no_flushing
):
    folder = world.fresh(OBJECTIVE, tmp_path / "run")
    go_on(folder, Witness(stop_at=2 * SAVE_EVERY))
    kept = [path.stat().st_size for path in checkpoints_of(folder).rglob("*") if path.is_file()]
    room_for_one_more = sum(kept) // 2 * 3 // 2
    monkeypatch.setattr(
        shutil, "disk_usage", lambda _folder: SimpleNamespace(free=room_for_one_more)
    )
    assert go_on(folder)
    assert_same_run(content(folder), world.undisturbed(OBJECTIVE))


@pytest.fixture
def small_disk(tmp_path):
    """A disk of two megabytes, where the system lets us have one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "headstart", str(folder)]
    if sys.platform != "linux" or shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("Only the administrator of a Linux can make a small disk.")
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("This system lets nobody make a small disk.")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_full_in_truth_costs_nothing_but_the_time_to_free_some_space(
    world, small_disk
):
    folder, ballast = world.fresh(OBJECTIVE, small_disk / "run"), small_disk / "ballast"

    class Filling(Witness):
        def show(self, progress) -> None:
            super().show(progress)
            if progress.step == STEP + 1:
                with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as handle:
                    while True:
                        handle.write(bytes(4_096))

    with pytest.raises(FileError, match=r"bytes free|the disk is full|No space left") as caught:
        go_on(folder, Filling())
    assert len(str(caught.value).splitlines()) == 1
    assert newest_step(folder) == STEP
    with pytest.raises(FileError, match=f"{re.escape(str(folder))}.*"):
        go_on(folder)
    ballast.unlink()
    assert go_on(folder)
    assert_same_run(content(folder), world.undisturbed(OBJECTIVE))


def test_a_file_that_the_system_cuts_short_costs_nothing_either(world, tmp_path):
    folder = world.fresh(OBJECTIVE, tmp_path / "run")
    go_on(folder, Witness(stop_at=SAVE_EVERY))
    life = Life(limited_life, folder, world.cache, resource.RLIMIT_FSIZE, 50_000)
    assert life.wait_for("refused")
    assert "File too large" in life.events[-1].about
    assert life.end() == 0
    assert newest_step(folder) == SAVE_EVERY
    assert not names_beside(folder, lambda path: path.name.endswith(PART))
    assert go_on(folder)
    assert_same_run(content(folder), world.undisturbed(OBJECTIVE))
    assert NUM_STEPS > 2 * SAVE_EVERY
