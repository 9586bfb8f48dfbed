"""Progress in a pipe: plain lines now and then, with what is left where that can be known."""

import pytest

from headstart.apps.cli import progress
from headstart.apps.cli.progress import shown_progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test moves on."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_line_says_how_much_is_done_how_fast_and_what_is_left(clock, capsys):
    with shown_progress("Reading", 10 << 20, "bytes") as advance:
        clock[0] = 1.0
        advance(1 << 20)
        clock[0] = 4.0
        advance(1 << 20)
    assert capsys.readouterr().err == ("Reading: 2 MiB of 10 MiB, 512 KiB/s, 16 seconds left\n")


def test_a_line_without_a_total_says_nothing_of_what_is_left(clock, capsys):
    with shown_progress("Reading", None, "bytes") as advance:
        clock[0] = 4.0
        advance(2 << 20)
    assert capsys.readouterr().err == "Reading: 2 MiB, 512 KiB/s\n"


@pytest.mark.parametrize(
    ("num_done", "pace"), [(2, "0.5/s"), (38, "9.5/s"), (520, "130/s"), (6_000, "1,500/s")]
)
def test_a_pace_is_written_as_people_write_numbers(num_done, pace, clock, capsys):
    with shown_progress("Translating", 10_000, "steps") as advance:
        clock[0] = 4.0
        advance(num_done)
    assert f" of 10,000, {pace}, " in capsys.readouterr().err
