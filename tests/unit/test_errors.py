"""The tree of exceptions is the one that is drawn, and each has its exit code."""

import ast
import inspect
import re

import pytest

from headstart import errors

CLASSES = {
    name: kind
    for name, kind in vars(errors).items()
    if inspect.isclass(kind) and issubclass(kind, BaseException)
}
BRANCH = re.compile(
    r"^(?P<stem>(?:[│ ] {3})*)(?P<fork>[├└]── )?(?P<name>\w+Error)\s{2,}(?P<meaning>\S.*)$"
)


def drawn_rows() -> list[re.Match]:
    """Returns the rows of the tree in the module's docstring."""
    return [row for line in errors.__doc__.splitlines() if (row := BRANCH.match(line))]


def drawn_parents() -> dict[str, str | None]:
    """Returns the parent of each name, read from the indentation alone."""
    parents: dict[str, str | None] = {}
    ancestors: list[str] = []
    for row in drawn_rows():
        depth = len(row["stem"]) // 4 + bool(row["fork"])
        ancestors = [*ancestors[:depth], row["name"]]
        assert len(ancestors) == depth + 1, f"{row['name']} hangs from nothing"
        parents[row["name"]] = ancestors[depth - 1] if depth else None
    return parents


def test_every_line_that_names_an_exception_belongs_to_the_tree():
    named = [line for line in errors.__doc__.splitlines() if "Error" in line]
    assert len(drawn_rows()) == len(named) == len(drawn_parents())


def test_every_exception_is_drawn_and_nothing_else():
    assert set(drawn_parents()) == set(CLASSES)


@pytest.mark.parametrize("name", CLASSES)
def test_every_exception_is_drawn_under_its_parent(name):
    parent = CLASSES[name].__base__
    assert drawn_parents()[name] == (None if parent is Exception else parent.__name__)


def test_the_last_child_closes_its_branch():
    rows = drawn_rows()
    for number, row in enumerate(rows):
        if row["fork"]:
            after = [
                other for other in rows[number + 1 :] if len(other["stem"]) <= len(row["stem"])
            ]
            has_sibling = bool(after) and after[0]["stem"] == row["stem"] and after[0]["fork"]
            assert row["fork"] == ("├── " if has_sibling else "└── "), row["name"]


@pytest.mark.parametrize("row", drawn_rows(), ids=lambda row: row["name"])
def test_an_exit_code_that_is_drawn_is_the_one_that_is_used(row):
    if code := re.search(r"exit code (\d+)", row["meaning"]):
        assert CLASSES[row["name"]].exit_code == int(code[1])


@pytest.mark.parametrize("name", CLASSES)
def test_the_user_is_blamed_by_2_and_we_ourselves_by_1(name):
    assert CLASSES[name].exit_code == (1 if name == "LedgerError" else 2)


@pytest.mark.parametrize("kind", CLASSES.values(), ids=CLASSES)
def test_every_exception_is_caught_as_one_of_ours_and_speaks_its_sentence(kind):
    with pytest.raises(errors.HeadstartError) as caught:
        raise kind("A sentence.")
    assert str(caught.value) == "A sentence."


@pytest.mark.parametrize("kind", CLASSES.values(), ids=CLASSES)
def test_every_exception_says_what_it_means(kind):
    assert ast.get_docstring(ast.parse(inspect.getsource(kind)).body[0])
