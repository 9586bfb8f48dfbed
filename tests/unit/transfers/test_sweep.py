"""The jobs of a comparison: which there are, and when two are the same."""

from collections import Counter

import pytest

from headstart.errors import RecipeError
from headstart.transfers.sweep import (
    Sweep,
    TrunkFacts,
    checked_kinds,
    checked_sizes,
    cold_of,
    doublings,
    jobs_of,
    systems_of,
)

ONE = [TrunkFacts(name="a", shape="s")]
THREE = [
    TrunkFacts(name="a", shape="s"),
    TrunkFacts(name="b", shape="t"),
    TrunkFacts(name="c", shape="s"),
]


def decisive(system, size):
    return {"kind": system.kind, "like": system.like, "rate": 1 if size < 300 else 2}


def keys(trunks):
    return [system.key for system in systems_of(trunks)]


def test_one_trunk_needs_no_names():
    assert keys(ONE) == ["warm", "cold", "frozen", "tfidf", "majority"]


def test_trunks_of_one_shape_share_a_cold_start():
    assert keys([THREE[0], THREE[2]]) == [
        "warm:a",
        "warm:c",
        "cold",
        "frozen:a",
        "frozen:c",
        "tfidf",
        "majority",
    ]


def test_each_shape_has_a_cold_start_and_each_trunk_finds_its_own():
    systems = systems_of(THREE)
    by_key = {system.key: system for system in systems}
    assert {key for key in by_key if key.startswith("cold")} == {"cold:a", "cold:b"}
    found = {name: cold_of(by_key[f"warm:{name}"], systems, THREE).key for name in "abc"}
    assert found == {"a": "cold:a", "b": "cold:b", "c": "cold:a"}


def test_systems_are_those_of_the_kinds_asked_for():
    found = systems_of(THREE[:2], ("tfidf", "gradual", "warm"))
    assert [one.key for one in found] == ["warm:a", "warm:b", "gradual:a", "gradual:b", "tfidf"]
    assert cold_of(found[0], found, THREE) is None
    assert checked_kinds(("tfidf", "warm")) == ("warm", "tfidf")


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [(100, 100, (100,)), (100, 1_600, (100, 200, 400, 800, 1_600)), (3, 20, (3, 6, 12, 20))],
)
def test_doublings_end_with_all(first, last, expected):
    assert doublings(first, last) == expected


def test_sizes_are_sorted_once_each_and_within_what_there_is():
    assert checked_sizes([400, 100, 400], 500) == (100, 400)
    assert checked_sizes(None, 350) == (100, 200, 350)
    assert checked_sizes(None, 50) == (50,)
    with pytest.raises(RecipeError, match=r"sizes are 600, .* 500 .* from 2 to 500"):
        checked_sizes([600], 500)


def test_every_system_size_and_seed_has_a_job_and_tfidf_goes_on_beyond():
    sweep = Sweep(sizes=(100, 200), num_seeds=5, num_train=1_000, most_beyond=10**6)
    jobs = jobs_of(systems_of(ONE), sweep, decisive)
    counts = Counter((job.system.key, job.size) for job in jobs)
    beyond = {("tfidf", size): 3 for size in (400, 800, 1_000)}
    expected = {(key, size): 5 for key in keys(ONE) for size in (100, 200)}
    assert counts == expected | beyond
    # All of them are the same jobs for a system that draws nothing.
    assert len({job.name for job in jobs}) == len(jobs) - 2
    costs = [job.cost for job in jobs]
    assert costs == sorted(costs, reverse=True)


def test_tfidf_goes_no_further_than_there_is_room():
    sweep = Sweep(sizes=(100, 200), num_seeds=1, num_train=1_000, most_beyond=500)
    assert sweep.sizes_beyond == (400, 500)
    small = Sweep(sizes=(100, 200), num_seeds=1, num_train=1_000, most_beyond=50)
    assert small.sizes_beyond == ()


def test_a_name_changes_with_what_decides_the_outcome_and_with_nothing_else():
    sweep = Sweep(sizes=(200, 400), num_seeds=2, num_train=400, most_beyond=10**6)
    names = {job.name for job in jobs_of(systems_of(ONE), sweep, decisive)}
    assert names == {job.name for job in jobs_of(systems_of(ONE), sweep, decisive)}

    def other(system, size):
        return decisive(system, size) | ({"rate": 3} if system.kind == "warm" else {})

    changed = {job.name for job in jobs_of(systems_of(ONE), sweep, other)}
    assert {name.split("-")[0] for name in changed - names} == {"warm"}
    assert len(changed - names) == 4
    larger = Sweep(sizes=(200, 400), num_seeds=3, num_train=400, most_beyond=10**6)
    assert names < {job.name for job in jobs_of(systems_of(ONE), larger, decisive)}
