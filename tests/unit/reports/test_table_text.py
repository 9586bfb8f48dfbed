"""A table in a pipe: aligned text, and not one character more than it says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.apps.cli.output import plain_text, print_tables
from headstart.reports.table import Table

TABLE = Table(
    title="Parameters",
    columns=("part", "formula", "count"),
    rows=(("embedding", "V·d", "10,000,200"), ("head", "", "402")),
    numeric=frozenset({"count"}),
    notes=("Derived twice.", "Both agree."),
)
words = st.text(alphabet="abcdefgh·²,", max_size=12)


@st.composite
def tables(draw) -> Table:
    num_columns = draw(st.integers(1, 5))
    columns = tuple(f"c{i}{draw(words)}" for i in range(num_columns))
    row = st.tuples(*[words] * num_columns)
    return Table(
        title=draw(words),
        columns=columns,
        rows=tuple(draw(st.lists(row, max_size=6))),
        numeric=frozenset(draw(st.sets(st.sampled_from(columns)))),
        notes=tuple(draw(st.lists(words, max_size=2))),
    )


def test_a_table_is_a_title_columns_rows_and_notes():
    assert plain_text(TABLE) == "\n".join(
        [
            "Parameters",
            "part       formula       count",
            "embedding  V·d      10,000,200",
            "head                       402",
            "Derived twice.",
            "Both agree.",
            "",
        ]
    )


def test_a_table_without_rows_or_notes_is_its_columns():
    assert plain_text(Table(title="Nothing", columns=("a", "b"), rows=())) == "Nothing\na  b\n"


@given(table=tables())
def test_every_column_begins_or_ends_at_one_place(table):
    lines = plain_text(table).split("\n")[1 : 2 + len(table.rows)]
    start = 0
    for index, column in enumerate(table.columns):
        cells = [column, *(row[index] for row in table.rows)]
        width = max(map(len, cells))
        for line, cell in zip(lines, cells, strict=True):
            shown = line.ljust(start + width)[start : start + width]
            assert shown == (cell.rjust(width) if column in table.numeric else cell.ljust(width))
        start += width + 2


@given(table=tables())
def test_there_is_a_line_for_each_row_and_none_ends_in_blanks(table):
    lines = plain_text(table).split("\n")
    assert len(lines) == 1 + 1 + len(table.rows) + len(table.notes) + 1
    assert all(line == line.rstrip(" ") for line in lines[1:])


@given(table=tables())
def test_every_cell_stands_whole_in_its_line(table):
    lines = plain_text(table).split("\n")[2:]
    for row, line in zip(table.rows, lines, strict=False):
        assert all(cell in line for cell in row)


def test_long_cells_are_never_folded():
    long = "x" * 500
    assert long in plain_text(Table(title="", columns=("a",), rows=((long,),)))


def test_a_row_of_the_wrong_size_is_noticed():
    with pytest.raises((ValueError, IndexError)):
        plain_text(Table(title="", columns=("a", "b"), rows=(("only one",),)))


def test_in_a_pipe_a_table_is_printed_as_plain_text(capsys, monkeypatch):
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    print_tables([TABLE, TABLE])
    assert capsys.readouterr().out == (plain_text(TABLE) + "\n") * 2


def test_in_a_terminal_markup_inside_a_cell_is_shown_as_it_is(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    print_tables([Table(title="[bold]", columns=("a",), rows=(("[red]x[/red]",),))])
    out = capsys.readouterr().out
    assert "[bold]" in out
    assert "[red]x[/red]" in out
