"""What is built with the package: compiled code where there is a compiler, and never an error."""

import importlib.util
import os
import platform
import shutil
from pathlib import Path

import pytest

from headstart.models.kernels.library import FILES, load_kernels

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "src/headstart/models/kernels"
SOURCES = [*KERNELS.glob("*.[ch]"), KERNELS / "fingerprint.py"]
NAMES = {source.name for source in SOURCES}
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
    """A folder with nothing but the sources, and what another version left."""
    for source in SOURCES:
        shutil.copy(source, tmp_path)
    (tmp_path / next(iter(FILES.values()))).write_bytes(b"old")
    return tmp_path


def test_every_file_that_is_looked_for_is_built(build):
    assert set(build.INSTRUCTIONS) == set(FILES.values())


@needs_compiler
@pytest.mark.parametrize("name", FILES.values())
def test_the_source_compiles_without_a_warning(build, folder, monkeypatch, name):
    monkeypatch.setattr(build, "FLAGS", [*build.FLAGS, "-Wall", "-Wextra", "-Werror"])
    assert build.compile_kernels(folder, name)
    assert {path.name for path in folder.iterdir()} - {next(iter(FILES.values()))} - {name} == NAMES
    # Which numbers stand in a panel is all that can be asked of code for any processor.
    assert load_kernels(folder / name).panel_width() in {24, 48}


@pytest.mark.parametrize("compiler", ["false", "there-is-no-such-compiler"])
def test_a_compiler_that_fails_is_told_and_nothing_is_left(
    build, folder, monkeypatch, capsys, compiler
):
    monkeypatch.setenv("CC", compiler)
    name = next(iter(FILES.values()))
    assert not build.compile_kernels(folder, name)
    assert f"{name} was not built" in capsys.readouterr().err
    assert {path.name for path in folder.iterdir()} == NAMES


def test_a_compiler_may_come_with_words_of_its_own(build, monkeypatch):
    monkeypatch.setenv("CC", "ccache 'my gcc' -pipe")
    assert build.compiler() == ["ccache", "my gcc", "-pipe"]


@pytest.mark.parametrize(("where", "name"), [("machine", "arm64"), ("system", "Windows")])
def test_where_it_was_never_run_nothing_is_compiled(build, folder, monkeypatch, where, name):
    monkeypatch.setattr(platform, where, lambda: name)
    assert not build.compile_kernels(folder, FILES["AVX2"])


@needs_compiler
def test_what_cannot_be_written_is_told_and_refuses_nothing(build, folder, monkeypatch, capsys):
    def refuse(self, missing_ok=False):
        raise PermissionError(f"Read-only file system: {self}")

    monkeypatch.setattr(Path, "unlink", refuse)
    assert not build.compile_kernels(folder, FILES["AVX2"])
    assert "Read-only file system" in capsys.readouterr().err


@needs_compiler
def test_code_of_another_version_is_not_taken(build, folder, monkeypatch):
    name = FILES["AVX2"]
    source = folder / "rows.c"
    source.write_text(source.read_text().replace("float piece_scale;", "double piece_scale;"))
    assert build.compile_kernels(folder, name)
    with pytest.raises(OSError, match="other sources"):
        load_kernels(folder / name)


@needs_compiler
def test_code_of_other_sources_is_not_taken(build, folder):
    name = FILES["AVX2"]
    assert build.compile_kernels(folder, name)
    load_kernels(folder / name)
    source = folder / "relu.c"
    source.write_text(source.read_text() + "/* as after a git pull */\n")
    with pytest.raises(OSError, match="other sources than those beside it"):
        load_kernels(folder / name)
