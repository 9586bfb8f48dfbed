"""A record's verdict is told by its numbers, in the words of today."""

import pytest
from page_parts import records_of
from results_blocks import STUDIES
from verdict_block import verdict_sentences


@pytest.fixture
def results(comparison_results):
    """What a comparison found, with the words of another day."""
    found = comparison_results(sizes=(250, 1_000))
    found["verdict"]["sentences"] = ["It was told otherwise then."]
    return found


def test_numbers_are_told_and_not_the_words_of_another_day(results):
    first, *_ = verdict_sentences(results)
    primary = next(row for row in results["differences"] if row["is_primary"])
    assert f"{100 * primary['difference']:.1f} points" in first


def test_a_worth_is_told_of_the_system_that_was_asked_about(results):
    asked = next(row for row in results["differences"] if row["is_primary"])["of"]
    numbers = {"factor": 3.0, "low": 2.0, "high": 4.0, "is_at_least": False, "is_at_most": False}
    row = {"system": asked, "against": "cold", "at_size": 1_000, **numbers}
    results["label_worth"] = [row, row | {"system": "frozen", "factor": 30.0}]
    told = " ".join(verdict_sentences(results))
    assert "is worth 3 times the labels (2 to 4)" in told
    assert "30 times" not in told


def test_without_a_question_asked_beforehand_the_scores_stay_as_they_were_told(results):
    results["differences"] = []
    assert verdict_sentences(results) == ("It was told otherwise then.",)


@pytest.mark.parametrize("study", STUDIES)
def test_every_record_of_a_study_can_be_told(study):
    for _, record in records_of(study):
        for results in record.get("comparisons", {}).values():
            assert verdict_sentences(results)
