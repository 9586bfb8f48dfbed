"""Trunks in the box: finished runs that come with the package, and this table of them."""

from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent

TRUNKS: Mapping[str, Path] = {
    "film-en": HERE / "film-en",
}
