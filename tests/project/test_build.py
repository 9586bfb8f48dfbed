"""What is built with the package: compiled code where there is a compiler, and never an error."""

import importlib.util
import os
import platform
import shutil
from pathlib import Path

import pytest

from headstart.models.kernels.rows import FILES, load_rows

ROOT = Path(__file__).parents[2]
has_compiler = shutil.which(os.environ.get("CC", "cc")) is not None
needs_compiler = pytest.mark.skipif(
    platform.machine() != "x86_64" or not has_compiler, reason="nothing is compiled here"
)


@pytest.fixture
def build():
    """The module that builds; it stands outside of the package."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path, build):
    """A folder with nothing but the source."""
    shutil.copy(ROOT / build.KERNELS / build.SOURCE, tmp_path)
    return tmp_path


def test_every_file_that_is_looked_for_is_built(build):
    assert set(build.INSTRUCTIONS) == set(FILES.values())


@needs_compiler
@pytest.mark.parametrize("name", FILES.values())
def test_the_source_compiles_without_a_warning(build, folder, monkeypatch, name):
    monkeypatch.setattr(build, "FLAGS", [*build.FLAGS, "-Wall", "-Wextra", "-Werror"])
    assert build.compile_rows(folder, name)
    assert sorted(path.name for path in folder.iterdir()) == sorted([build.SOURCE, name])
    # Which numbers stand in a panel is all that can be asked of code for any processor.
    assert load_rows(folder / name).panel_width() in {24, 48}


@pytest.mark.parametrize("compiler", ["false", "there-is-no-such-compiler"])
def test_a_compiler_that_fails_is_told_and_nothing_is_left(
    build, folder, monkeypatch, capsys, compiler
):
    monkeypatch.setenv("CC", compiler)
    name = next(iter(FILES.values()))
    assert not build.compile_rows(folder, name)
    assert f"{name} was not built" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == [build.SOURCE]


def test_other_processors_are_not_compiled_for(build, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    assert not build.can_build()
