"""Who may judge teachers: validation examples that none of them can have learned from."""

import shutil
from dataclasses import replace

import pytest
from tiny_transfers import planted, settings, transferring, write_examples, write_rows, write_trunk

from headstart.pipeline.examples import ExamplesConfig, read_labelled
from headstart.pipeline.judges import judges_of
from headstart.pipeline.seen import read_seen
from headstart.pipeline.transfer import transfer
from headstart.pipeline.watch import Watch

pytestmark = pytest.mark.usefixtures("plain_process")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A trunk, and a folder of examples."""
    home = tmp_path_factory.mktemp("home")
    write_trunk(home / "trunk")
    write_examples(home / "examples")
    return home


@pytest.fixture(scope="module")
def examples(home):
    """The examples of a student."""
    names = ("train", "valid", "test")
    return ExamplesConfig(**{name: str(home / "examples" / f"{name}.csv") for name in names})


def taught_on(home, folder, examples):
    """Returns a finished classifier."""
    transfer(transferring(home / "trunk", examples, settings(epochs=1)), folder)
    return folder


def judging(examples, *teachers):
    """Returns the texts that judge, how many do not, and what was said."""
    labelled, said = read_labelled(examples), []
    found = judges_of(teachers, examples, labelled, Watch(say=said.append))
    texts = [example.text for example in found.examples]
    return texts, len(labelled.valid) - len(texts), said


def texts_of(rows):
    return [text for text, _ in rows]


@pytest.mark.parametrize("changes", [{}, {"size": 12}, {"size": 12, "draw": 3}])
def test_all_judge_teachers_of_the_same_files(home, examples, tmp_path, changes):
    teacher = taught_on(home, tmp_path / "teacher", replace(examples, **changes))
    texts, num_out, said = judging(examples, teacher)
    assert (num_out, said) == (0, [])
    assert texts == [example.text for example in read_labelled(examples).valid]


def test_copies_of_what_anybody_may_learn_judge_nobody_and_nothing_is_said(
    home, examples, tmp_path
):
    learned, fresh = read_labelled(examples).train, planted(18, seed=2)
    copied = [(f"{one.text.upper()} !", one.label) for one in learned[-4:]]
    valid = write_rows(tmp_path / "valid.csv", [*fresh, *copied])
    # A student of few examples may not have drawn what its teacher has learned.
    few = replace(examples, valid=str(valid), size=12)
    teacher = taught_on(home, tmp_path / "teacher", replace(few, size=None))
    texts, _, said = judging(few, teacher)
    assert texts == texts_of(fresh)
    assert said == []
    everything = replace(examples, valid=examples.train)
    assert judging(everything, teacher)[0] == []


def test_what_a_teacher_learned_elsewhere_judges_nobody_and_is_told(home, examples, tmp_path):
    valid = planted(18, seed=2)
    more = write_rows(tmp_path / "more.csv", [*planted(60, seed=9), *valid[:5]])
    teacher = taught_on(home, tmp_path / "teacher", replace(examples, train=str(more)))
    texts, num_out, said = judging(examples, teacher)
    assert (texts, num_out) == (texts_of(valid)[5:], 5)
    assert len(said) == 1
    assert "may have learned from 5 of the 18 validation texts" in said[0]


def test_what_a_teacher_has_only_chosen_by_may_judge_it(home, examples, tmp_path):
    other = write_rows(tmp_path / "other.csv", planted(60, seed=9))
    teacher = taught_on(home, tmp_path / "teacher", replace(examples, train=str(other)))
    _, num_out, said = judging(examples, teacher)
    assert (num_out, said) == (0, [])
    # Where its files are gone, what it has chosen by may have been learned.
    other.unlink()
    texts, _, said = judging(examples, teacher)
    assert texts == []
    assert "may have learned from 18 of the 18" in said[0]


def test_splits_that_are_made_otherwise_are_told_apart(home, examples, tmp_path):
    held = replace(examples, valid=None)
    teacher = taught_on(home, tmp_path / "teacher", replace(held, draw=0))
    assert judging(held, teacher)[1:] == (0, [])
    own = read_labelled(held)
    other = replace(held, draw=1)
    texts, num_out, said = judging(other, teacher)
    assert set(texts).isdisjoint(example.text for example in own.train)
    assert num_out
    assert len(said) == 1


def test_of_a_few_examples_that_a_teacher_drew_no_others_are_left_out(home, examples, tmp_path):
    few = replace(examples, size=12)
    teacher = taught_on(home, tmp_path / "teacher", few)
    drawn = {example.text for example in read_labelled(few).train}
    held = replace(examples, valid=None)
    texts, num_out, _ = judging(held, teacher)
    valid = [example.text for example in read_labelled(held).valid]
    assert texts == [text for text in valid if text not in drawn]
    assert len(valid) - num_out > 0


def test_nobody_judges_who_does_not_know_what_it_has_seen(home, examples, tmp_path):
    teacher = taught_on(home, tmp_path / "teacher", examples)
    given_away = shutil.copytree(teacher, tmp_path / "given")
    (given_away / "examples.seen").unlink()
    texts, _, said = judging(examples, teacher, given_away)
    assert texts == []
    assert "So all teachers count alike." in said[0]
    found = judges_of((teacher,), examples, read_labelled(examples), Watch())
    assert found.seen == read_seen(teacher)
