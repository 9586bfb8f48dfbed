"""The study of Multi30k types lines that Headstart understands, and none twice."""

import shlex

import click
import multi30k
import pytest
from study import Options, Study

from headstart.apps.cli.main import main
from headstart.errors import RunError


@pytest.fixture
def study(tmp_path):
    options = Options(data=tmp_path / "data", work=tmp_path / "work", device="cpu", num_threads=1)
    return Study("multi30k", multi30k.ASKED, options)


def known_options(line: str) -> set[str]:
    command = main.commands[shlex.split(line)[1]]
    assert isinstance(command, click.Command)
    return {option for parameter in command.params for option in parameter.opts}


def test_what_is_asked_of_this_study_alone_is_typed_into_its_lines():
    given, rest = multi30k.own_arguments().parse_known_args(
        ["--steps", "7", "--rate", "0.002", "--seeds", "2"]
    )
    assert rest == ["--seeds", "2"]
    line = multi30k.training("en-fr", 1, given)
    words = shlex.split(line)
    assert {word for word in words if word.startswith("--")} <= {
        *known_options(line),
        "--no-compile",
    }
    assert words[words.index("--steps") + 1] == "7"
    assert words[words.index("--rate") + 1] == "0.002"
    assert "--dropout" not in words
    assert words[-1] == "WORK/en-fr-1"


class Said:
    """A command that prints what it was asked, and ends in one way or another."""

    def __init__(self, command, **_options) -> None:
        self.command, self.returncode = command, int("broken" in command[4])

    def communicate(self):
        return f"a\u0085 line of {self.command[4]}\nanother\n", None


def test_each_run_translates_once_with_the_beam(study, monkeypatch):
    monkeypatch.setattr(multi30k.subprocess, "Popen", Said)
    texts = multi30k.translated(study, {"en-de-0": "en-de", "en-fr-0": "en-fr"})
    work = study.options.work
    assert texts == {
        run: [f"a\u0085 line of {work / run}", "another"] for run in ("en-de-0", "en-fr-0")
    }
    assert len(study.commands) == len(set(study.commands)) == 2
    for line in study.commands:
        assert {word for word in line.split() if word.startswith("--")} <= known_options(line)
        assert f"--beam {multi30k.BEAM}" in line


def test_a_translation_that_fails_ends_the_study(study, monkeypatch):
    monkeypatch.setattr(multi30k.subprocess, "Popen", Said)
    with pytest.raises(RunError, match="broken"):
        multi30k.translated(study, {"broken": "en-de"})
