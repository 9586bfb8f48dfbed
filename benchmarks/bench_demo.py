"""Is pretraining worth it on real text, how long does the demo take, and in how much memory?

The demo as anyone runs it (`headstart demo`), in a folder of its own and with nothing finished
beforehand; the snippets are fetched first, since a network's speed is not the question.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from record import keep, without_folders

from headstart.corpora.named import get

SECONDS_BETWEEN_LOOKS = 0.5


def main() -> None:
    """Shows the demo once and keeps what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adapt", action="store_true", help="adapt the trunk as well")
    parser.add_argument("--offline", action="store_true", help="on generated text")
    asked = parser.parse_args()
    flags = [f"--{name}" for name in ("adapt", "offline") if getattr(asked, name)]
    if not asked.offline:
        get("rotten")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "demo"
        seconds, most_bytes = watched_run(["demo", *flags, "--out", str(out)])
        results = json.loads((out / "results.json").read_text())
        report_bytes = (out / "report.html").stat().st_size
    parts = ("verdict", "scores", "differences", "label_worth", "question", "leaks")
    answer = {name: results[name] for name in parts}
    answer["leaks"] = {name: results["leaks"][name] for name in ("sketches", "num_clean")}
    answer["question_asked"] = without_folders(answer.pop("question"))
    keep(
        "-".join(["demo", *(flag.removeprefix("--") for flag in flags)]),
        {
            "command": " ".join(["headstart", "demo", *flags]),
            "seconds": seconds,
            "most_bytes": most_bytes,
            "num_cores": len(os.sched_getaffinity(0)),
            "report_bytes": report_bytes,
            **answer,
        },
    )


def watched_run(words: list[str]) -> tuple[float, int]:
    """Runs a command; returns its seconds and the most bytes that it and its children took."""
    started_at = time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", "headstart", *words])
    most_bytes = 0
    while process.poll() is None:
        most_bytes = max(most_bytes, sum(map(resident_bytes, family(process.pid))))
        time.sleep(SECONDS_BETWEEN_LOOKS)
    if process.returncode:
        sys.exit(process.returncode)
    return time.monotonic() - started_at, most_bytes


def family(number: int) -> list[int]:
    """Returns a process and all that it started."""
    path = Path(f"/proc/{number}/task/{number}/children")
    try:
        children = [int(word) for word in path.read_text().split()]
    except OSError:
        children = []
    return [number, *(other for child in children for other in family(child))]


def resident_bytes(number: int) -> int:
    """Returns the memory of a process, what it shares with others counted in part."""
    try:
        rows = Path(f"/proc/{number}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(row.split()[1]) for row in rows if row.startswith("Pss:"))


if __name__ == "__main__":
    main()
