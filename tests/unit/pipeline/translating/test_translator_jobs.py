"""Warm and cold jobs differ in what they begin with alone, and go on where they were stopped."""

from dataclasses import replace
from pathlib import Path

import pytest

from headstart.errors import DataError
from headstart.files import write_json
from headstart.pipeline.compare_translators import TranslatorJob, jobs
from headstart.pipeline.planning import Budget, Place, first_plan
from headstart.pipeline.run_files import write_recipe
from headstart.pipeline.translating import translator_jobs as module
from headstart.pipeline.translating.pairs import PairsConfig
from headstart.pipeline.translating.translator_jobs import (
    TranslatorQuestion,
    keep_question,
    settled_budget,
    translating,
    worker,
)
from headstart.pipeline.watch import Watch


@pytest.fixture
def question(tmp_path, translator):
    for name in ("a.src", "a.tgt"):
        (tmp_path / name).write_text("le chat\nla ville\n")
    return TranslatorQuestion(
        start=Path("runs/pretrained"),
        recipe=translator.recipe,
        pairs=PairsConfig(source=str(tmp_path / "a.src"), target=str(tmp_path / "a.tgt")),
        budget=Budget(minutes=3.0),
        place=Place(device="cpu", num_threads=1),
        num_seeds=2,
    )


def test_warm_and_cold_of_a_seed_differ_in_their_start_alone(question, tmp_path):
    warm, cold, *_ = (translating(tmp_path, question, job) for job in jobs(2))
    assert warm.start == question.start
    assert warm.tokenizer is None
    assert cold.start is None
    assert cold.tokenizer == question.start / "tokenizer"
    assert replace(warm, start=None) == replace(cold, tokenizer=None)
    again = translating(tmp_path, question, TranslatorJob(system="cold", seed=1))
    assert (again.pairs.draw, again.place.seed) == (1, 1)
    assert again.recipe == warm.recipe


def test_the_first_job_settles_the_steps_of_all(question, tmp_path):
    assert settled_budget(tmp_path, question) == question.budget
    plan = first_plan(Budget(num_steps=77), question.place, question.recipe)
    write_recipe(tmp_path / "jobs" / "warm-0", replace(question.recipe, plan=plan))
    assert settled_budget(tmp_path, question) == Budget(num_steps=77)


def test_another_question_in_the_same_folder_is_refused(question, tmp_path):
    folder = tmp_path / "compared"
    keep_question(folder, question)
    keep_question(folder, question)
    keep_question(folder, replace(question, num_seeds=5))
    with pytest.raises(DataError, match="another question: budget changed"):
        keep_question(folder, replace(question, budget=Budget(num_steps=5)))
    Path(question.pairs.source).write_text("le chien\nla ville\n")
    with pytest.raises(DataError, match="another question: sources changed"):
        keep_question(folder, question)


def test_a_job_is_begun_once_and_translated_when_it_is_finished(question, tmp_path, monkeypatch):
    begun, resumed = [], []

    def begin(wanted, folder, _watch):
        begun.append(wanted)
        write_json(folder / "recipe.json", {})

    def resume(folder, _wanted, _watch):
        resumed.append(folder)
        return len(resumed) > 1

    monkeypatch.setattr(module, "begin_translator", begin)
    monkeypatch.setattr(module, "resume_translator", resume)
    monkeypatch.setattr(module, "load_run", lambda folder, device: (folder, device))
    asked = []

    def translate(run, sources):
        asked.append(run)
        return [text.upper() for text in sources]

    work = worker(tmp_path, question, ["chat"], translate, Watch())
    job, folder = TranslatorJob(system="cold", seed=1), tmp_path / "jobs" / "cold-1"
    assert work(job, folder) is None
    assert not asked
    assert work(job, folder) == ["CHAT"]
    assert len(begun) == 1
    assert asked == [(folder, "cpu")]
