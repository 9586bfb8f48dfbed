"""Every line that a study types is one that Headstart understands."""

import importlib
import shlex

import click
import pytest
import study

from headstart.apps.cli.main import main

STUDIES = ("documents", "every_way", "imdb", "objectives", "strong", "topics_and_spam")


def typed(name: str, monkeypatch, tmp_path) -> list[str]:
    """The lines of a study of which nothing is done."""
    lines: list[str] = []
    monkeypatch.setattr(study.Study, "do", lambda self, batch: None)
    monkeypatch.setattr(study.Study, "require_as_asked", lambda self, line: None)
    monkeypatch.setattr(study.Study, "keep", lambda self: lines.extend(self.commands))
    words = ["study", "--work", str(tmp_path), "--device", "cpu", "--workers", "2"]
    monkeypatch.setattr("sys.argv", words)
    importlib.import_module(name).main()
    return lines


@pytest.mark.parametrize("name", STUDIES)
def test_commands_and_options_exist(name, monkeypatch, tmp_path):
    for line in typed(name, monkeypatch, tmp_path):
        program, verb, *words = shlex.split(line)
        assert program == "headstart"
        command = main.commands[verb]
        assert isinstance(command, click.Command)
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known, line


@pytest.mark.parametrize("name", STUDIES)
def test_what_a_line_needs_was_made_by_one_before_it(name, monkeypatch, tmp_path):
    made: set[str] = set()
    for line in typed(name, monkeypatch, tmp_path):
        words = shlex.split(line)
        out = words[words.index("--out") + 1]
        needed = {word for word in words if word.startswith("WORK/")} - {out}
        assert needed <= made, line
        assert out not in made
        made.add(out)
