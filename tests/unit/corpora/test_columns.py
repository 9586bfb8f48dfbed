"""Columns: the one that was named, the one of a usual name, or a sentence that lists them."""

from pathlib import Path

import pytest

from headstart.corpora.columns import (
    LABEL_NAMES,
    SOURCE_NAMES,
    TARGET_NAMES,
    TEXT_NAMES,
    find_column,
)
from headstart.errors import DataError

PATH = Path("reviews.csv")
ROLES = {"text": TEXT_NAMES, "label": LABEL_NAMES, "source": SOURCE_NAMES, "target": TARGET_NAMES}
USUAL = [(role, name) for role, names in ROLES.items() for name in names]


@pytest.mark.parametrize(("role", "name"), USUAL)
@pytest.mark.parametrize("spelled", [str, str.upper, str.title])
def test_a_usual_name_is_found_in_any_case(role, name, spelled):
    columns = ["number", spelled(name), "date"]
    assert find_column(columns, None, ROLES[role], PATH, role) == spelled(name)


def test_the_most_usual_name_wins():
    assert find_column(["comment", "text"], None, TEXT_NAMES, PATH, "text") == "text"


@pytest.mark.parametrize("role", ROLES)
def test_a_named_column_wins_over_usual_names(role):
    assert find_column([ROLES[role][0], "other"], "other", ROLES[role], PATH, role) == "other"


def test_the_only_column_holds_the_text():
    assert find_column(["whatever"], None, TEXT_NAMES, PATH, "text") == "whatever"


@pytest.mark.parametrize("role", ["label", "source", "target"])
def test_the_only_column_holds_nothing_but_text(role):
    with pytest.raises(DataError):
        find_column(["whatever"], None, ROLES[role], PATH, role)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("wanted", [None, "txet"])
def test_a_missing_column_is_answered_with_those_there_are(role, wanted):
    with pytest.raises(DataError) as caught:
        find_column(["one", "two"], wanted, ROLES[role], PATH, role)
    sentence = str(caught.value)
    assert "\n" not in sentence
    for word in (str(PATH), "one, two", role, wanted or role):
        assert word in sentence


def test_a_column_named_in_another_case_is_not_guessed_but_listed():
    with pytest.raises(DataError, match="It has: Text, label"):
        find_column(["Text", "label"], "text ", TEXT_NAMES, PATH, "text")
