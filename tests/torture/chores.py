"""Work that workers can be given: small enough to be done in no time, or long enough to be cut."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from headstart.errors import DataError
from headstart.pipeline.comparing.workers import serve
from headstart.pipeline.watch import Watch


@dataclass(frozen=True)
class Chore:
    """Something to do, with a folder to show for it."""

    name: str
    folder: Path
    num_bytes: int = 0


def do_chore(chore: Chore, watch: Watch) -> bool:
    """Does what the name of a chore says, and leaves the number of its process behind."""
    (chore.folder / f"{chore.name}.begun").write_text(str(os.getpid()))
    if chore.name.startswith("fail"):
        raise DataError("The milk is sour.")
    if chore.name.startswith("bug"):
        raise ZeroDivisionError("nothing to divide by")
    if chore.name.startswith("die"):
        os._exit(9)
    if chore.name.startswith("long"):
        while not watch.should_stop():
            time.sleep(0.01)
        (chore.folder / f"{chore.name}.kept").touch()
        return False
    (chore.folder / f"{chore.name}.done").touch()
    return True


def serve_though_told_to_stop(line, stop, do) -> None:
    """The life of a worker that is told to stop before it has begun."""
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(os.getpid(), number)
    serve(line, stop, do)
