"""Lets tests import what fills the docs."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
for folder in ("benchmarks", "docs"):
    sys.path.insert(0, str(ROOT / folder))
