"""A sweep that is killed or stopped while its workers are at it, then asked for again."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from planted import HASTY, planted, without_times
from tiny_runs import count

from headstart.files import CACHE_VARIABLE
from headstart.locks import is_locked
from headstart.pipeline import training_run
from headstart.pipeline.compare import compare
from headstart.pipeline.run_files import MANIFEST_FILE

SCRIPT = """
    import sys
    from pathlib import Path

    sys.path.insert(0, {torture!r})
    from planted import HASTY, Planted

    if __name__ == "__main__":
        from headstart.apps.cli.stopping import exit_if_stopped, stopping
        from headstart.corpora.generated import GeneratedFiles
        from headstart.pipeline.compare import compare
        from headstart.pipeline.watch import Watch

        text = Path({text!r})
        files = GeneratedFiles(
            corpus=text / "corpus.txt",
            train=text / "train.csv",
            valid=text / "valid.csv",
            test=text / "test.csv",
        )
        wanted = Planted(files, Path({trunk!r})).comparison(
            sizes=(10, 20), num_seeds=2, num_workers=2, settings=HASTY
        )
        with stopping() as asked:
            compare(wanted, Path({folder!r}), Watch(should_stop=asked))
        exit_if_stopped(asked)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Made-up text and a trunk, in a home of their own."""
    folder = tmp_path_factory.mktemp("home")
    patch = pytest.MonkeyPatch()
    patch.setenv(CACHE_VARIABLE, str(folder / "cache"))
    patch.setattr(training_run, "write_curves", lambda _folder: None)
    yield planted(folder, num_steps=2)
    patch.undo()


def asked(home, num_workers=1):
    return home.comparison(sizes=(10, 20), num_seeds=2, num_workers=num_workers, settings=HASTY)


@pytest.fixture(scope="module")
def whole(home, tmp_path_factory):
    """What comes out where nothing happens."""
    return compare(asked(home), tmp_path_factory.mktemp("whole"))


def begun(home, folder):
    script = folder / "script.py"
    script.write_text(
        textwrap.dedent(
            SCRIPT.format(
                torture=str(Path(__file__).parent),
                text=str(home.files.train.parent),
                trunk=str(home.trunk),
                folder=str(folder / "out"),
            )
        )
    )
    return subprocess.Popen([sys.executable, script], start_new_session=True)


def num_finished(folder):
    return len(list(folder.glob(f"out/jobs/*/{MANIFEST_FILE}")))


def wait_for(condition, process=None):
    give_up_at = time.monotonic() + 120
    while not condition() and (process is None or process.poll() is None):
        assert time.monotonic() < give_up_at
        time.sleep(0.01)


@pytest.mark.parametrize("num_jobs", [1, *range(2, count(2, 12))])
def test_a_killed_sweep_comes_out_the_same(home, whole, tmp_path, num_jobs):
    process = begun(home, tmp_path)
    wait_for(lambda: num_finished(tmp_path) >= num_jobs, process)
    process.kill()
    process.wait()
    jobs = list((tmp_path / "out" / "jobs").iterdir())
    wait_for(lambda: not any(is_locked(folder) for folder in jobs))
    assert num_finished(tmp_path) < len(whole["jobs"])
    assert without_times(compare(asked(home), tmp_path / "out")) == without_times(whole)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of a terminal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM][: count(1, 2)])
def test_a_signal_to_all_stops_kindly_and_the_sweep_comes_out_the_same(
    home, whole, tmp_path, number
):
    process = begun(home, tmp_path)
    wait_for(lambda: num_finished(tmp_path) >= 1, process)
    os.killpg(process.pid, number)
    assert process.wait(60) == 128 + number
    assert 1 <= num_finished(tmp_path) < len(whole["jobs"])
    assert not any(is_locked(folder) for folder in (tmp_path / "out" / "jobs").iterdir())
    assert without_times(compare(asked(home), tmp_path / "out")) == without_times(whole)
