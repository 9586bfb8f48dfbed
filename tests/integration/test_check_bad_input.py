"""The command `check` on what cannot be checked: one sentence that says what to do, at once."""

import pytest
from click.testing import CliRunner

from headstart.apps.cli import main as command_line
from headstart.apps.cli.main import main


@pytest.fixture
def train(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text("text,label\nun bon film,1\nun mauvais film,0\n")
    return path


def refused(*arguments) -> str:
    result = CliRunner().invoke(main, ["check", *map(str, arguments)])
    assert (result.exit_code, result.stdout) == (2, ""), repr(result.exception)
    assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr.removeprefix("headstart: ").strip()


def test_a_folder_of_examples_is_said_to_be_one(tmp_path):
    sentence = f"{tmp_path} is a folder. Name a file in it that holds examples."
    assert refused("--train", tmp_path) == sentence


@pytest.mark.parametrize("name", ["", "none.csv"])
def test_a_file_that_is_not_there_is_named_as_it_was_typed(name):
    assert refused("--train", name) == f"There is no file {name!r}. Check the name."


@pytest.mark.parametrize(
    ("option", "named"),
    [
        ("--text-column", "--text-column"),
        ("--label-column", "--label-column"),
        ("--group", "--group"),
    ],
)
def test_a_missing_column_is_said_with_the_option_that_names_it(train, option, named):
    sentence = refused("--train", train, option, "film")
    assert sentence.endswith(f"It has: text, label. Name one with {named}.")


def test_a_file_where_a_folder_is_to_be_written_is_refused_before_the_work(train):
    assert "is a file" in refused("--train", train, "--write-clean", train)


@pytest.mark.parametrize("option", ["--train", "--test", "--corpus"])
def test_a_file_that_is_read_is_never_written_over(train, tmp_path, option):
    home = tmp_path / "home"
    home.mkdir()
    files = {"--train": home / "train.csv", "--test": home / "test.strict.csv"}
    path = files.get(option, home / "test.clean.csv")
    path.write_text(train.read_text())
    named = {"--train": train, "--test": train} | {option: path}
    words = [word for pair in named.items() for word in pair]
    sentence = refused(*words, "--write-clean", home)
    assert sentence.startswith(f"--write-clean {home} would replace {path}, which is read.")
    assert path.read_text() == train.read_text()
    assert list(home.iterdir()) == [path]


def test_a_folder_without_a_name_is_refused(train):
    assert "The name is empty" in refused("--train", train, "--write-clean", "")


def test_what_the_system_refuses_is_said_with_the_name():
    error = PermissionError(13, "Permission denied", "closed/train.csv")
    assert command_line.sentence(error) == "closed/train.csv: Permission denied."
