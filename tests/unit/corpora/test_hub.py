"""Data sets of the hub: what a name says, how rows arrive, and one sentence for what fails."""

import sys
import types

import pytest
from click.testing import CliRunner

from headstart.apps.cli.main import main
from headstart.corpora.compression import Meter
from headstart.corpora.documents import Reading, read_documents
from headstart.corpora.examples import ExampleColumns, read_examples
from headstart.corpora.hub import HubName, hub_name, hub_sha256, read_hub
from headstart.corpora.pairs import read_pair_table
from headstart.corpora.sources import find_files, total_bytes
from headstart.errors import DataError

ROWS = [
    {"text": "un bon film", "label": 1, "source": "one", "target": "un"},
    {"text": "un mauvais film", "label": 0, "source": "two", "target": "deux"},
]


@pytest.fixture
def asked(monkeypatch):
    """A library that stands in for the real one, and the calls that it was given."""
    calls = []

    def load_dataset(*arguments, **options):
        calls.append((arguments, options))
        yield from ROWS

    library = types.SimpleNamespace(__version__="5.2.0", load_dataset=load_dataset)
    monkeypatch.setitem(sys.modules, "datasets", library)
    return calls


@pytest.fixture
def failing(monkeypatch):
    """A library that gives a row and then fails, as a lost connection does."""

    def load_dataset(*arguments, **options):
        yield ROWS[0]
        raise ConnectionError("Couldn't reach the Hub.\nLong story.")

    library = types.SimpleNamespace(__version__="4.0.0", load_dataset=load_dataset)
    monkeypatch.setitem(sys.modules, "datasets", library)


@pytest.fixture
def absent(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)


def refused(action) -> str:
    with pytest.raises(DataError) as caught:
        action()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def path_of(name):
    return find_files([name])[0]


def test_a_name_says_which_split_of_which_configuration(tmp_path):
    assert hub_name("hub:me/films") == HubName("me/films", None, "train")
    assert hub_name("hub:me/films:test") == HubName("me/films", None, "test")
    assert hub_name("hub:me/films:french:test") == HubName("me/films", "french", "test")
    assert hub_name("hub:me/films:french:") == HubName("me/films", "french", "train")
    assert hub_name(f"hub:{tmp_path}:test") == HubName(str(tmp_path), None, "test")


@pytest.mark.parametrize("name", ["hub:", "hub:csv", "hub:a/b/c", "hub:/b:1:2:3", "hub:a/b:1:2:3"])
def test_another_name_is_refused_before_anything_is_read(name):
    assert "hub:OWNER/NAME:CONFIG:SPLIT" in refused(lambda: find_files([name]))


def test_a_folder_that_is_not_there_is_said_to_be_missing(tmp_path):
    sentence = refused(lambda: find_files([f"hub:{tmp_path}/none"]))
    assert sentence.startswith(f"There is no folder {tmp_path}/none")


def test_rows_are_streamed_and_no_code_is_trusted(asked):
    rows = list(read_hub(path_of("hub:me/films:french:test"), Meter()))
    assert asked == [(("me/films", "french"), {"split": "test", "streaming": True})]
    assert [row.cells for row in rows] == ROWS
    assert str(rows[1].place) == "hub:me/films:french:test, line 2"


def test_reading_counts_letters_and_knows_no_total(asked):
    paths = find_files(["hub:me/films"])
    reading = Reading.plain()
    assert len(list(read_documents(paths, reading))) == 2
    assert reading.meter.num_bytes == sum(
        len(cell) for row in ROWS for cell in row.values() if isinstance(cell, str)
    )
    assert total_bytes(paths) is None


def test_documents_examples_and_pairs_come_from_the_hub(asked):
    documents = read_documents(find_files(["hub:me/films"]), Reading.plain())
    assert [document.text for document in documents] == [row["text"] for row in ROWS]
    columns = ExampleColumns(label="label")
    examples = read_examples("hub:me/films:test", Reading.plain(), columns)
    assert [(example.text, example.label) for example in examples] == [
        ("un bon film", "1"),
        ("un mauvais film", "0"),
    ]
    pairs = read_pair_table(path_of("hub:me/films"), Reading.plain())
    assert [(pair.source, pair.target) for pair in pairs] == [("one", "un"), ("two", "deux")]


def test_a_data_set_that_has_changed_has_another_hash(asked, monkeypatch):
    before = hub_sha256(path_of("hub:me/films"))
    assert hub_sha256(path_of("hub:me/films")) == before
    monkeypatch.setitem(ROWS[0], "text", "un autre film")
    assert hub_sha256(path_of("hub:me/films")) != before


def test_a_missing_column_is_said_with_the_name(asked):
    wanted = ExampleColumns(label="stars")
    sentence = refused(lambda: read_examples("hub:me/films", Reading.plain(), wanted))
    assert sentence.startswith("hub:me/films has no column 'stars'. It has: text, label,")


def test_what_the_library_raises_becomes_one_sentence(failing):
    sentence = refused(lambda: list(read_hub(path_of("hub:me/films"), Meter())))
    assert sentence.startswith("Cannot read hub:me/films: Couldn't reach the Hub. Check the")


def test_without_the_library_the_sentence_says_how_to_get_it(absent):
    result = CliRunner().invoke(main, ["check", "--train", "hub:me/films"])
    assert result.exit_code == 2
    assert result.stderr == (
        "headstart: hub:me/films is read with the datasets library, which is not installed. "
        "Run: pip install 'headstart[hub]'.\n"
    )


def test_a_library_that_could_run_code_is_refused(monkeypatch):
    library = types.SimpleNamespace(__version__="3.6.0", load_dataset=None)
    monkeypatch.setitem(sys.modules, "datasets", library)
    sentence = refused(lambda: list(read_hub(path_of("hub:me/films"), Meter())))
    assert "3.6.0, too old" in sentence
    assert "pip install 'headstart[hub]'" in sentence


def test_commands_take_names_of_the_hub(asked, tmp_path):
    arguments = ["check", "--train", "hub:me/films", "--corpus", "hub:me/films:all"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    splits = [options["split"] for _, options in asked]
    assert splits == ["train", "all"]


class TestTheRealLibrary:
    """The same on a folder, with the library itself where it is installed."""

    @pytest.fixture
    def folder(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        pytest.importorskip("datasets", exc_type=ImportError)
        folder = tmp_path / "reviews"
        folder.mkdir()
        (folder / "train.csv").write_text("text,label\nun bon film,1\nun mauvais film,0\n")
        (folder / "test.csv").write_text("text,label\nun \u00e9t\u00e9,2\n", encoding="utf-8")
        return folder

    def test_splits_of_a_folder_are_read(self, folder):
        columns = ExampleColumns()
        train, test = (
            read_examples(name, Reading.plain(), columns)
            for name in (f"hub:{folder}", f"hub:{folder}:test")
        )
        assert [(example.text, example.label) for example in (*train, *test)] == [
            ("un bon film", "1"),
            ("un mauvais film", "0"),
            ("un \u00e9t\u00e9", "2"),
        ]

    def test_a_split_that_is_not_there_is_one_sentence(self, folder):
        sentence = refused(lambda: list(read_hub(path_of(f"hub:{folder}:dev"), Meter())))
        assert sentence.startswith(f"Cannot read hub:{folder}:dev: Bad split: dev")

    def test_code_in_the_folder_is_not_run(self, folder):
        marker = folder.parent / "ran"
        code = f"import pathlib; pathlib.Path({str(marker)!r}).touch()\n"
        (folder / "reviews.py").write_text(code)
        with pytest.raises(DataError, match="script"):
            list(read_hub(path_of(f"hub:{folder}"), Meter()))
        assert not marker.exists()
