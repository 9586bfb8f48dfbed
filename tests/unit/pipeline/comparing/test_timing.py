"""Time left, from jobs that are done."""

import pytest

from headstart.pipeline.comparing.timing import Timings
from headstart.transfers.sweep import Sweep, TrunkFacts, jobs_of, systems_of

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
    # Another that learns as much takes as long.
    assert timings.expected(job("cold", 100)) == pytest.approx(10)
    both = [job("warm", 400), job("warm", 100)]
    assert timings.left(both, 2) == pytest.approx(12.5 / 2)


def test_networks_are_not_guessed_from_what_is_over_at_once():
    timings = Timings()
    timings.add(job("tfidf", 100), 0.1)
    timings.add(job("frozen", 100), 1.0)
    assert timings.expected(job("majority", 400)) == pytest.approx(0.1)
    assert timings.expected(job("warm", 100)) is None
    assert timings.left([job("tfidf", 100), job("warm", 100)], 2) is None
    timings.add(job("cold", 100), 30.0)
    assert timings.left([job("tfidf", 100), job("warm", 100)], 2) == pytest.approx(30.1 / 2)
