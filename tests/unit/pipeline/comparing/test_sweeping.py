"""Where the jobs of a comparison are done: how many at once, by how many threads each."""

from pathlib import Path

import pytest

from headstart.pipeline.comparing import sweeping
from headstart.pipeline.comparing.config import Comparison
from headstart.pipeline.comparing.sweeping import Sweeping
from headstart.pipeline.examples import ExamplesConfig
from headstart.pipeline.planning import Place
from headstart.pipeline.watch import Watch
from headstart.transfers.sweep import Sweep


@pytest.mark.parametrize(
    ("device", "num_workers", "num_threads", "expected"),
    [
        ("cpu", None, None, (8, 1)),
        ("cpu", None, 4, (4, 4)),
        ("cpu", 3, None, (3, 1)),
        ("cuda", None, None, (1, None)),
        ("cuda", 6, None, (6, 2)),
        ("cuda", 40, None, (40, 1)),
        ("cuda", 6, 5, (6, 5)),
    ],
)
def test_jobs_share_the_cores(monkeypatch, device, num_workers, num_threads, expected):
    monkeypatch.setattr(sweeping, "num_cores", lambda: 16)
    made = Sweeping(
        wanted=Comparison(
            starts=(),
            examples=ExamplesConfig(train="train.csv"),
            place=Place(device=device, num_threads=num_threads),
            num_workers=num_workers,
        ),
        folder=Path("nowhere"),
        trunks=(),
        examples=None,
        systems=(),
        sweep=Sweep(sizes=(10,), num_seeds=1, num_train=10, most_beyond=10),
        watch=Watch(),
        show=lambda _progress: None,
    )
    assert (made.num_workers, made.place.num_threads) == expected
