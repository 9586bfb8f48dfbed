"""Runs so small that hundreds of them take minutes, and what of them must be equal, bit for bit."""

import json
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headstart.apps.recipes.lab import lab
from headstart.checkpoints.names import checkpoint_path, steps_in
from headstart.files import CACHE_VARIABLE, read_sealed_json
from headstart.locks import locked
from headstart.models.config import LayerConfig, TrunkConfig
from headstart.pipeline import train_translator
from headstart.pipeline.corpus_stores import CorpusConfig, corpus_stores
from headstart.pipeline.examples import read_examples_config, read_labelled
from headstart.pipeline.label_learner import LabelLearner
from headstart.pipeline.language_learner import LanguageLearner, new_learner
from headstart.pipeline.planning import Budget, Place
from headstart.pipeline.pretrain import Pretraining, begin
from headstart.pipeline.recipe import Recipe, with_objective
from headstart.pipeline.resume import resume
from headstart.pipeline.resumption import Resumption
from headstart.pipeline.run_files import (
    CHECKPOINTS_FOLDER,
    LOG_FILE,
    OTHER_WEIGHTS_FILES,
    RESULTS_FILE,
    TEST_FILE,
    TOKENIZER_FOLDER,
    WEIGHTS_FILE,
    read_recipe,
    write_recipe,
)
from headstart.pipeline.run_folder import read_corpus, read_start
from headstart.pipeline.run_log import CLOCK_FIELDS, read_log
from headstart.pipeline.transfer import new_label_learner
from headstart.pipeline.translating.pair_rows import limits_of, ready_pairs
from headstart.pipeline.translating.pairs import read_pairs_config, read_parallel
from headstart.pipeline.translating.translation_learner import TranslationLearner
from headstart.pipeline.watch import Watch
from headstart.tokenizers.folder import load_tokenizer

OBJECTIVES = ("causal", "masked", "masked+next")
# Every kind of run: trunks that learn text by each objective, transfers of each mode, a translator.
TRANSFERS = ("full", "frozen", "gradual")
TRANSLATION = "translation"
KINDS = (*OBJECTIVES, *TRANSFERS, TRANSLATION)
NUM_STEPS, SAVE_EVERY, VALIDATE_EVERY = 30, 5, 6
# What of a checkpoint's facts a clock has a part in: the log's length too, since it holds times.
CLOCK_FACTS = ("seconds", "log")


def count(small: int, large: int) -> int:
    """Returns the count of the default run, or the one of `make torture`."""
    return large if os.environ.get("HEADSTART_TORTURE") else small


def toy_text(seed: int = 1, num_documents: int = 300) -> str:
    """Returns documents of two to four sentences, one a line."""
    draw = random.Random(seed)
    letters = "aaabcdeeefghiiijklmnoopqrsttuuvwxyz"
    words = ["".join(draw.choices(letters, k=draw.randint(2, 7))) for _ in range(150)]
    return "".join(
        " ".join(
            " ".join(draw.choices(words, k=draw.randint(3, 9))).capitalize() + "."
            for _ in range(draw.randint(2, 4))
        )
        + "\n"
        for _ in range(num_documents)
    )


def tiny_recipe(objective: str) -> Recipe:
    """Returns a model of 16 numbers a piece, with all that has a state or draws of its own."""
    layer = LayerConfig(
        width=16,
        num_heads=2,
        feed_forward_width=16,
        feed_forward="relu",
        norm="layer",
        norm_place="pre",
        dropout=0.1,
    )
    trunk = TrunkConfig(
        vocabulary_size=400,
        num_layers=1,
        layer=layer,
        direction="causal",
        positions="sinusoidal",
        max_length=64,
    )
    recipe = replace(
        lab(),
        name="tiny",
        model=replace(lab().model, trunk=trunk),
        learning=replace(
            lab().learning,
            average_decay=0.9,
            accumulation=2,
            head="sampled" if objective == "causal" else "exact",
        ),
        length=32,
        sequences_per_step=4,
    )
    return with_objective(recipe, objective)


def wanted(text: Path, objective: str, num_steps: int = NUM_STEPS) -> Pretraining:
    """Returns what a tiny run is asked to do."""
    return Pretraining(
        recipe=tiny_recipe(objective),
        corpus=CorpusConfig(corpus=(str(text),)),
        budget=Budget(num_steps=num_steps),
        place=Place(device="cpu", num_threads=1),
    )


@contextmanager
def cache_in(folder: Path) -> Iterator[None]:
    """Has what can be made again kept in a folder, for as long as the block lasts."""
    before = os.environ.get(CACHE_VARIABLE)
    os.environ[CACHE_VARIABLE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[CACHE_VARIABLE]
        else:
            os.environ[CACHE_VARIABLE] = before


def begun(folder: Path, text: Path, objective: str, num_steps: int = NUM_STEPS) -> Path:
    """Makes the folder of a run that has done no step."""
    begin(wanted(text, objective, num_steps), folder, Watch())
    return folder


def look_often(folder: Path) -> None:
    """Has a run look at held-out text far more often than so short a run would."""
    recipe = read_recipe(folder)
    plan = replace(recipe.plan, steps_between_validations=VALIDATE_EVERY)
    write_recipe(folder, replace(recipe, plan=plan))


@dataclass
class Witness:
    """Remembers what a run said and showed, and stops or ends it after a step that is given."""

    stop_at: int | None = None
    """Asks it to stop, as Ctrl-C does, after this step."""
    die_at: int | None = None
    """Ends it there without a word to it, as a kill does."""
    said: list[str] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)

    def watch(self) -> Watch:
        return Watch(
            say=self.hear,
            show=self.show,
            should_stop=lambda: self.stop_at is not None and self.stop_at in self.steps,
        )

    def hear(self, line: str) -> None:
        # A look at what the model writes is no warning.
        if not line.startswith("Step "):
            self.said.append(line)

    def show(self, progress) -> None:
        self.steps.append(progress.step)
        if progress.step == self.die_at:
            raise Killed


class Killed(BaseException):
    """Ends a run in the same process as abruptly as that can be done there."""


def go_on(
    folder: Path, witness: Witness | None = None, save_every: int = SAVE_EVERY, **otherwise: Any
) -> bool:
    """Goes on with a run in this process; returns whether it is finished."""
    watch = (witness or Witness()).watch()
    with locked(folder):
        return resume(folder, Resumption(save_every=save_every, **otherwise), watch)


def learner_of(folder: Path) -> LanguageLearner | LabelLearner | TranslationLearner:
    """Returns what a run learns with."""
    if read_recipe(folder).transfer is not None:
        return label_learner_of(folder)
    if read_recipe(folder).objective == TRANSLATION:
        return translation_learner_of(folder)
    recipe, tokenizer = read_recipe(folder), load_tokenizer(folder / TOKENIZER_FOLDER)
    config, _ = read_corpus(folder)
    stores = corpus_stores(config, tokenizer, 1, Watch())
    return new_learner(recipe, recipe.plan, tokenizer, stores)


def label_learner_of(folder: Path) -> LabelLearner:
    """Returns what a transfer learns with."""
    recipe, tokenizer = read_recipe(folder), load_tokenizer(folder / TOKENIZER_FOLDER)
    config, sources = read_examples_config(folder)
    labelled, start = read_labelled(config), read_start(folder)
    return new_label_learner(recipe, recipe.plan, labelled, tokenizer, start, sources)


def translation_learner_of(folder: Path) -> TranslationLearner:
    """Returns what a translator learns with."""
    recipe = read_recipe(folder)
    tokenizers = train_translator.read_tokenizers(folder, recipe)
    config, sources = read_pairs_config(folder)
    pairs = ready_pairs(read_parallel(config), tokenizers, limits_of(recipe, config), 1)
    start = read_start(folder)
    return train_translator.new_learner(recipe, recipe.plan, tokenizers, pairs, start, sources)


def checkpoints_of(folder: Path) -> Path:
    return folder / CHECKPOINTS_FOLDER


def last_checkpoint(folder: Path) -> Path:
    return checkpoint_path(checkpoints_of(folder), steps_in(checkpoints_of(folder))[-1])


def without(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def content(folder: Path) -> dict[str, object]:
    """Returns all that a finished run is: weights, optimiser, log and results, clocks aside."""
    results = json.loads((folder / RESULTS_FILE).read_text())
    seen: dict[str, object] = {
        "weights": (folder / WEIGHTS_FILE).read_bytes(),
        "log": [without(row, CLOCK_FIELDS) for row in read_log(folder / LOG_FILE)],
        "results": without(results, CLOCK_FIELDS),
    }
    if (folder / TEST_FILE).exists():
        seen["test"] = (folder / TEST_FILE).read_bytes()
    for name in OTHER_WEIGHTS_FILES.values():
        if (folder / name).exists():
            seen[name] = (folder / name).read_bytes()
    # A finished transfer has none, since there is nothing to go on with.
    if checkpoints_of(folder).exists():
        last = last_checkpoint(folder)
        state = read_sealed_json(last / "state.json")
        seen["checkpoint"] = {path.name: path.read_bytes() for path in last.glob("*.safetensors")}
        seen["step"] = state["step"]
        seen["facts"] = without(state["facts"], CLOCK_FACTS)
    return seen


def assert_same_run(seen: dict[str, object], expected: dict[str, object]) -> None:
    """Asserts that two runs are one, part by part, so that a failure says which part is not."""
    assert seen.keys() == expected.keys()
    for name in expected:
        assert seen[name] == expected[name], name


def names_beside(folder: Path, is_odd: Callable[[Path], bool]) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if is_odd(path)]
