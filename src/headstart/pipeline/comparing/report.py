"""The report of a comparison: one page and its figures, all drawn from results.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headstart.files import read_json, write_bytes
from headstart.pipeline.run_files import RESULTS_FILE
from headstart.reports.comparison.reading import comparison_of
from headstart.reports.comparison_page import comparison_page
from headstart.reports.figures import COMPARISON_FIGURES
from headstart.reports.figures.style import FORMATS, render

REPORT_NAME = "report.html"


def write_report(results: Mapping[str, Any], folder: Path) -> list[Path]:
    """Writes the page and the figures of a comparison into its folder, and returns the files."""
    comparison = comparison_of(results, str(folder / RESULTS_FILE))
    report = folder / REPORT_NAME
    write_bytes(report, comparison_page(results).encode())
    paths = [report]
    for name, draw in COMPARISON_FIGURES.items():
        figure = draw(comparison)
        if figure is None:
            continue
        for file_format in FORMATS:
            path = folder / f"{name}.{file_format}"
            write_bytes(path, render(figure, file_format))
            paths.append(path)
    return paths


def redraw_report(folder: Path) -> list[Path]:
    """Writes the report again from what the folder keeps, without any run or text."""
    place = folder / RESULTS_FILE
    results = read_json(place)
    # Said with the file's own name before anything is drawn.
    comparison_of(results, str(place))
    assert isinstance(results, dict)
    return write_report(results, folder)
