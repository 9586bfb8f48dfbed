"""`headstart` as a process of its own: pipes, streams, encodings, what it imports."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("headstart")
DESCRIBED = ("--rate", "2.1", "--memory", "4")
HEAVY = ("torch", "numpy", "matplotlib")


@pytest.fixture
def run(tmp_path):
    """Returns a function that runs a process with a cache of its own."""

    def run_process(*words: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in {"FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE", "PYTHONIOENCODING"}
        }
        return subprocess.run(
            words,
            env=environment | {"HEADSTART_CACHE": str(tmp_path / "cache")} | variables,
            capture_output=True,
            check=False,
        )

    return run_process


def imported_by(run, *arguments: str) -> set[str]:
    """Returns the heavy modules that a command imports, as Python itself reports them."""
    done = run(sys.executable, "-X", "importtime", "-m", "headstart", *arguments)
    names = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    return {name for name in HEAVY if name in names}


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("--version",), ("anatomy", "--help"), ("anatomy",), ("anatomy", "labb")],
    ids=" ".join,
)
def test_help_and_mistakes_import_nothing_heavy(run, arguments):
    assert imported_by(run, *arguments) == set()


def test_the_probe_for_heavy_imports_sees_torch_where_it_is_needed(run):
    assert "torch" in imported_by(run, "anatomy", "lab", *DESCRIBED)


def test_tables_need_no_matplotlib(run):
    assert "matplotlib" not in imported_by(run, "anatomy", "lab", *DESCRIBED)


def test_the_module_runs_like_the_command(run):
    arguments = ("anatomy", "lab", *DESCRIBED, "--json")
    module, command = run(sys.executable, "-m", "headstart", *arguments), run(COMMAND, *arguments)
    assert module.returncode == command.returncode == 0
    assert module.stdout == command.stdout
    assert json.loads(module.stdout)["parameters"]["total"] == 21_018_401


def test_help_goes_to_the_output_stream(run):
    done = run(COMMAND, "--help")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"anatomy" in done.stdout


def test_the_version_is_the_packages(run):
    done = run(COMMAND, "--version")
    assert done.stdout.decode().split() == ["headstart", "0.1.0"]


def test_in_a_pipe_there_are_no_escape_codes_and_no_trailing_noise(run):
    done = run(COMMAND, "anatomy", "base", *DESCRIBED)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\x1b" not in done.stdout
    assert "┃".encode() not in done.stdout


def test_a_mistake_is_one_line_without_a_traceback(run):
    done = run(COMMAND, "anatomy", "labb")
    assert (done.returncode, done.stdout) == (2, b"")
    assert len(done.stderr.splitlines()) == 1


def test_json_is_one_strict_object(run):
    done = run(COMMAND, "anatomy", "bert", *DESCRIBED, "--tokens", "300M", "--json")

    def refuse(name: str):
        raise AssertionError(name)

    value = json.loads(done.stdout, parse_constant=refuse)
    assert isinstance(value, dict)


@pytest.mark.skipif(sys.platform == "win32", reason="other pipes")
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_an_output_that_is_closed_early_gives_no_traceback(run, form):
    # The reader leaves before the first word is written.
    words = " ".join([str(COMMAND), "anatomy", "base", *DESCRIBED, *form])
    done = run("bash", "-c", f"{words} | true")
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_an_output_that_knows_few_letters_gives_no_traceback(run, encoding, form):
    done = run(COMMAND, "anatomy", "lab", *DESCRIBED, *form, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-300:]


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_an_interruption_is_one_line_and_exit_code_130(run, tmp_path):
    path = tmp_path / "own.py"
    path.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = run(COMMAND, "anatomy", str(path))
    assert done.returncode == 130
    assert len(done.stderr.decode().strip().splitlines()) == 1
    assert b"Traceback" not in done.stderr


def test_measured_rates_are_positive_and_kept_and_nothing_else_is(run, tmp_path):
    first, second = (
        json.loads(run(COMMAND, "anatomy", "lab", "--json").stdout)["projection"] for _ in range(2)
    )
    assert first == second
    assert first["matrix_flops_per_second"] > 0
    assert first["pass_bytes_per_second"] > 0
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["machines.json"]
