"""Rows of tables: as Python's own csv, json and pyarrow read them, and placed by their lines."""

import csv
import io
import json
import sys

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from headstart.corpora.compression import Meter
from headstart.corpora.places import Complaints
from headstart.corpora.rows import ROW_READERS, Row, cell_text, is_table, read_rows
from headstart.errors import DataError

CELL = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=12)
PLAIN_CELL = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n\t"), max_size=12)
VALUE = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=12), st.lists(st.text())
)
HEADER = ["text", "label", "n\u00ba"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("rows")


def written(folder, name: str, data: bytes | str):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def strict(path) -> list[Row]:
    return list(read_rows(path, Meter(), Complaints(skips_bad=False)))


def lenient(path) -> tuple[list[Row], Complaints]:
    complaints = Complaints(skips_bad=True)
    return list(read_rows(path, Meter(), complaints)), complaints


def cells_of(rows: list[Row]) -> list[list[object]]:
    return [list(row.cells.values()) for row in rows]


def refused(path) -> str:
    with pytest.raises(DataError) as caught:
        strict(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


@settings(deadline=None, max_examples=150)
@given(
    rows=st.lists(st.tuples(CELL, CELL, CELL), max_size=6),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_csv_is_read_as_the_csv_module_wrote_it(folder, rows, end, quoting):
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator=end, quoting=quoting).writerows([HEADER, *rows])
    path = written(folder, "table.csv", stream.getvalue())
    assert cells_of(strict(path)) == list(map(list, rows))


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(PLAIN_CELL, PLAIN_CELL, PLAIN_CELL), max_size=6))
def test_tsv_has_cells_between_tabs_in_which_quotation_marks_are_text(folder, rows):
    path = written(folder, "table.tsv", "".join("\t".join(row) + "\n" for row in [HEADER, *rows]))
    assert cells_of(strict(path)) == list(map(list, rows))


@settings(deadline=None, max_examples=100)
@given(st.lists(st.dictionaries(st.text(max_size=5), VALUE, min_size=1), max_size=6), st.booleans())
def test_json_lines_are_read_as_the_json_module_wrote_them(folder, rows, ensure_ascii):
    text = "".join(json.dumps(row, ensure_ascii=ensure_ascii) + "\n" for row in rows)
    path = written(folder, "table.jsonl", text)
    assert [row.cells for row in strict(path)] == rows


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(CELL, st.integers(-(2**63), 2**63 - 1)), max_size=6))
def test_parquet_is_read_as_it_was_written(folder, rows):
    table = pyarrow.table(
        {"text": [text for text, _ in rows], "label": [label for _, label in rows]}
    )
    parquet.write_table(table, folder / "table.parquet", row_group_size=2)
    assert cells_of(strict(folder / "table.parquet")) == list(map(list, rows))


@pytest.mark.parametrize("cell", ["a\r\nb", "a\r\n", "\r\nb", "a\rb", "a\r"])
def test_a_quoted_cell_keeps_its_line_ends_as_they_are(folder, cell):
    path = written(folder, "table.csv", f'text,label\n"{cell}",1\n')
    assert cells_of(strict(path)) == [[cell, "1"]]


def test_every_row_stands_on_the_line_where_it_begins(folder):
    path = written(folder, "table.csv", 'text,label\na,1\n"b\nb\nb",2\n\nc,3\n')
    assert [row.place.line for row in strict(path)] == [2, 3, 7]


def test_a_row_behind_a_skipped_line_keeps_its_own_number(folder):
    path = written(folder, "table.csv", b"text,label\na,1\n\xff,2\n\0,3\nb,4\n")
    rows, complaints = lenient(path)
    assert [row.place.line for row in rows] == [2, 5]
    assert sum(complaints.counts.values()) == 2


def test_a_ragged_row_behind_a_skipped_line_is_reported_at_its_own_line(folder):
    complaints = lenient(written(folder, "table.csv", b"text,label\n\xff,2\nb,4,5\n"))[1]
    assert any("cells" in line and "line 3" in line for line in complaints.summary())


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize("skips_bad", [False, True])
@pytest.mark.parametrize("header", [b"t\xffxt", b"te\0xt"])
def test_a_header_that_cannot_be_read_is_never_replaced_by_the_first_row(
    folder, suffix, skips_bad, header
):
    path = written(folder, f"table{suffix}", header + b"\nfirst\nsecond\n")
    with pytest.raises(DataError):
        list(read_rows(path, Meter(), Complaints(skips_bad=skips_bad)))


def test_a_row_with_a_bad_line_inside_it_is_not_kept_without_that_line(folder):
    path = written(folder, "table.csv", b'text,label\n"one\n\xff\nthree",1\ngood,0\n')
    rows, complaints = lenient(path)
    assert cells_of(rows) == [["good", "0"]]
    assert complaints.counts


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize("ragged", ["one", "one,1,more", ",,,"])
def test_a_ragged_row_is_named_by_file_and_line_or_counted(folder, suffix, ragged):
    text = f"text,label\ngood,1\n{ragged}\nbetter,0\n"
    path = written(folder, f"table{suffix}", text if suffix == ".csv" else text.replace(",", "\t"))
    sentence = refused(path)
    for word in ("line 3", str(ragged.count(",") + 1), "2", "--skip-bad"):
        assert word in sentence
    rows, complaints = lenient(path)
    assert cells_of(rows) == [["good", "1"], ["better", "0"]]
    assert sum(complaints.counts.values()) == 1


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize("text", ["", "\ufeff"])
def test_a_table_without_a_header_is_refused(folder, suffix, text):
    refused(written(folder, f"table{suffix}", text))


def test_a_column_named_twice_is_refused_by_name(folder):
    assert "'text'" in refused(written(folder, "table.csv", "text,label, text\na,b,c\n"))


def test_a_blank_line_above_the_header_is_passed_over(folder):
    assert cells_of(strict(written(folder, "table.csv", "\ntext,label\na,1\n"))) == [["a", "1"]]


def test_a_quotation_mark_that_is_never_closed_is_named_where_it_was_opened(folder):
    path = written(folder, "table.csv", 'text,label\na,1\n"b,2\nc,3\n')
    assert "line 3" in refused(path)


def test_lines_that_an_open_quotation_mark_swallowed_are_told_of(folder):
    path = written(folder, "table.csv", 'text,label\na,1\n"b,2\n' + "c,3\n" * 500)
    rows, complaints = lenient(path)
    is_counted = len(rows) + sum(complaints.counts.values()) == 502
    assert is_counted or any("line 503" in line for line in complaints.summary())


@pytest.mark.parametrize(
    "line",
    ["{", "[1]", "3", '"text"', "null", '{"text": }', "[" * 200_000, '{"n": ' + "9" * 5_000 + "}"],
)
def test_a_line_that_is_no_json_object_is_named_or_counted(folder, line):
    path = written(folder, "table.jsonl", f'{{"text": "a"}}\n\n{line}\n{{"text": "b"}}\n')
    assert "line 3" in refused(path)
    rows, complaints = lenient(path)
    assert [(row.place.line, row.cells["text"]) for row in rows] == [(1, "a"), (4, "b")]
    assert sum(complaints.counts.values()) == 1


def bad_strings():
    """Returns a column of strings of which one is not UTF-8, as other programs may write it."""
    offsets = pyarrow.array([0, 4, 6], pyarrow.int32()).buffers()[1]
    return pyarrow.StringArray.from_buffers(2, offsets, pyarrow.py_buffer(b"good\xff\xfe"))


def test_parquet_with_bytes_that_are_not_utf_8_is_refused(folder):
    parquet.write_table(pyarrow.table({"text": bad_strings()}), folder / "bad.parquet")
    refused(folder / "bad.parquet")


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" + bytes(50) + b"PAR1", b"text\nplain\n"])
def test_a_file_that_is_no_parquet_is_refused(folder, data):
    refused(written(folder, "no.parquet", data))


def test_parquet_without_pyarrow_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "headstart[parquet]" in refused(written(folder, "table.parquet", b"PAR1"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a", "a"), (1, "1"), (-2, "-2"), (True, "True"), (1.5, "1.5"), ("", "")],
)
def test_a_cell_is_text_or_a_number_as_text(folder, value, expected):
    (row,) = strict(written(folder, "one.jsonl", json.dumps({"text": value})))
    assert cell_text(row, "text", Complaints(skips_bad=False)) == expected


@pytest.mark.parametrize(
    "cell",
    ["null", "[]", "{}", "NaN", '"a\\u0000b"', '"\\ud800"', '"a\\udfffb"', '"\\ude00\\ud83d"'],
)
def test_a_cell_that_is_no_text_is_named_or_counted(folder, cell):
    (row,) = strict(written(folder, "one.jsonl", f'{{"text": {cell}}}\n'))
    with pytest.raises(DataError, match="line 1: "):
        cell_text(row, "text", Complaints(skips_bad=False))
    complaints = Complaints(skips_bad=True)
    assert cell_text(row, "text", complaints) is None
    assert sum(complaints.counts.values()) == 1


def test_both_halves_of_a_surrogate_pair_are_one_letter(folder):
    (row,) = strict(written(folder, "one.jsonl", '{"text": "\\ud83d\\ude00"}'))
    assert cell_text(row, "text", Complaints(skips_bad=False)) == "\U0001f600"


@pytest.mark.parametrize("suffix", ROW_READERS)
@pytest.mark.parametrize("compression", ["", ".gz", ".XZ"])
def test_a_table_is_known_by_its_name(folder, suffix, compression):
    assert is_table(folder / f"a.b{suffix.upper()}{compression}")
    assert not is_table(folder / f"a{suffix}.txt{compression}")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_of_the_header(folder, delimiter):
    rows = [["text", "label"], ["one, two; three | four", "1"], ['a "quoted" \n line', "0"]]
    table = io.StringIO(newline="")
    csv.writer(table, delimiter=delimiter).writerows(rows)
    found = strict(written(folder, "table.csv", table.getvalue()))
    assert cells_of(found) == rows[1:]
    assert list(found[0].cells) == ["text", "label"]


def test_delimiters_inside_a_quoted_name_do_not_count(folder):
    rows = strict(written(folder, "table.csv", '"a;b;c;d",label\nx,1\n'))
    assert list(rows[0].cells) == ["a;b;c;d", "label"]


def test_a_table_of_one_column_has_commas(folder):
    assert cells_of(strict(written(folder, "table.csv", "text\na;b\n"))) == [["a;b"]]
