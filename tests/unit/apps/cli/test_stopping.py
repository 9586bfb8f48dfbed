"""One signal asks, a second insists, and before there is work to keep the first is enough."""

import os
import signal
import sys

import pytest

from headstart.apps.cli.stopping import (
    STOPPED_CODES,
    Stopping,
    exit_if_stopped,
    stopping,
    tidied,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")

every_signal = pytest.mark.parametrize("number", STOPPED_CODES)


class Exited(BaseException):
    """Stands for the end of the process."""


@pytest.fixture(autouse=True)
def exits(monkeypatch):
    """The codes that the process would have ended with at once."""
    codes: list[int] = []

    def exit_at_once(code: int) -> None:
        codes.append(code)
        raise Exited

    monkeypatch.setattr(os, "_exit", exit_at_once)
    return codes


@every_signal
def test_the_first_signal_is_noted_and_the_work_goes_on(number, exits, capfd):
    with stopping() as asked:
        assert not asked()
        signal.raise_signal(number)
        assert asked()
    assert exits == []
    assert asked.exit_code == STOPPED_CODES[number]
    assert capfd.readouterr().err == (
        "Stopping after this step, with a checkpoint. Once more stops at once.\n"
    )


@every_signal
def test_a_second_signal_ends_the_process_at_once_with_its_code(number, exits):
    def send_two():
        with stopping() as asked:
            asked()
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(number)

    with pytest.raises(Exited):
        send_two()
    assert exits == [STOPPED_CODES[number]]


@every_signal
def test_before_there_is_work_the_first_signal_unwinds_and_ends_the_process(number, exits, capfd):
    unwound = []

    def send_one():
        with stopping():
            try:
                signal.raise_signal(number)
            finally:
                unwound.append(True)

    with pytest.raises(Exited):
        send_one()
    assert unwound == [True]
    assert exits == [STOPPED_CODES[number]]
    assert capfd.readouterr().err == "Stopped before a step was done; nothing is lost.\n"


def test_the_handlers_are_what_they_were_when_the_block_is_over():
    before = {number: signal.getsignal(number) for number in STOPPED_CODES}
    with stopping() as asked:
        assert {signal.getsignal(number) for number in STOPPED_CODES} == {asked.receive}
    assert {number: signal.getsignal(number) for number in STOPPED_CODES} == before
    with pytest.raises(ZeroDivisionError), stopping():
        raise ZeroDivisionError
    assert {number: signal.getsignal(number) for number in STOPPED_CODES} == before


def test_a_program_that_nobody_stopped_does_not_exit():
    exit_if_stopped(Stopping())


@every_signal
def test_a_program_that_was_stopped_exits_with_the_code_of_its_signal(number):
    asked = Stopping()
    asked()
    asked.receive(number, None)
    with pytest.raises(SystemExit) as caught:
        exit_if_stopped(asked)
    assert caught.value.code == STOPPED_CODES[number]


def test_a_closed_error_stream_does_not_keep_a_signal_from_being_noted(monkeypatch):
    def closed(*_arguments):
        raise BrokenPipeError

    monkeypatch.setattr(os, "write", closed)
    with stopping() as asked:
        asked()
        signal.raise_signal(signal.SIGTERM)
        assert asked()


def test_sigterm_unwinds_what_is_tidied_and_ends_with_its_code():
    before, seen = signal.getsignal(signal.SIGTERM), []

    def work():
        with tidied():
            try:
                signal.raise_signal(signal.SIGTERM)
            finally:
                seen.append("removed")

    with pytest.raises(SystemExit) as exited:
        work()
    assert exited.value.code == STOPPED_CODES[signal.SIGTERM]
    assert seen == ["removed"]
    assert signal.getsignal(signal.SIGTERM) is before
