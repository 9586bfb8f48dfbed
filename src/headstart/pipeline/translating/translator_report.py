"""The report of a comparison of translators: one page, drawn from results.json."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headstart import __version__
from headstart.files import write_bytes
from headstart.pipeline.comparing.report import REPORT_NAME
from headstart.reports.page import page_html
from headstart.reports.translator_comparison_page import translator_comparison_page


def is_of_translators(results: object) -> bool:
    """Returns whether results are of a comparison of translators."""
    return isinstance(results, dict) and {"bleu", "chrf", "num_copied"} <= results.keys()


def write_translator_report(results: Mapping[str, Any], folder: Path) -> Path:
    """Writes the page of a comparison into its folder, and returns where it is."""
    path = folder / REPORT_NAME
    write_bytes(path, page_html(translator_comparison_page(results, __version__)).encode())
    return path
