"""Whatever goes wrong on the command line is one line, with the exit code of its kind."""

import pytest
from click.testing import CliRunner

from headstart.apps.cli import main as entry
from headstart.apps.cli.main import COMMANDS, main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("check --train", "Option '--train' requires an argument. See 'headstart check --help'."),
        ("runs remove --in", "No such option '--in'. See 'headstart runs remove --help'."),
        ("check --corpu x", "Did you mean '--corpus'? See 'headstart check --help'."),
        ("data get", "Missing argument 'NAME'. See 'headstart data get --help'."),
        ("nothing", "No such command 'nothing'. See 'headstart --help'."),
        ("--nothing", "No such option '--nothing'. See 'headstart --help'."),
        ("fill film-en x --top abc", "'abc' is not a whole number of at least 1. See"),
        ("fill film-en x --threads 2.5", "'2.5' is not a whole number from 1 to 1,024. See"),
        ("generate film-en --temperature x", "'x' is not a number, such as 0.8. See"),
        ("generate film-en --count 0", "'0' is not a whole number from 1 to 100. See"),
    ],
)
def test_what_cannot_be_understood_is_told_with_the_help_of_its_command(words, said):
    result = CliRunner().invoke(main, words.split(), prog_name="headstart")
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("words", ["", *COMMANDS, "runs remove"])
def test_help_has_a_short_name_everywhere(words):
    short, long = (CliRunner().invoke(main, [*words.split(), flag]) for flag in ("-h", "--help"))
    assert short.exit_code == 0
    assert short.stdout == long.stdout
    assert "-h, --help" in short.stdout


def test_ctrl_c_while_a_command_is_imported_is_one_line(monkeypatch):
    def interrupt(_name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(entry, "import_module", interrupt)
    result = CliRunner().invoke(main, ["predict", "--help"])
    assert result.exit_code == 130
    assert result.stderr.strip() == "headstart: stopped."


def test_ctrl_c_before_a_command_is_looked_for_is_one_line(monkeypatch):
    def interrupt(*_words: object, **_more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("click.Group.main", interrupt)
    result = CliRunner().invoke(main, [])
    assert result.exit_code == 130
    assert result.stderr == "headstart: stopped.\n"
