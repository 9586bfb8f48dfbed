"""Lets tests import what fills the docs, and gives it records to be filled from."""

import sys
from pathlib import Path

import pytest

from headstart.files import write_json

ROOT = Path(__file__).parents[3]
for folder in ("benchmarks", "docs"):
    sys.path.insert(0, str(ROOT / folder))


@pytest.fixture
def kept(monkeypatch, tmp_path_factory):
    """Lets the blocks find these records by their questions, and no others."""

    def keep(records):
        folder = tmp_path_factory.mktemp("records")
        for question, record in records.items():
            write_json(folder / f"2026-11-15_{question}_cpu-2.json", record)
        monkeypatch.setattr("record.RESULTS", folder)

    return keep
