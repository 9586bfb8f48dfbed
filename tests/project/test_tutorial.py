"""The tour, as a newcomer takes it: every command in order, and the lines that are shown of it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
PROMPT, LEFT_OUT, MARK = "$ ", "\u2026", "=== next command ==="


def shown_steps() -> list[tuple[str, list[str]]]:
    """Returns each command of the tutorial with the lines that are shown of what it prints."""
    steps: list[tuple[str, list[str]]] = []
    for block in CONSOLE.findall((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.startswith(PROMPT):
                steps.append((line.removeprefix(PROMPT), []))
            else:
                steps[-1][1].append(line)
    return steps


def pattern_of(line: str) -> str:
    """Returns what a shown line stands for: spaces are as many as the table needs."""
    parts = (r" +".join(map(re.escape, part.split())) for part in line.split(LEFT_OUT))
    return "^ *" + r".*".join(parts) + "$"


def newcomer(folder: Path) -> dict[str, str]:
    """Returns the environment of someone who has just installed Headstart."""
    for name in ("bin", "home", "cache"):
        (folder / name).mkdir()
    command = folder / "bin" / "headstart"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m headstart "$@"\n')
    command.chmod(0o755)
    return os.environ | {
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder / "home"),
        "HEADSTART_CACHE": str(folder / "cache"),
    }


def printed_by(steps: list[tuple[str, list[str]]], folder: Path) -> list[str]:
    """Runs the commands in one shell, so that cd stays, and returns what each printed."""
    script = "\n".join(["set -e", *(f"echo '{MARK}'\n{command}" for command, _ in steps)])
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=newcomer(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout.split(f"{MARK}\n")[1:]


def test_the_tutorial_shows_something_of_every_part():
    steps = shown_steps()
    verbs = {command.split()[1] for command, _ in steps if command.startswith("headstart ")}
    assert verbs == {
        *("data", "check", "tokenizer", "anatomy"),
        *("transfer", "evaluate", "predict"),
    }
    assert all(shown for command, shown in steps if command.startswith("headstart "))


@pytest.mark.network
def test_the_tutorial_prints_what_it_shows(tmp_path):
    steps = shown_steps()
    for (command, shown), printed in zip(steps, printed_by(steps, tmp_path), strict=True):
        for line in shown:
            assert re.search(pattern_of(line), printed, re.MULTILINE), f"{command}: {line!r}"
