"""What the demo says beside what was found."""

import sys

import pytest

from headstart.apps.cli.demo import unused_environment


@pytest.mark.parametrize("is_found", [True, False])
def test_an_environment_that_no_shell_has_is_named(monkeypatch, tmp_path, is_found):
    for name in ("headstart", "activate"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "headstart"), "demo"])
    monkeypatch.setenv("PATH", str(tmp_path) if is_found else str(tmp_path / "elsewhere"))
    assert unused_environment() == (None if is_found else tmp_path / "activate")


def test_where_there_is_no_environment_none_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "headstart"), "demo"])
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    assert unused_environment() is None
