"""The rows that were skipped while a text was encoded, kept with its store for later runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from headstart.corpora.places import Complaints, Place
from headstart.files import read_json, write_json

SKIPPED_FILE = "skipped.json"


def write_skipped(folder: Path, complaints: Complaints, paths: Sequence[Path]) -> None:
    """Notes what was skipped, and where by the numbers of files, which may be moved."""
    rows = [
        {
            "what": what,
            "count": count,
            "first": [[paths.index(at.path), at.line] for at in complaints.first_places[what]],
        }
        for what, count in complaints.counts.items()
    ]
    write_json(folder / SKIPPED_FILE, rows)


def read_skipped(folder: Path, paths: Sequence[Path]) -> Complaints:
    """Returns what was skipped, with the places where it lies now; nothing where none was noted."""
    complaints = Complaints(skips_bad=True)
    if (folder / SKIPPED_FILE).exists():
        for row in cast("list[dict[str, Any]]", read_json(folder / SKIPPED_FILE)):
            what = row["what"]
            complaints.counts[what] = row["count"]
            complaints.first_places[what] = [
                Place(paths[number], line) for number, line in row["first"]
            ]
    return complaints
