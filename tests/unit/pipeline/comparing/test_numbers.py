"""The numbers of a comparison against plain loops over small tables."""

import json
import statistics
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from headstart.corpora.examples import Example
from headstart.corpora.places import Place
from headstart.errors import DamagedFileError
from headstart.pipeline.comparing.answers import Answers
from headstart.pipeline.comparing.curves import curves_json, epochs_to_cold_best, read_curve
from headstart.pipeline.comparing.errors import errors_worth_reading
from headstart.pipeline.comparing.scores import differences, scores, worth_by, worths
from headstart.transfers.sweep import TrunkFacts, systems_of

TRUNKS = [TrunkFacts(name="a", shape="s")]
SYSTEMS = systems_of(TRUNKS)
NUM_ITEMS = 60


def answers(skills, num_seeds=3, clean=None):
    """Returns drawn answers of systems that are right as often as they are told to be."""
    random = np.random.default_rng(0)
    target = random.integers(0, 2, NUM_ITEMS)
    found = {}
    for place, skill in skills.items():
        is_right = random.random((num_seeds, NUM_ITEMS)) < skill
        sure = random.uniform(0.5, 1, (num_seeds, NUM_ITEMS))
        predicted = np.where(is_right, target, 1 - target)
        probability = np.where(predicted[..., None] == np.arange(2), sure[..., None], 0)
        found[place] = probability + np.where(probability == 0, 1 - sure[..., None], 0)
    is_clean = np.ones(NUM_ITEMS, dtype=bool) if clean is None else clean
    return Answers(probabilities=found, target_N=target, is_clean_N=is_clean)


def all_systems(skill=0.7, sizes=(10,)):
    return {(system.key, size): skill for system in SYSTEMS for size in sizes}


def test_scores_are_means_over_seeds_on_each_test():
    clean = np.arange(NUM_ITEMS) % 3 > 0
    table = answers({("warm", 10): 0.8}, clean=clean)
    rows = {(row["test"], row["metric"]): row for row in scores(table)}
    for test, mask in (("full", np.ones(NUM_ITEMS, dtype=bool)), ("clean", clean)):
        predicted = table.probabilities["warm", 10].argmax(axis=-1)[:, mask]
        target = table.target_N[mask]
        accuracies = [(one == target).mean() for one in predicted]
        macro = [f1_score(target, one, average="macro") for one in predicted]
        assert rows[test, "accuracy"]["by_seed"] == pytest.approx(accuracies)
        assert rows[test, "accuracy"]["mean"] == pytest.approx(np.mean(accuracies))
        assert rows[test, "macro_f1"]["by_seed"] == pytest.approx(macro)
        assert rows[test, "accuracy"]["num_items"] == mask.sum()
        for metric in ("accuracy", "macro_f1", "calibration_error"):
            row = rows[test, metric]
            assert row["low"] <= row["mean"] <= row["high"]


def test_a_test_without_leaks_has_the_same_numbers_twice():
    rows = list(scores(answers({("warm", 10): 0.8})))
    full, clean = (
        [{key: row[key] for key in row if key != "test"} for row in rows if row["test"] == test]
        for test in ("full", "clean")
    )
    assert full == clean
    assert len(full) == 3


def test_there_is_one_primary_question_and_differences_are_paired():
    table = answers(all_systems(sizes=(10, 20)) | {("warm", 20): 0.9})
    found = differences(table, SYSTEMS, TRUNKS, (10, 20))
    assert [(row.of, row.to, row.size, row.test) for row in found if row.is_primary] == [
        ("warm", "cold", 20, "clean")
    ]
    assert len(found) == 2 * 2 * 3
    for row in found:
        of, to = (table.right((key, row.size), row.test) for key in (row.of, row.to))
        assert row.difference == pytest.approx(of.mean() - to.mean())
        assert row.p_corrected >= row.p


def test_worth_counts_the_same_seeds_of_curves_with_fewer():
    skills = {("warm", 10): 0.9, ("tfidf", 10): 0.6, ("tfidf", 20): 0.7}
    table = answers(skills, num_seeds=4)
    shorter = answers({("tfidf", 40): 0.95}, num_seeds=2)
    table = Answers(
        probabilities={**table.probabilities, **shorter.probabilities},
        target_N=table.target_N,
        is_clean_N=table.is_clean_N,
    )
    (worth,) = worth_by(table, "warm", "tfidf")
    assert worth.at_size == 10
    assert 1 < worth.factor <= 4


def test_one_size_is_no_curve_and_tells_no_worth():
    table = answers(all_systems() | {("tfidf", 20): 0.7})
    assert list(worths(table, SYSTEMS, TRUNKS)["warm"]) == ["tfidf"]


def test_curves_have_t_bands_over_seeds():
    curves = {("warm", 10): [[(1.0, 0.5), (2.0, 0.7)], [(1.0, 0.6), (2.0, 0.9), (3.0, 0.9)]]}
    (row,) = curves_json(curves)
    assert row["epochs"] == [1.0, 2.0]
    assert row["mean"] == pytest.approx([0.55, 0.8])
    half = stats.t.ppf(0.975, 1) * statistics.stdev([0.5, 0.6]) / 2**0.5
    assert row["low"][0] == pytest.approx(max(0, 0.55 - half))
    assert row["by_seed"] == [[0.5, 0.7], [0.6, 0.9, 0.9]]
    (alone,) = curves_json({("warm", 10): curves["warm", 10][:1]})
    assert alone["low"] == alone["high"] == []


def test_reaching_is_counted_against_the_same_seed():
    cold = [[(1.0, 0.5), (2.0, 0.6), (3.0, 0.6)], [(1.0, 0.7), (2.0, 0.6), (3.0, 0.8)]]
    warm = [[(1.0, 0.6), (2.0, 0.5)], [(1.0, 0.6), (2.0, 0.7)]]
    better = [warm[0], [(1.0, 0.1), (2.0, 0.9)]]
    rows = epochs_to_cold_best(
        {("warm", 9): better, ("cold", 9): cold, ("frozen", 9): warm}, SYSTEMS, TRUNKS
    )
    assert [(row["system"], row["epochs"]) for row in rows] == [("warm", 1.5), ("frozen", None)]
    assert rows[1] == {
        "system": "frozen",
        "size": 9,
        "cold_best": pytest.approx(0.7),
        "cold_epoch": pytest.approx(2.5),
        "epochs": None,
        "num_seeds_reaching": 1,
        "num_seeds": 2,
    }


def test_curves_are_read_from_logs_and_an_empty_one_is_refused(tmp_path):
    log = tmp_path / "log.jsonl"
    rows = [{"kind": "step"}, {"kind": "valid", "epoch": 1.0, "accuracy": 0.5}]
    log.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert read_curve(log) == [(1.0, 0.5)]
    log.write_text("")
    with pytest.raises(DamagedFileError, match="has no epoch"):
        read_curve(log)


def test_errors_are_wrong_with_every_seed_clean_and_the_surest_first():
    clean = np.arange(NUM_ITEMS) % 4 > 0
    table = answers({("warm", 10): 0.3}, num_seeds=2, clean=clean)
    labels = ("no", "yes")
    test = [
        Example(f"text {i}", labels[target], Place(Path("test.csv"), i))
        for i, target in enumerate(table.target_N)
    ]
    found = errors_worth_reading(table, ("warm", 10), test, labels)
    mean = table.probabilities["warm", 10].mean(axis=0)
    wrong = [
        i
        for i in range(NUM_ITEMS)
        if clean[i]
        and all(
            table.probabilities["warm", 10][seed, i].argmax() != table.target_N[i]
            for seed in range(2)
        )
    ]
    assert [row["index"] for row in found] == sorted(wrong, key=lambda i: -mean[i].max())[:20]
    for row in found:
        assert row["label"] != row["predicted"]
        assert row["num_seeds_wrong"] == row["num_seeds"] == 2
        assert row["probability"] == pytest.approx(mean[row["index"]].max())
