"""The jobs of a comparison of translators: runs that differ in what they begin with alone."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from headstart.errors import DataError
from headstart.files import read_sealed_json, write_sealed_json
from headstart.locks import locked
from headstart.pipeline.compare_translators import (
    JOBS_FOLDER,
    TranslatorJob,
    Work,
    jobs,
)
from headstart.pipeline.free_folder import QUESTION_FILE, claim_comparison, mark_as_there
from headstart.pipeline.planning import Budget, Place
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.recipe_json import to_json
from headstart.pipeline.resumption import Resumption
from headstart.pipeline.run_files import RECIPE_FILE, TOKENIZER_FOLDER, read_recipe
from headstart.pipeline.run_folder import Run, load_run
from headstart.pipeline.train_translator import Translating, begin_translator, resume_translator
from headstart.pipeline.translating.pairs import PairsConfig, pair_hashes
from headstart.pipeline.watch import Watch

# From a finished run and texts to its translations, in order.
Translate = Callable[[Run, list[str]], list[str]]


@dataclass(frozen=True, kw_only=True)
class TranslatorQuestion:
    """Whether a pretrained trunk helps a translator, and how that is to be found out."""

    start: Path
    recipe: Recipe
    """Of both systems, in the shape of the start."""
    pairs: PairsConfig
    budget: Budget
    """Of one job; where it is in minutes, the first job settles how many steps all have."""
    place: Place
    num_seeds: int


def keep_question(folder: Path, question: TranslatorQuestion) -> None:
    """Writes what is asked into a folder, or raises where it was begun with another question."""
    claim_comparison(folder, QUESTION_FILE)
    value = {
        "start": str(question.start),
        "recipe": to_json(question.recipe),
        "pairs": asdict(question.pairs),
        "sources": pair_hashes(question.pairs),
        "budget": asdict(question.budget),
    }
    path = folder / QUESTION_FILE
    if not path.exists():
        write_sealed_json(path, value)
        mark_as_there(folder)
        return
    kept = read_sealed_json(path)
    if kept != value:
        changed = [
            name for name in value if not isinstance(kept, dict) or kept.get(name) != value[name]
        ]
        raise DataError(
            f"{folder} was begun with another question: {', '.join(changed)} changed. Ask as "
            "before, or name another folder with --out."
        )


def worker(
    folder: Path,
    question: TranslatorQuestion,
    sources: list[str],
    translate: Translate,
    watch: Watch,
) -> Work:
    """Returns what does a job: trains its run, or goes on with it, and translates the test."""

    def work(job: TranslatorJob, job_folder: Path) -> list[str] | None:
        with locked(job_folder):
            if not (job_folder / RECIPE_FILE).exists():
                watch.say(f"Beginning {job.name}.")
                begin_translator(translating(folder, question, job), job_folder, watch)
            if not resume_translator(job_folder, Resumption(), watch):
                return None
        return translate(load_run(job_folder, question.place.device), sources)

    return work


def translating(folder: Path, question: TranslatorQuestion, job: TranslatorJob) -> Translating:
    """Returns what a job trains; warm and cold of a seed have the same pairs, pieces and steps."""
    is_warm = job.system == "warm"
    return Translating(
        recipe=question.recipe,
        pairs=replace(question.pairs, draw=job.seed),
        budget=settled_budget(folder, question),
        place=replace(question.place, seed=job.seed),
        start=question.start if is_warm else None,
        tokenizer=None if is_warm else question.start / TOKENIZER_FOLDER,
    )


def settled_budget(folder: Path, question: TranslatorQuestion) -> Budget:
    """Returns the steps that the first job has settled, or the budget where none is begun."""
    first = next(jobs(question.num_seeds))
    begun = folder / JOBS_FOLDER / first.name
    if not (begun / RECIPE_FILE).exists():
        return question.budget
    plan = read_recipe(begun).plan
    assert plan is not None
    return Budget(num_steps=plan.num_steps)
