"""How a verb speaks to whoever started it: what it says, shows, and whether it should stop."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headstart.corpora.documents import Document, Reading, read_documents


@dataclass(frozen=True, kw_only=True)
class StepProgress:
    """How far a run has come."""

    step: int
    num_steps: int
    loss: float
    tokens_per_second: float
    seconds_left: float
    seconds_since_checkpoint: float


def read_quietly(paths: Sequence[Path], reading: Reading, _what: str) -> Iterator[Document]:
    """Yields documents without a word."""
    return read_documents(paths, reading)


@dataclass(frozen=True, kw_only=True)
class Watch:
    """What a long job tells, and asks, as it goes along; by default nothing and no one."""

    say: Callable[[str], None] = lambda _line: None
    """Takes one line for the person, such as a warning."""
    read: Callable[[Sequence[Path], Reading, str], Iterator[Document]] = read_quietly
    """Reads documents while it shows how far it is."""
    show: Callable[[StepProgress], None] = lambda _progress: None
    should_stop: Callable[[], bool] = lambda: False
