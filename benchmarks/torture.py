"""Is anything ever lost? Every fault of the table, at full count, and what was done for each."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

from record import keep

ROOT = Path(__file__).parents[1]
# Each test runs processes and times of its own; more workers than cores would wait for each other.
PYTEST = (sys.executable, "-m", "pytest", "tests/torture", "-n", "auto", "-q")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        began_at = time.monotonic()
        done = subprocess.run(
            [*PYTEST, "-o", "junit_family=xunit1", f"--junitxml={report}"],
            cwd=ROOT,
            env=os.environ | {"HEADSTART_TORTURE": "1"},
            check=False,
        )
        minutes = (time.monotonic() - began_at) / 60
        if not report.exists():
            sys.exit(done.returncode)
        cases = ElementTree.parse(report).getroot().iter("testcase")
        tests = summary(cases)
    keep("torture", {"minutes": round(minutes, 1), "passed": done.returncode == 0, "tests": tests})
    sys.exit(done.returncode)


def summary(cases) -> dict[str, dict[str, object]]:
    """Returns what each test did: how often, how long, and the sums and maxima that it noted."""
    tests: dict[str, dict[str, object]] = defaultdict(
        lambda: {"cases": 0, "failed": 0, "skipped": 0, "seconds": 0.0}
    )
    for case in cases:
        sentence = re.sub(r"\[.*", "", case.get("name", "")).removeprefix("test_").replace("_", " ")
        row = tests[f"{case.get('classname', '').rpartition('.')[2]}: {sentence}"]
        row["cases"] += 1
        row["failed"] += case.find("failure") is not None or case.find("error") is not None
        row["skipped"] += case.find("skipped") is not None
        row["seconds"] = round(row["seconds"] + float(case.get("time", 0)), 1)
        for noted in case.iter("property"):
            add(row, noted.get("name"), noted.get("value"))
    return dict(tests)


def add(row: dict[str, object], name: str, value: str) -> None:
    """Adds a count up, keeps the largest of times and extremes, and counts words."""
    try:
        number = float(value)
    except ValueError:
        words = row.setdefault(name, {})
        words[value] = words.get(value, 0) + 1
        return
    if name.startswith(("most", "seconds")):
        name = name if name.startswith("most") else f"most_{name}"
        row[name] = max(row.get(name, 0.0), number)
    else:
        row[name] = row.get(name, 0) + int(number)


if __name__ == "__main__":
    main()
