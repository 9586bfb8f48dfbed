"""Time left, from jobs that are done."""

import pytest

from headstart.pipeline.sweep_timing import Timings
from headstart.transfer.sweep import Sweep, TrunkFacts, jobs_of, systems_of

JOBS = jobs_of(
    systems_of([TrunkFacts(name="a", shape="s")]),
    Sweep(sizes=(100, 400), num_seeds=1, num_train=400, most_beyond=400),
    lambda _system, _size: {},
)


def job(kind, size):
    return next(job for job in JOBS if (job.system.kind, job.size) == (kind, size))


def test_nothing_is_known_before_the_first_job():
    timings = Timings()
    assert timings.expected(JOBS[0]) is None
    assert timings.left(JOBS, 2) is None
    assert timings.left([], 2) == 0


def test_like_jobs_take_as_long_and_others_in_proportion():
    timings = Timings()
    timings.add(job("warm", 400), 8.0)
    timings.add(job("warm", 400), 12.0)
    assert timings.expected(job("warm", 400)) == pytest.approx(10)
    assert timings.expected(job("warm", 100)) == pytest.approx(2.5)
    # Of a kind that was never seen, only what jobs take on the whole is known.
    assert timings.expected(job("tfidf", 100)) == pytest.approx(10)
    both = [job("warm", 400), job("warm", 100)]
    assert timings.left(both, 2) == pytest.approx(12.5 / 2)
