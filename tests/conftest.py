"""What every test shares: one thread a process, since pytest-xdist already uses every core."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
