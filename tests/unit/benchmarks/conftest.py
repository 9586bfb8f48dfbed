"""Lets tests import the studies, which are programs and no package."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
for folder in ("benchmarks", "benchmarks/studies"):
    sys.path.insert(0, str(ROOT / folder))
