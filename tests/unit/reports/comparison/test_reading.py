"""A results.json becomes a comparison, or one sentence says why it cannot."""

import copy
import json

import pytest

from headstart.errors import DataError
from headstart.reports.comparison.reading import comparison_of


@pytest.fixture
def results(comparison_results):
    return comparison_results()


def test_what_was_written_is_what_is_read(results):
    seen = comparison_of(results)
    assert [system.key for system in seen.systems] == [row["key"] for row in results["systems"]]
    assert seen.sizes == [250, 1_000]
    row = results["scores"][3]
    found = seen.score(row["system"], row["size"], row["test"], row["metric"])
    assert (found.mean, found.low, found.high) == (row["mean"], row["low"], row["high"])
    assert [row.p for row in seen.differences] == [row["p"] for row in results["differences"]]
    assert seen.verdict.answer == "helps"


def test_the_primary_question_comes_first_and_then_the_most_labels(results):
    rows = comparison_of(results).differences_on("clean")
    assert [row.is_primary for row in rows] == [True] + [False] * (len(rows) - 1)
    assert [row.size for row in rows] == sorted((row.size for row in rows), reverse=True)


def test_keys_of_a_later_time_are_left_alone(results):
    results["systems"][0]["colour"] = "red"
    results["weather"] = "fine"
    assert comparison_of(results) == comparison_of(json.loads(json.dumps(results)))


@pytest.mark.parametrize(
    "key", ["differences", "curves", "epochs_to_cold_best", "label_worth", "errors", "jobs"]
)
@pytest.mark.parametrize("is_null", [True, False])
def test_a_part_may_be_missing(results, key, is_null):
    if is_null:
        results[key] = None
    else:
        del results[key]
    comparison_of(results)


def test_a_curve_without_epochs_is_none(results):
    results["curves"][0] |= {"epochs": [], "mean": [], "low": [], "high": []}
    assert len(comparison_of(results).curves) == len(results["curves"]) - 1


@pytest.mark.parametrize("foreign", [None, [], "text", 3, {}, {"steps": 10}, {"version": 1}])
def test_a_foreign_file_is_refused(foreign):
    with pytest.raises(DataError, match="place does not hold the results of a comparison"):
        comparison_of(foreign, "place")


def test_a_later_version_is_named(results):
    results["version"] = 2
    with pytest.raises(DataError, match="in version 2; this Headstart reads version 1"):
        comparison_of(results)


def spoiled(results, path, value):
    changed = copy.deepcopy(results)
    *way, last = path
    inside = changed
    for key in way:
        inside = inside[key]
    inside[last] = value
    return changed


DAMAGE = [
    (("systems",), []),
    (("systems",), {"warm": 1}),
    (("systems", 0, "kind"), "lukewarm"),
    (("systems", 1, "key"), "warm"),
    (("scores", 0, "mean"), "0.7"),
    (("scores", 0, "mean"), True),
    (("scores", 0, "mean"), float("inf")),
    (("scores", 0, "mean"), 10**400),
    (("scores", 0, "size"), 250.5),
    (("scores", 0, "system"), "stranger"),
    (("scores", 2), None),
    (("differences", 0, "to"), "stranger"),
    (("curves", 0, "mean"), [0.5]),
    (("curves", 0, "low"), "none"),
    (("curves", 0, "epochs", 0), None),
    (("epochs_to_cold_best", 0, "system"), "stranger"),
    (("label_worth", 0, "system"), "stranger"),
    (("verdict",), None),
    (("verdict", "answer"), "perhaps"),
    (("verdict", "sentences"), "one"),
    (("errors", 0, "text"), None),
    (("leaks",), []),
    (("made",), "yesterday"),
]


@pytest.mark.parametrize(("path", "value"), DAMAGE)
def test_damage_is_said_in_one_sentence_that_names_the_place(results, path, value):
    with pytest.raises(DataError) as refused:
        comparison_of(spoiled(results, path, value), "out/results.json")
    said = str(refused.value)
    assert said.startswith("out/results.json")
    assert "\n" not in said
    assert len(said) < 400


def test_a_missing_field_is_named(results):
    del results["scores"][0]["mean"]
    with pytest.raises(DataError, match=r"scores, number 1 .*it has no mean"):
        comparison_of(results)


def test_each_shape_of_trunk_has_its_own_cold_best(comparison_results):
    results = comparison_results(trunks=("a", "b"))
    results["systems"] += [{"key": "cold:b", "name": "cold:b", "kind": "cold", "trunk": "b"}]
    results["epochs_to_cold_best"] = [
        {"system": f"warm:{trunk}", "size": 250, "cold_best": best, "cold_epoch": 3, "epochs": None}
        for trunk, best in (("a", 0.5), ("b", 0.6))
    ]
    seen = comparison_of(results)
    assert seen.cold_best("cold:b", 250) == 0.6
    assert seen.cold_best("cold", 250) == 0.5
    assert seen.cold_best("cold", 1_000) is None
    assert seen.cold_best("warm:a", 250) is None
