"""A name picks its row; a wrong name is answered with the rows and the nearest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.choices import choose, nearest
from headstart.errors import RecipeError

TABLE = {"lab": 1, "compact": 2, "strong": 3, "base": None}


@pytest.mark.parametrize("name", TABLE)
def test_a_name_picks_its_row(name):
    assert choose(name, TABLE, "recipe") is TABLE[name]


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("lap", " Did you mean 'lab'?"),
        ("LAB", " Did you mean 'lab'?"),
        ("compct", " Did you mean 'compact'?"),
        ("Strong", " Did you mean 'strong'?"),
        ("xyzzy", ""),
        ("", ""),
    ],
)
def test_a_wrong_name_is_answered_with_the_rows_and_the_nearest(name, suggestion):
    with pytest.raises(RecipeError) as caught:
        choose(name, TABLE, "recipe")
    assert str(caught.value) == (
        f"There is no recipe {name!r}.{suggestion} Choose one of: lab, compact, strong, base."
    )


@pytest.mark.parametrize(("name", "row"), [("recipe", "Recipe"), ("TRUNKCONFIG", "TrunkConfig")])
def test_a_name_in_the_wrong_case_is_near_a_row_in_capitals(name, row):
    assert nearest(name, {"Recipe": 1, "TrunkConfig": 2}) == f" Did you mean {row!r}?"


@given(name=st.text().filter(lambda name: name not in TABLE))
def test_any_other_name_is_answered_in_one_line_that_names_it(name):
    with pytest.raises(RecipeError) as caught:
        choose(name, TABLE, "recipe")
    assert repr(name) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@given(name=st.text())
def test_only_a_name_of_the_table_is_suggested(name):
    suggestion = nearest(name, TABLE)
    assert suggestion in {"", *(f" Did you mean {row!r}?" for row in TABLE)}


def test_nothing_is_near_in_an_empty_table():
    assert nearest("lab", {}) == ""
