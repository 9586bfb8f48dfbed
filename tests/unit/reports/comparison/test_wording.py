"""Numbers read as they should, at the edges too."""

import pytest

from headstart.reports.comparison.plain_values import pairs_of, show_value, side_by_side
from headstart.reports.comparison.reading import comparison_of
from headstart.reports.comparison.record import Difference, LabelWorth, Score
from headstart.reports.comparison.wording import (
    MINUS,
    headline,
    name_of,
    show_interval,
    show_p,
    show_percent,
    show_points,
    show_score,
    show_worth,
)


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.124, "+12.4"), (-0.03, f"{MINUS}3.0"), (0.0004, "0.0"), (-0.0004, "0.0"), (0, "0.0")],
)
def test_points_have_a_sign_unless_they_are_nothing(share, shown):
    assert show_points(share) == shown


@pytest.mark.parametrize(
    ("p", "shown"),
    [(None, "—"), (0.0, "< 0.001"), (0.00099, "< 0.001"), (0.0123, "0.012"), (0.5, "0.50")],
)
def test_p_has_the_digits_that_mean_something(p, shown):
    assert show_p(p) == shown


def test_a_share_is_shown_as_percent_with_its_interval_where_it_has_one():
    known = {"system": "warm", "size": 9, "test": "clean", "metric": "accuracy"}
    known |= {"num_seeds": 1, "num_items": 9}
    assert show_percent(0.7312) == "73.1 %"
    assert show_score(Score(mean=0.7312, low=0.7, high=0.7649, **known)) == "73.1 % (70.0 to 76.5)"
    assert show_score(Score(mean=0.5, **known)) == "50.0 %"
    assert show_score(None) == "—"


def test_an_interval_may_be_unknown():
    row = Difference(of="a", to="b", size=1, test="full", metric="accuracy", difference=0.1)
    assert show_interval(row) == "—"


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"factor": 4.0, "low": 3.1, "high": 5.2}, "4 (3.1 to 5.2)"),
        ({"factor": 4.0, "low": 3.1, "is_at_least": True}, "at least 4 (3.1 or more)"),
        ({"factor": 4.0, "high": 5.2}, "4 (5.2 or less)"),
        ({"factor": 4.0, "is_at_least": True}, "at least 4"),
        ({"factor": 4.0, "low": 4.0, "is_at_least": True}, "at least 4"),
        ({"factor": 0.25, "high": 0.25, "is_at_most": True}, "at most 0.25"),
        ({"factor": 12.4, "low": 9.96, "high": 1500.0}, "12 (10 to 1,500)"),
        ({}, "—"),
    ],
)
def test_worth_in_labels_says_what_is_known(changes, shown):
    assert show_worth(LabelWorth(system="warm", against="cold", at_size=250, **changes)) == shown


@pytest.mark.parametrize(
    ("answer", "better", "said"),
    [
        ("helps", None, "Pretraining helps here."),
        ("helps", "tfidf", "Pretraining helps here, but TF-IDF is the better choice."),
        ("no evidence", None, "No evidence that pretraining helps here."),
        ("hurts", "tfidf", "Pretraining hurts here, and TF-IDF is the better choice."),
        ("hurts", "oracle", "Pretraining hurts here, and oracle is the better choice."),
    ],
)
def test_the_headline_says_when_another_line_is_better(comparison_results, answer, better, said):
    results = comparison_results()
    results["verdict"] |= {"answer": answer, "better_line": better}
    assert headline(comparison_of(results)) == said


def test_a_trunk_is_named_where_there_are_several(comparison_results):
    one, two = (
        comparison_of(comparison_results(trunks=names)) for names in (("film",), ("film", "news"))
    )
    assert name_of(one, "warm") == "warm"
    assert name_of(two, "warm:news") == "warm, news"
    assert name_of(two, "cold") == "cold"


def test_any_record_is_shown_with_units_by_name():
    record = {"memory": {"peak_bytes": 2_048}, "flops": 2e6, "is_warm": True, "sizes": [1, 2_000]}
    assert dict(pairs_of(record)) == {
        "memory, peak bytes": "2 KiB",
        "flops": "2 MFLOP",
        "is warm": "yes",
        "sizes": "1, 2,000",
    }
    assert show_value(None) == "none"
    assert show_value([]) == "none"
    assert show_value([{"a": 0.5}]) == "a 0.5"


def test_records_side_by_side_have_every_name_once():
    table = side_by_side("t", {"a": {"x": 1, "y": 2}, "b": {"y": 3, "z": None}})
    assert table.rows == (("x", "1", ""), ("y", "2", "3"), ("z", "", "none"))
