"""What teachers answer is asked once for all students, whoever of them comes first."""

import threading
import time

import numpy as np
import pytest

from headstart.locks import locked
from headstart.pipeline import kept_answers
from headstart.pipeline.kept_answers import Question, answered_all
from headstart.pipeline.learner import ScoringStopped, never


class Teacher:
    """Somebody who counts how often it is asked."""

    def __init__(self, seed):
        self.seed, self.num_asked = seed, 0

    def __call__(self):
        self.num_asked += 1
        return np.random.default_rng(self.seed).random((5, 3), dtype=np.float32)

    def question(self, key=None):
        return Question(ask=self, key=key)


def test_what_is_kept_is_not_asked_again_and_is_the_same_to_the_last_bit(tmp_path):
    teachers = [Teacher(seed) for seed in range(3)]
    questions = [one.question(["teacher", one.seed]) for one in teachers]
    first = answered_all(questions, tmp_path / "answers", never)
    again = answered_all(questions[::-1], tmp_path / "answers", never)
    for one, answer, other in zip(teachers, first, again[::-1], strict=True):
        assert one.num_asked == 1
        assert answer.dtype == other.dtype == np.float32
        assert (answer == Teacher(one.seed)()).all()
        assert (answer == other).all()


@pytest.mark.parametrize("name", ["answers.safetensors", "answers.json"])
@pytest.mark.parametrize("how", ["flipped", "short", "gone"])
def test_what_is_damaged_is_asked_again(tmp_path, name, how):
    teacher = Teacher(1)
    answered_all([teacher.question("key")], tmp_path, never)
    (path,) = tmp_path.glob(f"*/{name}")
    data = bytearray(path.read_bytes())
    if how == "gone":
        path.unlink()
    else:
        data[len(data) // 2] ^= 1
        path.write_bytes(data if how == "flipped" else data[: len(data) // 2])
    (answer,) = answered_all([teacher.question("key")], tmp_path, never)
    assert teacher.num_asked == 2
    assert (answer == Teacher(1)()).all()
    answered_all([teacher.question("key")], tmp_path, never)
    assert teacher.num_asked == 2


@pytest.mark.parametrize("key", [None, "key"])
def test_nothing_is_kept_where_nobody_else_asks_the_same(tmp_path, key):
    teacher, home = Teacher(2), None if key else tmp_path / "answers"
    for _ in range(2):
        answered_all([teacher.question(key)], home, never)
    assert teacher.num_asked == 2
    assert not (tmp_path / "answers").exists()


def held(tmp_path, question):
    """Returns the folder in which an answer is kept."""
    answered_all([question], tmp_path, never)
    (folder,) = tmp_path.iterdir()
    for path in folder.glob("answers.*"):
        path.unlink()
    return folder


def test_others_are_asked_while_somebody_is_at_one(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_answers, "SECONDS_BETWEEN_LOOKS", 0.01)
    first, second = Teacher(1), Teacher(2)
    folder = held(tmp_path, first.question("first"))
    seen = []

    def come_and_go():
        with locked(folder):
            seen.append("held")
            while not second.num_asked:
                time.sleep(0.01)
        seen.append("free")

    other = threading.Thread(target=come_and_go)
    other.start()
    while not seen:
        time.sleep(0.01)
    questions = [first.question("first"), second.question("second")]
    answers = answered_all(questions, tmp_path, never)
    other.join()
    assert (first.num_asked, second.num_asked) == (2, 1)
    assert (answers[0] == Teacher(1)()).all()
    assert (answers[1] == Teacher(2)()).all()


def test_who_waits_for_others_can_be_stopped(tmp_path):
    teacher = Teacher(1)
    with locked(held(tmp_path, teacher.question("key"))), pytest.raises(ScoringStopped):
        answered_all([teacher.question("key")], tmp_path, lambda: True)
    assert teacher.num_asked == 1


def test_a_stop_while_one_answers_leaves_nothing_half_done(tmp_path):
    def stopped():
        raise ScoringStopped

    with pytest.raises(ScoringStopped):
        answered_all([Question(ask=stopped, key="key")], tmp_path, never)
    assert not list(tmp_path.iterdir())
