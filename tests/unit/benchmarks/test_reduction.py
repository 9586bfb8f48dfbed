"""A record keeps numbers: no text of a test, no folder of a machine."""

import json

import pytest
from reduction import PARTS, reduced, strings_in

SECRET = "a text of the test that nobody may publish"


@pytest.fixture
def results(comparison_results):
    """Results as a machine would write them: with folders, and with texts."""
    made = comparison_results(trunks=("one", "two"))
    made["question"]["train"]["path"] = "/home/someone/data/train.csv"
    made["question"]["trunks"][0]["folder"] = "/home/someone/runs/one"
    made["made"]["environment"]["device"] = "NVIDIA H200"
    made["made"]["command"] = "headstart compare --from /home/someone/runs/one"
    for row in made["errors"]:
        row["text"] = SECRET
    made["leaks"]["findings"][0]["found"] = [{"item": 3, "place": "/home/x, line 4", "of": SECRET}]
    # All baselines of a size are one job.
    for job in made["jobs"]:
        if job["system"] == "majority":
            job["folder"] = f"jobs/majority-{job['size']}"
    return made


def test_neither_texts_nor_folders_are_kept(results):
    kept = json.dumps(reduced(results))
    assert SECRET not in kept
    assert "/home" not in kept
    assert reduced(results)["question"]["train"]["path"] == "train.csv"


def test_numbers_are_kept_as_they_are(results):
    kept = reduced(results)
    for part in PARTS:
        if part != "question":
            assert kept[part] == results[part]
    assert kept["leaks"]["findings"] == [
        {"kind": kind, "split": "test", "source": "train", "items": items}
        for kind, items in (("exact", 41), ("near", 12))
    ]
    assert (kept["device"], kept["seconds"]) == ("NVIDIA H200", results["made"]["seconds"])
    assert kept["leaks"]["num_clean"] == results["leaks"]["num_clean"]


def test_jobs_are_counted_once(results):
    num_seeds, num_sizes = 3, 2
    num_drawn = len(results["systems"]) - 1
    assert reduced(results)["num_jobs"] == num_drawn * num_sizes * num_seeds + num_sizes


def test_every_string_is_found():
    record = {"a": ["b", {"c": ("d", 1, None)}], "e": {"f": "g"}}
    assert sorted(strings_in(record)) == list("abcdefg")
