"""Was pretraining worth it? The demo from its first job to its report, timed, and what it found."""

import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from record import keep

SECONDS_BETWEEN_LOOKS = 0.5


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "demo"
        # Fetched and checked before the clock starts: set-up is not what is measured.
        subprocess.run([sys.executable, "-m", "headstart", "data", "get", "rotten"], check=True)
        command = [sys.executable, "-m", "headstart", "demo", "--json", "--out", str(out)]
        began_at = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            memory = MemoryWatch(process.pid)
            memory.start()
            process.communicate()
        seconds = time.monotonic() - began_at
        if process.returncode:
            sys.exit(process.returncode)
        results = json.loads((out / "results.json").read_text())
        report = (out / "report.html").stat().st_size
    kept = ("verdict", "scores", "differences", "label_worth", "epochs_to_cold_best", "leaks")
    question = {
        name: results["question"][name] for name in ("sizes", "seeds", "labels", "settings")
    }
    keep(
        "demo",
        {
            "minutes": round(seconds / 60, 2),
            "peak_bytes": memory.peak,
            "report_bytes": report,
            "question": question | {"num_test": results["question"]["test"]},
            **{name: results[name] for name in kept},
        },
    )


class MemoryWatch(threading.Thread):
    """Looks now and then how much memory a process and all below it hold together."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.peak = pid, 0

    def run(self) -> None:
        """Looks until the process is gone."""
        while Path(f"/proc/{self.pid}").exists():
            self.peak = max(self.peak, sum(map(resident_bytes, family_of(self.pid))))
            time.sleep(SECONDS_BETWEEN_LOOKS)


def family_of(pid: int) -> list[int]:
    """Returns a process and all that it has begun."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(other for child in children for other in family_of(int(child)))]


def resident_bytes(pid: int) -> int:
    """Returns the memory of a process, what it shares with others counted in part."""
    try:
        rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(row.split()[1]) for row in rows if row.startswith("Pss:"))


if __name__ == "__main__":
    main()
