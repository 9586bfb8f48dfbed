"""Loading a run for use from Python, by its folder or by its name in the box."""

from pathlib import Path

from headstart.apps.trunks.finding import find_run
from headstart.pipeline.run_folder import Run, load_run


def load(name: str | Path, device: str = "cpu") -> Run:
    """Loads a finished run, or the best weights so far of one that is still going on."""
    return load_run(find_run(name), device)
