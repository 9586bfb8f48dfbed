"""A table of examples holds what was written, whatever that is."""

import csv
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.corpora.documents import Reading
from headstart.corpora.example_table import write_examples
from headstart.corpora.examples import ExampleColumns, read_examples

# Half a surrogate pair has no UTF-8, and a NUL no place in a CSV file.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@settings(deadline=None)
@given(rows=st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=5))
def test_examples_survive_whatever_is_in_them(rows):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.csv"
        write_examples(path, rows)
        with path.open(newline="", encoding="utf-8") as file:
            assert list(map(tuple, csv.reader(file))) == [("text", "label", "group"), *rows]


def test_a_written_table_is_read_as_examples_again(tmp_path):
    rows = [("one; two\rthree\n", "good", "film, a"), ('"quoted"', "bad", "film b")]
    write_examples(tmp_path / "train.csv", rows)
    columns = ExampleColumns(group="group")
    found = read_examples(str(tmp_path / "train.csv"), Reading.plain(), columns)
    assert [(each.text, each.label, each.group) for each in found] == rows
