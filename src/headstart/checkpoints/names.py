"""What checkpoints are called, and which there are; free of torch."""

import re
from pathlib import Path

NAME = re.compile(r"step-(\d{8,})")


def checkpoint_path(folder: Path, step: int) -> Path:
    """Returns the folder of the checkpoint of a step."""
    return folder / f"step-{step:08d}"


def steps_in(folder: Path) -> list[int]:
    """Returns the steps of which a folder has checkpoints, in order."""
    names = (NAME.fullmatch(path.name) for path in folder.iterdir()) if folder.is_dir() else ()
    return sorted(int(name[1]) for name in names if name)
