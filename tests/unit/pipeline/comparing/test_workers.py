"""Workers: all is done, failures are told, stops are kind, and nobody outlives the parent."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections import deque
from pathlib import Path

import pytest
from chores import Chore, do_chore, serve_though_told_to_stop

from headstart.errors import RunError
from headstart.pipeline.comparing import workers
from headstart.pipeline.comparing.workers import Shift, Worker, work_through

TORTURE = str(Path(__file__).parents[3] / "torture")


def chores(folder, *names):
    return [Chore(name, folder) for name in names]


def work(tasks, num_workers, should_stop=lambda: False):
    done = []
    is_finished = work_through(tasks, do_chore, num_workers, should_stop, done.append)
    return is_finished, [task.name for task in done]


def is_alive(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{number}/stat").read_text().split()[2] != "Z"


def wait_for(condition):
    give_up_at = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


@pytest.mark.parametrize("num_workers", [1, 3])
def test_all_is_done_once(tmp_path, num_workers):
    names = [f"n{number}" for number in range(5)]
    is_finished, done = work(chores(tmp_path, *names), num_workers)
    assert is_finished
    assert sorted(done) == names
    begun = [int(path.read_text()) for path in tmp_path.glob("*.begun")]
    assert (os.getpid() in begun) == (num_workers == 1)
    assert not any(is_alive(number) for number in begun if number != os.getpid())


def test_what_would_not_fit_beside_the_others_waits_for_them(tmp_path):
    sizes = [5, 0, 6, 20, 3]
    tasks = [Chore(f"n{number}", tmp_path, size) for number, size in enumerate(sizes)]
    shift = Shift(deque(tasks), lambda _: None, num_bytes=10)
    workers = [Worker(process=None, line=number) for number in range(4)]
    for worker in workers:
        worker.give = lambda task, worker=worker: setattr(worker, "task", task)
    shift.busy(workers)
    # The third and fourth do not fit beside the first; the last one does.
    assert [worker.task for worker in workers] == [tasks[0], tasks[1], tasks[4], None]
    assert list(shift.waiting) == tasks[2:4]
    workers[0].task = None
    shift.busy(workers)
    assert [worker.task for worker in workers] == [tasks[2], tasks[1], tasks[4], None]
    for worker in workers:
        worker.task = None
    shift.busy(workers)
    # Larger than all there is: alone it is tried.
    assert [worker.task for worker in workers] == [tasks[3], None, None, None]


@pytest.mark.parametrize("num_workers", [1, 3])
def test_all_is_done_however_much_of_it_does_not_fit(tmp_path, num_workers):
    tasks = [Chore(f"n{number}", tmp_path, 4) for number in range(5)]
    assert work_through(tasks, do_chore, num_workers, lambda: False, lambda _: None, num_bytes=1)
    assert len(list(tmp_path.glob("*.done"))) == 5


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot be held back")
def test_a_worker_that_is_told_to_stop_as_it_is_born_leaves_that_to_its_parent(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(workers, "serve", serve_though_told_to_stop)
    is_finished, done = work(chores(tmp_path, "a", "b"), 2)
    assert is_finished
    assert sorted(done) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "num_workers", "words"),
    [
        ("fail", 1, "The milk is sour"),
        ("fail", 2, "The milk is sour"),
        ("bug", 2, "ZeroDivisionError: nothing to divide by"),
        ("die", 2, "ended with code 9"),
    ],
)
def test_a_failure_is_told_with_its_folder_and_ends_the_others_kindly(
    tmp_path, name, num_workers, words
):
    names = ["n", name, "after"] if num_workers == 1 else ["long", name, "after"]
    with pytest.raises(RunError, match=f"The job {name} failed: .*{words}.*{tmp_path}"):
        work(chores(tmp_path, *names), num_workers)
    assert (tmp_path / ("n.done" if num_workers == 1 else "long.kept")).exists()
    assert not (tmp_path / "after.begun").exists()


@pytest.mark.parametrize("num_workers", [1, 2])
def test_a_stop_lets_workers_keep_what_they_have(tmp_path, num_workers):
    def should_stop():
        return len(list(tmp_path.glob("long*.begun"))) == num_workers

    is_finished, done = work(chores(tmp_path, "long1", "long2", "n"), num_workers, should_stop)
    assert (is_finished, done) == (False, [])
    assert len(list(tmp_path.glob("*.kept"))) == num_workers
    assert not (tmp_path / "n.begun").exists()


SCRIPT = """
    import sys
    from pathlib import Path
    sys.path.insert(0, {torture!r})
    from chores import Chore, do_chore
    from headstart.pipeline.comparing.workers import work_through

    if __name__ == "__main__":
        tasks = [Chore(name, Path({folder!r})) for name in ("long1", "long2")]
        work_through(tasks, do_chore, 2, lambda: False, print)
"""


def begun_in_the_background(folder):
    script = folder / "script.py"
    script.write_text(textwrap.dedent(SCRIPT.format(torture=TORTURE, folder=str(folder))))
    parent = subprocess.Popen([sys.executable, script], start_new_session=True)
    wait_for(lambda: all(path.read_text() for path in folder.glob("*.begun")))
    wait_for(lambda: len(list(folder.glob("*.begun"))) == 2)
    wait_for(lambda: all(path.read_text() for path in folder.glob("*.begun")))
    return parent, [int(path.read_text()) for path in folder.glob("*.begun")]


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_workers_of_a_killed_parent_end(tmp_path):
    parent, workers = begun_in_the_background(tmp_path)
    parent.kill()
    parent.wait()
    wait_for(lambda: not any(is_alive(number) for number in workers))


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_workers_leave_ctrl_c_and_sigterm_to_the_parent(tmp_path):
    parent, workers = begun_in_the_background(tmp_path)
    for number in (signal.SIGINT, signal.SIGTERM):
        for worker in workers:
            os.kill(worker, number)
    time.sleep(0.3)
    assert all(is_alive(number) for number in workers)
    parent.kill()
    parent.wait()
    wait_for(lambda: not any(is_alive(number) for number in workers))
