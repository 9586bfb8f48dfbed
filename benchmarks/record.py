"""What every benchmark shares: alternated repetitions, medians, spread, a dated record."""

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

from headstart import __version__
from headstart.files import write_json
from headstart.models.accounting.machine import measure_machine, synchronise

RESULTS = Path(__file__).parent / "results"
NUM_REPETITIONS = 7
# Where sources travel without their history, whoever sent them says which they are.
COMMIT_VARIABLE = "HEADSTART_COMMIT"
NUM_COMMIT_LETTERS = 12
# What a contestant may be built on; a record says which versions of them were there.
LIBRARIES = (
    *("accelerate", "ctranslate2", "numpy", "sacrebleu", "scikit-learn"),
    *("sentencepiece", "transformers", "triton", "x-transformers"),
)
# Where a checkout is not brought home, records are written into another folder.
RECORDS_VARIABLE = "HEADSTART_RECORDS"


def alternate(
    contestants: Mapping[str, Callable[[], float]], num_repetitions: int = NUM_REPETITIONS
) -> dict[str, dict[str, object]]:
    """Runs each contestant in turn, again and again, so that a slow minute is slow for all."""
    for run in contestants.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for repetition in range(num_repetitions):
        for name, run in contestants.items():
            seconds[name].append(run())
        print(f"repetition {repetition + 1} of {num_repetitions}", file=sys.stderr)
    return {
        name: {
            "median_seconds": statistics.median(row),
            "min_seconds": min(row),
            "max_seconds": max(row),
            "seconds": row,
        }
        for name, row in seconds.items()
    }


def timed(job: Callable[[], object], device: str = "cpu") -> float:
    """Does a job, and returns its seconds until the device is done with it."""
    synchronise(device)
    started_at = time.perf_counter()
    job()
    synchronise(device)
    return time.perf_counter() - started_at


def can_ask(device: str, *, is_tiny: bool = False) -> bool:
    """Returns whether a question can be asked on this machine, and says so where it cannot."""
    if device != "cuda" or is_tiny or torch.cuda.is_available():
        return True
    print("Not asked: this needs a CUDA device.")
    return False


def ask(
    question: str,
    about: str | None,
    answered: Callable[..., Mapping[str, object]],
    device: str = "cpu",
) -> None:
    """Answers a question as asked on the command line: for a record, or only to see it run."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--tiny", action="store_true", help="Show that it runs; keep nothing.")
    is_tiny = parser.parse_args().tiny
    if not can_ask(device, is_tiny=is_tiny):
        return
    answer = answered(is_tiny=is_tiny)
    if is_tiny:
        print(json.dumps(answer, indent=2))
    else:
        keep(question, answer, device)


def keep(question: str, answer: Mapping[str, object], device: str = "cpu") -> Path:
    """Writes the record of one benchmark, with all that one needs to judge it."""
    machine = measure_machine(device)
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    # Two machines that are asked on one day keep a record each.
    name = named_in_files(processor() if device == "cpu" else torch.cuda.get_device_name())
    folder = Path(os.environ.get(RECORDS_VARIABLE) or RESULTS)
    path = folder / f"{today}_{question}_{name}-{torch.get_num_threads()}.json"
    write_json(
        path,
        {
            "question": question,
            "date": today,
            "commit": commit(),
            "machine": {
                "processor": processor(),
                "device": machine.name,
                "matrix_gflops_per_second": machine.matrix_rate / 1e9,
                "pass_gigabytes_per_second": (machine.pass_rate or 0) / 1e9,
            },
            "versions": {
                "headstart": __version__,
                "python": platform.python_version(),
                "torch": torch.__version__,
                **library_versions(),
            },
            **answer,
        },
    )
    print(path)
    return path


def named_in_files(machine: str) -> str:
    """Returns the name of a machine as files are named."""
    return re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-") or "unknown"


def library_versions() -> dict[str, str]:
    """Returns the versions of those libraries that are installed here."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def without_folders(value: object) -> object:
    """Returns what was found with files by their names: folders are one machine's business."""
    if isinstance(value, Mapping):
        return {name: without_folders(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_folders(one) for one in value]
    is_path = isinstance(value, str) and Path(value).is_absolute()
    return Path(value).name if is_path else value


def newest(question: str) -> dict[str, object]:
    """Returns the latest record of a question."""
    paths = sorted(RESULTS.glob(f"*_{question}_*.json"))
    if not paths:
        raise FileNotFoundError(f"There is no record of {question} in {RESULTS}; run `make bench`.")
    return json.loads(paths[-1].read_text())


def commit() -> str:
    """Returns the commit that was measured, marked where the sources differ from it."""
    if told := os.environ.get(COMMIT_VARIABLE):
        digits, dash, mark = told.partition("-")
        return digits[:NUM_COMMIT_LETTERS] + dash + mark
    root = RESULTS.parents[1]
    describe = ["git", "describe", "--always", f"--abbrev={NUM_COMMIT_LETTERS}"]
    done = subprocess.run(describe, cwd=root, capture_output=True, text=True, check=False)
    # Records and tables are written here too; only what is measured, and what measures it, counts.
    compare = ["git", "diff", "--quiet", "HEAD", "--", "src", "benchmarks/*.py"]
    changed = subprocess.run(compare, cwd=root, check=False)
    return (done.stdout.strip() or "unknown") + ("-dirty" if changed.returncode else "")


def processor() -> str:
    """Names the processor."""
    cpuinfo = Path("/proc/cpuinfo")
    rows = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [row.split(":", 1)[1].strip() for row in rows if row.startswith("model name")]
    return names[0] if names else platform.processor()
