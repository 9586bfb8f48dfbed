"""What is printed when nobody reads any longer goes nowhere, and ends nothing."""

import io
import os
import sys

import click
import pytest

from headstart.apps.cli.closed_pipes import unbroken, unbroken_streams

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other pipes")


@pytest.fixture(params=["buffered", "unbuffered"])
def closed(request):
    """A stream into a pipe without a reader."""
    reader, writer = os.pipe()
    os.close(reader)
    raw = io.FileIO(writer, "w")
    buffer = io.BufferedWriter(raw) if request.param == "buffered" else raw
    stream = io.TextIOWrapper(buffer, encoding="utf-8", write_through=buffer is raw)
    with pytest.raises(BrokenPipeError):
        os.write(writer, b"a")
    yield stream
    stream.close()


def test_printing_goes_on_in_the_block_and_behind_it(closed, monkeypatch):
    monkeypatch.setattr(sys, "stdout", closed)
    with unbroken_streams():
        for number in range(3):
            click.echo(number)
    assert sys.stdout is closed
    click.echo("the end")


def test_what_is_read_arrives():
    reader, writer = os.pipe()
    with os.fdopen(reader) as found, os.fdopen(writer, "w") as stream:
        click.echo("Größe", file=unbroken(stream))
        assert found.readline() == "Größe\n"


def test_a_stream_that_is_none_of_the_systems_stays():
    for stream in (io.StringIO(), io.TextIOWrapper(io.BytesIO())):
        assert unbroken(stream) is stream
