"""Commands that the docs show without running them exist, and so does every option of theirs."""

import re
import shlex
from pathlib import Path

import click
import pytest

from headstart.apps.cli.main import main

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(?:console|sh)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PROGRAM = "headstart"


def shown() -> list[tuple[str, str]]:
    """Returns the pages and command lines of all blocks for a shell."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [
        (page.name, line.removeprefix("$ "))
        for page in pages
        for block in BLOCK.findall(page.read_text(encoding="utf-8"))
        for line in block.splitlines()
        if line.removeprefix("$ ").startswith(f"{PROGRAM} ")
    ]


@pytest.mark.parametrize(("page", "line"), shown())
def test_commands_and_options_exist(page, line):
    _, *words = shlex.split(line)
    command: click.Command = main
    while isinstance(command, click.Group) and words and words[0] in command.commands:
        command = command.commands[words.pop(0)]
    assert command is not main, f"{page}: there is no such command: {line}"
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    unknown = [word for word in words if word.startswith("--") and word not in known]
    assert not unknown, f"{page}: {line}: {unknown}"
