"""Lets references use the mappings that benchmarks have, which are programs and no package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
