"""Figures of an anatomy, as files."""

from pathlib import Path

from headstart.files import write_bytes
from headstart.models.accounting.ledger import Anatomy
from headstart.reports.figures import ANATOMY_FIGURES
from headstart.reports.figures.style import FORMATS, render


def write_figures(seen: Anatomy, folder: Path) -> list[Path]:
    """Draws every figure that has something to show, and returns the files."""
    paths = []
    for name, draw in ANATOMY_FIGURES.items():
        figure = draw(seen)
        if figure is None:
            continue
        for file_format in FORMATS:
            path = folder / f"{name}.{file_format}"
            write_bytes(path, render(figure, file_format))
            paths.append(path)
    return paths
