"""The terminal's tables have the numbers of results.json, rounded and no more."""

import pytest

from headstart.apps.cli.output import plain_text
from headstart.reports.comparison.reading import comparison_of
from headstart.reports.comparison.wording import MINUS
from headstart.reports.comparison_tables import (
    comparison_tables,
    is_all_clean,
    score_table,
    verdict_lines,
    which_tests,
)


def test_the_verdict_is_the_answer_and_its_sentences(comparison_results):
    results = comparison_results()
    assert verdict_lines(results) == ["Pretraining helps here.", *results["verdict"]["sentences"]]


def test_there_is_a_table_for_each_number_of_labels_the_most_first(comparison_results):
    titles = [table.title for table in comparison_tables(comparison_results())]
    assert titles == [
        "With 1,000 labels, clean test",
        "With 250 labels, clean test",
        "Differences in accuracy on the clean test",
        "What a warm start is worth in labels",
    ]


def test_scores_are_those_of_the_clean_test(comparison_results):
    results = comparison_results()
    (table, *_) = comparison_tables(results)
    for name, accuracy, f1, error in table.rows:
        key = "tfidf" if name == "TF-IDF" else name
        means = {
            row["metric"]: row
            for row in results["scores"]
            if (row["system"], row["size"], row["test"]) == (key, 1_000, "clean")
        }
        for metric, cell in (
            ("accuracy", accuracy),
            ("macro_f1", f1),
            ("calibration_error", error),
        ):
            mean, low, high = (100 * means[metric][key] for key in ("mean", "low", "high"))
            assert cell == f"{mean:.1f} % ({low:.1f} to {high:.1f})"
    assert max(len(line) for line in plain_text(table).splitlines()) < 100


def test_full_and_clean_stand_side_by_side_where_they_differ(comparison_results):
    seen = comparison_of(comparison_results())
    assert which_tests(seen) == ["clean", "full"]
    table = score_table(seen, 250, which_tests(seen))
    assert table.columns[1:3] == ("accuracy, clean test", "accuracy, full test")


def test_one_test_is_shown_where_nothing_was_taken_out(comparison_results):
    results = comparison_results()
    for row in results["scores"]:
        row["num_items"] = 2_134
    seen = comparison_of(results)
    assert is_all_clean(seen)
    assert which_tests(seen) == ["clean"]


def test_a_score_that_was_not_measured_is_a_dash(comparison_results):
    results = comparison_results()
    results["scores"] = [
        row
        for row in results["scores"]
        if (row["system"], row["metric"]) not in {("cold", "macro_f1")} and row["system"] != "tfidf"
    ]
    (table, *_) = comparison_tables(results)
    rows = {row[0]: row for row in table.rows}
    assert rows["cold"][2] == "—"
    assert "TF-IDF" not in rows


def test_the_primary_difference_is_first_and_named(comparison_results):
    results = comparison_results()
    *_, differences, _ = comparison_tables(results)
    primary = next(row for row in results["differences"] if row["is_primary"])
    points = f"{100 * primary['difference']:+.1f}"
    assert differences.rows[0][:3] == (f"warm {MINUS} cold", "1,000", points)
    assert differences.rows[0][-1] == "primary"
    assert all(row[-1] != "primary" for row in differences.rows[1:])


@pytest.mark.parametrize("missing", ["differences", "label_worth"])
def test_what_was_not_asked_has_no_table(comparison_results, missing):
    results = comparison_results()
    del results[missing]
    assert len(list(comparison_tables(results))) == 3


def test_what_simpler_lines_do_with_more_labels_is_one_table(comparison_results):
    results = comparison_results(beyond=(2_000, 4_000))
    tables = {table.title: table for table in comparison_tables(results)}
    assert len(tables) == 5
    table = tables["With more labels than the networks had, clean test"]
    assert [row[:2] for row in table.rows] == [("TF-IDF", "2,000"), ("TF-IDF", "4,000")]


def test_worth_of_at_least_its_own_labels_says_nothing(comparison_results):
    results = comparison_results()
    results["label_worth"][0] |= {"factor": 1.0, "low": 1.0}
    *_, table = comparison_tables(results)
    assert [row[2] for row in table.rows] == ["TF-IDF"]
    assert table.rows[0][3] == "at least 4 (3.1 or more)"
