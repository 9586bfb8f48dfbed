"""What a run has seen of labelled texts, kept as fingerprints, so that a test can be cleaned."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from headstart.corpora.examples import Example
from headstart.corpora.leaks import SKETCH_FILE
from headstart.corpora.leaks.hashing import NUM_FINGERPRINT_BYTES, fingerprint
from headstart.corpora.leaks.normalisation import words
from headstart.errors import DamagedFileError, FileError
from headstart.files import write_bytes
from headstart.pipeline.check import check_run
from headstart.pipeline.run_files import SEEN_FILE


def write_seen(
    folder: Path,
    examples: Iterable[Example],
    unlabelled: Iterable[str] = (),
    teachers_seen: Iterable[bytes] = (),
) -> None:
    """Writes the fingerprints of all that a run learns from or chooses by; not the texts.

    What its teachers have seen is among it: their answers may tell of that.
    """
    texts = chain((example.text for example in examples), unlabelled)
    marks = {*teachers_seen, *(fingerprint(words(text)) for text in texts)} - {b""}
    write_bytes(folder / SEEN_FILE, b"".join(sorted(marks)))


def read_seen(folder: Path) -> frozenset[bytes]:
    """Returns the fingerprints of what a run has seen."""
    path = folder / SEEN_FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileError(f"Cannot read {path}: {error.strerror}.") from error
    if len(data) % NUM_FINGERPRINT_BYTES:
        raise DamagedFileError(f"{path} has {len(data):,} bytes, which are no fingerprints.")
    starts = range(0, len(data), NUM_FINGERPRINT_BYTES)
    return frozenset(data[start : start + NUM_FINGERPRINT_BYTES] for start in starts)


def clean_items(folder: Path, test: list[Example]) -> list[bool]:
    """Returns for each test item whether neither the run nor its trunk has seen it before."""
    seen = read_seen(folder)
    known: set[int] = set()
    # The trunk's own text is known by its sketch, where it left one.
    if test and (folder / SKETCH_FILE).is_file():
        known = {index for finding in check_run({"test": test}, folder) for index in finding.known}
    return [
        fingerprint(words(example.text)) not in seen and index not in known
        for index, example in enumerate(test)
    ]
