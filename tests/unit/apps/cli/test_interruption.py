"""Ctrl-C reaches a job that is inside a library, and its answer or error comes back."""

import signal
import subprocess
import sys
import time

import pytest

from headstart.apps.cli.interruption import interruptible

# A wait off the main thread hears no signal, as a call into C++ does not.
DEAF = """
import threading
from headstart.apps.cli.interruption import interruptible

print("begun", flush=True)
try:
    interruptible(lambda: threading.Event().wait(60))
except KeyboardInterrupt:
    print("heard")
"""


def test_an_answer_comes_back():
    assert interruptible(lambda: 2 + 2) == 4


def test_an_error_is_raised_where_the_answer_is_waited_for():
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0)


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal as POSIX has it")
def test_ctrl_c_is_heard_at_once_and_the_job_ends_with_the_process():
    process = subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=30)
    assert (process.returncode, rest) == (0, "heard\n")
