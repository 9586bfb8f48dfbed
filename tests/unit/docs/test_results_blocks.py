"""The blocks of results.md say what a record holds, and show figures that are there."""

import re

import numpy as np
import pytest
import results_blocks
from few_labels_block import deviation_ratio
from page_parts import NO_RECORD
from results_blocks import (
    RESULT_BLOCKS,
    STUDIES,
    block,
    few_labels_settings,
    study_block,
    tfidf_strengths,
)
from verdict_block import verdict_sentences

IMAGE = re.compile(r"!\[[^]]+\]\(figures/([\w-]+)\.svg\)")


@pytest.fixture
def facts():
    """What every record has."""
    return {
        "date": "2026-11-15",
        "commit": "0123456789ab",
        "machine": {"processor": "one", "device": "another", "matrix_gflops_per_second": 100.0},
        "versions": {"torch": "2.13.0"},
        "asked": "Is it so?",
        "commands": ["headstart compare --from film-en --train DATA/train.csv --out WORK/compared"],
    }


@pytest.fixture
def record(facts, comparison_results):
    """The record of a comparison of a trunk that was pretrained for it."""

    def made(**wanted):
        results = comparison_results(**wanted) | {"num_jobs": 30, "seconds": 7_200.0}
        run = {
            "recipe": "lab",
            "objective": "causal",
            "device": "NVIDIA H200",
            "begun_from": None,
            "is_side_by_side": False,
            "results": {
                "steps": 4_321,
                "seconds": 90.0,
                "tokens": 1_234_567,
                "held_out": {"bits_per_byte": 1.25},
            },
        }
        return facts | {"comparisons": {"compared": results}, "runs": {"lab": run}}

    return made


@pytest.fixture
def few(facts):
    """The record of seeds by default and by a naive recipe."""

    def scores(by_seed, num_collapsed):
        return {
            "by_seed": by_seed,
            "mean": sum(by_seed) / len(by_seed),
            "low": min(by_seed),
            "high": max(by_seed),
            "deviation": (max(by_seed) - min(by_seed)) / 2,
            "least": min(by_seed),
            "majority": 0.55,
            "num_collapsed": num_collapsed,
            "num_items": 100,
        }

    ours, naive = scores([0.76, 0.78], 0), scores([0.56, 0.74], 1)
    difference = {"difference": 0.12, "low": 0.05, "high": 0.19}
    settings = {"epochs": 3, "peak_rate": 0.0003}
    return facts | {
        "trunk": "film-en",
        "data_set": "rotten",
        "num_labels": 200,
        "num_seeds": 2,
        "naive_rates_on_validation": [{"peak_rate": 0.0003, "mean": 0.7}],
        "systems": {
            "default": {"settings": settings, "clean": ours, "full": ours},
            "naive": {"settings": settings, "clean": naive, "full": naive},
        },
        "differences": [difference | {"test": test} for test in ("full", "clean")],
    }


def rows(text: str, name: str) -> list[list[str]]:
    """The cells of the rows of tables that begin with a name."""
    found = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in found if row[0].strip() == name]


def test_what_has_no_record_says_so(kept, tmp_path):
    kept({})
    assert {make() for make in RESULT_BLOCKS.values()} == {NO_RECORD}
    assert results_blocks.write_result_figures(tmp_path) == []
    assert set(RESULT_BLOCKS) >= {f"results-{study}" for study in STUDIES}


def test_the_first_screen_has_the_accuracy_by_labels(record, kept):
    made = record(sizes=(250, 1_000))
    kept({"strong": made})
    text = RESULT_BLOCKS["strong-by-labels"]()
    shown = {
        (row["system"], row["size"]): f"{100 * row['mean']:.1f} %"
        for row in made["comparisons"]["compared"]["scores"]
        if (row["metric"], row["test"]) == ("accuracy", "clean")
    }
    for system, name in (("warm", "warm"), ("tfidf", "TF-IDF")):
        (_, few, many), of_the_full_test = rows(text, name)
        assert few.startswith(shown[system, 250])
        assert many.startswith(shown[system, 1_000])
        assert of_the_full_test != [name, few, many]


def test_the_answer_has_the_numbers_of_the_record(record):
    made = record(sizes=(250, 1_000))
    results = made["comparisons"]["compared"]
    text = study_block("strong", made)
    assert f"> {' '.join(verdict_sentences(results))}" in text
    shown = {
        (row["test"], row["system"], row["size"]): f"{100 * row['mean']:.1f} %"
        for row in results["scores"]
        if row["metric"] == "accuracy"
    }
    for system, name in (("warm", "warm"), ("tfidf", "TF-IDF")):
        for test, cells in zip(("clean", "full"), rows(text, name), strict=False):
            assert cells[1].startswith(shown[test, system, 250])
            assert cells[2].startswith(shown[test, system, 1_000])
    assert f"warm scores most: {shown['clean', 'warm', 1_000]}" in text
    assert made["commands"][0] in text
    assert "which `python benchmarks/studies/strong.py` does" in text
    assert "--trunk" not in text
    assert made["commit"] in text


def test_a_trunk_that_was_given_is_told_apart_from_its_line(record):
    made = record()
    made["runs"]["lab"]["is_given"] = True
    assert "was given by `--trunk NAME=RUN`" in study_block("strong", made)


@pytest.mark.parametrize("study", ["objectives", "strong"])
def test_scores_are_shown_on_the_clean_and_on_the_full_test(study, record):
    made = record(trunks=("one", "another"), sizes=(1_600,))
    text = study_block(study, made)
    for row in made["comparisons"]["compared"]["scores"]:
        if (row["system"], row["metric"]) == ("warm:one", "accuracy"):
            assert f"{100 * row['mean']:.1f} %" in text


def test_each_warm_trunk_is_told_by_how_much_it_differs(record):
    made = record(trunks=("one", "another"), sizes=(1_600,))
    text = study_block("objectives", made)
    (title,) = (
        line
        for line in text.splitlines()
        if "Points by which warm differs" in line and "clean" in line
    )
    header = text[text.index(title) :].splitlines()[2]
    columns = [cell.strip() for cell in header.strip("|").split("|")]
    table = text[text.index(title) :].split("\n\n")[1]
    for row in made["comparisons"]["compared"]["differences"]:
        if (row["test"], row["metric"], row["to"]) == ("clean", "accuracy", "tfidf"):
            (cells,) = rows(table, row["of"].removeprefix("warm:"))
            shown = f"{100 * row['difference']:+.1f} (".replace("-", "\N{MINUS SIGN}")
            assert cells[columns.index("\N{MINUS SIGN} TF-IDF")].startswith(shown)


def test_minutes_are_told_to_depend_on_the_machine(record):
    made = record()
    assert "asks for as many" not in study_block("strong", made)
    made["commands"].append("headstart pretrain DATA/text.txt --minutes 2 --out WORK/lab")
    assert "asks for as many" in study_block("strong", made)


def test_epochs_are_told_from_the_curves(record):
    made = record(sizes=(1_600,))
    results = made["comparisons"]["compared"]
    curve = {row["system"]: row for row in results["curves"]}
    text = study_block("documents", made)
    first, three = curve["warm"]["mean"][0], max(curve["warm"]["mean"][:3])
    assert f"warm scores {100 * first:.1f} % after the first epoch and {100 * three:.1f} %" in text
    assert f"cold {100 * curve['cold']['mean'][0]:.1f} % after the first" in text
    assert "Warm is as good after 1.0 epochs, with 3 of 3 seeds." in text


def test_a_run_is_a_row(record):
    cells = rows(study_block("documents", record()), "lab")[0]
    assert cells[1:] == ["lab", "causal", "4,321", "1.5", "1,234,567", "1.250", "NVIDIA H200"]


def test_trunks_are_ranked_by_their_best(record):
    trunks = ("worst-first", "second", "third")
    # Each trunk of the made-up results is worse than the one before.
    text = study_block("objectives", record(trunks=trunks, sizes=(1_600,)))
    places = [text.index(f"\n| {name} |") for name in trunks]
    assert places == sorted(places)
    assert len(rows(text, "second")[0]) == len(rows(text, "trunk")[0])


def test_seeds_that_collapsed_are_counted(few):
    text = study_block("few-labels", few)
    assert "no run collapses by default, and 1 by the naive recipe" in text
    assert "+12.0 points (+5.0 to +19.0)" in text
    assert rows(text, "naive, full and clean test")[0][-1] == "1 of 2"
    assert rows(text, "as by default, full and clean test")[0][2] == "1.00 points"


def test_the_same_labels_for_every_seed_are_told_beside_others(few):
    same = few | {"same_labels": {"systems": few["systems"], "differences": few["differences"]}}
    text = study_block("few-labels", same)
    assert text.count("no run collapses by default") == 2
    alone = rows(text, "as by default, the same labels, full and clean test")
    assert alone[0][1:] == rows(text, "as by default, full and clean test")[0][1:]
    assert "the same labels," not in study_block("few-labels", few)


def test_the_interval_of_a_ratio_of_deviations_holds_the_true_one_as_often_as_it_says():
    draw = np.random.default_rng(3)
    true_ratio, num_tables, num_held = 0.5, 1_000, 0
    for _ in range(num_tables):
        # Both share what the draw of labels does.
        shared, own, other = draw.normal(size=(3, 20))
        naive = shared + other
        ours = true_ratio * (shared + own)
        ratio, low, high = deviation_ratio(ours.tolist(), naive.tolist())
        assert ratio == pytest.approx(np.std(ours) / np.std(naive))
        num_held += low <= true_ratio <= high
    # Chance alone moves a share of 95 % by 2 points.
    assert 0.93 <= num_held / num_tables <= 0.97


def test_every_figure_that_is_shown_is_written(record, few, kept, monkeypatch, tmp_path):
    monkeypatch.setattr(results_blocks, "FORMATS", ("svg",))
    made = record(sizes=(1_600,))
    results = made["comparisons"]["compared"]
    two = made | {"comparisons": {"topics": results, "spam": results}}
    kept({"documents": made, "topics-and-spam": two, "few-labels": few})
    written = [path.name for path in results_blocks.write_result_figures(tmp_path)]
    shown = [name for study in STUDIES for name in IMAGE.findall(block(study))]
    assert written == [f"{name}.svg" for name in shown]
    assert shown == [
        "results-documents-curves",
        "results-documents-differences",
        "results-topics-and-spam-topics-accuracy-by-labels",
        "results-topics-and-spam-spam-accuracy-by-labels",
        "results-few-labels-seeds",
    ]


def test_every_strength_of_tfidf_has_a_row(facts):
    score = {"mean": 0.851, "low": 0.835, "high": 0.867}
    row = {"strength": 10.0, "valid": 0.8425, "full": score, "clean": score}
    text = tfidf_strengths(facts | {"num_labels": 1_600, "strengths": [row]})
    assert "| 10 | 84.2 % | 85.1 % (83.5 to 86.7) | 85.1 % (83.5 to 86.7) |" in text


def test_every_setting_is_held_against_the_default(facts, few):
    ways = {name: few["systems"][name]["clean"] for name in ("default", "naive")}
    row = {"to": "naive", "difference": 0.12, "low": 0.05, "high": 0.19}
    made = {key: few[key] for key in ("trunk", "data_set", "num_labels", "num_seeds")}
    text = few_labels_settings(facts | made | {"ways": ways, "differences": [row]})
    assert rows(text, "default, as by default")[0][3:] == ["76.0 %", "—", "—"]
    (naive,) = rows(text, "naive")
    assert naive[1:5] == ["65.00 %", "9.00 points", "56.0 %", "+12.0 (+5.0 to +19.0)"]
    assert naive[5].startswith("0.11 (")
