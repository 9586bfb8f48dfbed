"""The docs say what is true: generated blocks are current, links lead somewhere, examples run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from headstart.apps.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)\)")


def code_blocks(language: str) -> list[tuple[str, str]]:
    return [
        (page.name, code)
        for page in PAGES
        for kind, code in CODE_BLOCK.findall(page.read_text())
        if kind == language
    ]


def shown_commands() -> list[str]:
    lines = [line.strip() for _, code in code_blocks("") for line in code.splitlines()]
    return [line for line in lines if line.startswith("headstart ") and "[" not in line]


def test_generated_blocks_are_up_to_date():
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_tree_in_the_readme_is_the_one_on_disk():
    package = ROOT / "src" / "headstart"
    on_disk = {
        path.name
        for path in package.iterdir()
        if not path.name.startswith("__") and path.name != "py.typed"
    }
    tree = (ROOT / "README.md").read_text().split("src/headstart/\n")[1].split("```")[0]
    shown = {line.split()[0].rstrip("/") for line in tree.strip().splitlines()}
    assert shown == on_disk


def test_the_two_commands_are_in_the_readme_and_the_makefile():
    readme = (ROOT / "README.md").read_text().split("##")[0]
    makefile = (ROOT / "Makefile").read_text()
    for target in ("demo", "test"):
        assert f"make {target}" in readme
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    broken = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert not broken, broken


@pytest.mark.parametrize("command", shown_commands())
def test_commands_shown_in_the_docs_work(command, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path))
    words = [word for word in command.split() if word != "--verify"]
    result = CliRunner().invoke(main, words[1:])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(("page", "code"), code_blocks("python"))
def test_python_shown_in_the_docs_runs(page, code, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"HEADSTART_CACHE": str(tmp_path)},
    )
    assert done.returncode == 0, f"{page}: {done.stderr}"
