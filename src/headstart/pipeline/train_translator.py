"""Pairs to translator: settle the vocabulary, the pairs and the plan, then train to the end."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from torch import Tensor

from headstart.errors import RecipeError, RunError
from headstart.files import read_json, write_json
from headstart.locks import locked
from headstart.models.config import EncoderDecoderConfig
from headstart.models.initialisation import initialise
from headstart.models.model import new_model
from headstart.pipeline.free_folder import beginning
from headstart.pipeline.label_learner import tidy_transfer
from headstart.pipeline.learner import settle
from headstart.pipeline.planning import Budget, Place, first_plan, measured_plan
from headstart.pipeline.pretrain import fitting_tokenizer
from headstart.pipeline.recipe import Recipe, with_vocabularies
from headstart.pipeline.resumption import (
    Resumption,
    require_same_text,
    resumed_plan,
)
from headstart.pipeline.run_files import (
    START_FACTS_FILE,
    SWAP_FILE,
    is_finished,
    read_recipe,
    read_start_recipe,
    write_recipe,
)
from headstart.pipeline.run_folder import (
    Run,
    load_run,
    read_start,
    read_weights,
    write_start,
)
from headstart.pipeline.tensorboard import tensorboard_writer
from headstart.pipeline.training_run import TrainingRun
from headstart.pipeline.translating.pair_rows import ReadyPairs, limits_of, ready_pairs
from headstart.pipeline.translating.pair_tokenizers import (
    PairTokenizers,
    fingerprints,
    keep_tokenizers,
    read_tokenizers,
    tokenizers_in,
)
from headstart.pipeline.translating.pairs import (
    PairsConfig,
    Parallel,
    pair_hashes,
    read_pairs_config,
    read_parallel,
    write_pairs_config,
)
from headstart.pipeline.translating.translation_learner import TranslationLearner
from headstart.pipeline.watch import Watch
from headstart.tokenizers.folder import load_tokenizer
from headstart.tokenizers.learning import TokenizerConfig, lines_of
from headstart.tokenizers.sampling import sample
from headstart.tokenizers.tokenizer import Tokenizer
from headstart.training.config import PlanConfig
from headstart.transfers.trunk_start import start_from


@dataclass(frozen=True, kw_only=True)
class Translating:
    """What is to be translated, learned from which pairs, for how long and where."""

    recipe: Recipe
    pairs: PairsConfig
    budget: Budget
    place: Place
    start: Path | None = None
    """A run whose trunk is begun with, as far as it fits."""
    tokenizer: Path | None = None
    """A folder with a tokenizer for both sides; without one the start's, or one that is learned."""
    has_two_vocabularies: bool = False
    has_tensorboard: bool = False


def train_translator(wanted: Translating, folder: Path, watch: Watch | None = None) -> Run:
    """Trains a translator and returns what it has learned."""
    watch = watch or Watch()
    with locked(folder):
        begin_translator(wanted, folder, watch)
        resume_translator(folder, Resumption(), watch)
    return load_run(folder, wanted.place.device)


def begin_translator(wanted: Translating, folder: Path, watch: Watch) -> None:
    """Makes the folder of a translator, or leaves nothing of it where that fails."""
    with beginning(folder):
        prepare_translator(wanted, folder, watch)


def prepare_translator(wanted: Translating, folder: Path, watch: Watch) -> None:
    """Writes what a translator begins with: tokenizers, pairs, plan, start; the recipe last."""
    require_translator(wanted)
    if wanted.has_tensorboard:
        # The folder is the wish, found again by every resumption.
        tensorboard_writer(folder, first_step=0)
    parallel = read_parallel(wanted.pairs)
    tokenizers = settled_tokenizers(wanted, parallel, watch)
    recipe = fitting_recipe(wanted.recipe, tokenizers)
    plan = first_plan(wanted.budget, wanted.place, recipe)
    if plan.device == "cpu":
        # Pairs come in too many shapes: products in bf16 would be made ready for each of them.
        plan = replace(plan, precision="fp32")
    limits = limits_of(recipe, wanted.pairs)
    pairs = ready_pairs(parallel, tokenizers, limits, plan.num_threads)
    for line in parallel.complaints.summary():
        watch.say(line)
    keep_tokenizers(folder, tokenizers)
    hashes = pair_hashes(wanted.pairs)
    write_pairs_config(folder, wanted.pairs, hashes | fingerprints(tokenizers))
    keep_start(wanted, folder, recipe, tokenizers, watch)
    start, minutes = read_start(folder), wanted.budget.minutes_or_default
    if minutes is not None:
        plan = measured_plan(
            plan,
            minutes,
            recipe.tokens_per_step,
            lambda tried: new_learner(recipe, tried, tokenizers, pairs, start, hashes),
            may_choose=wanted.place.is_compiled is None,
            # Of steps this small, beside other programs, two threads can do far fewer than one.
            tries_one_thread=wanted.place.num_threads is None,
        )
    write_recipe(folder, replace(recipe, plan=plan))


def require_translator(wanted: Translating) -> None:
    """Raises an error where a recipe does not translate, or its start cannot be begun with."""
    if wanted.recipe.objective != "translation":
        raise RecipeError(
            f"The recipe {wanted.recipe.name} has the objective {wanted.recipe.objective}, which "
            "pairs do not teach. Choose a recipe that translates, such as pocket, small or base."
        )
    given = wanted.tokenizer if wanted.start is None else wanted.start
    if wanted.has_two_vocabularies and given is not None:
        raise RecipeError(
            f"Two vocabularies are learned from the pairs, but {given} brings one. Leave "
            "--two-vocabularies out, or begin without it."
        )
    if wanted.start is not None:
        read_start_recipe(wanted.start)


def fitting_recipe(recipe: Recipe, tokenizers: PairTokenizers) -> Recipe:
    """Returns the recipe for these vocabularies; what is not one is never shared."""
    trunk = recipe.model.trunk
    assert isinstance(trunk, EncoderDecoderConfig)
    return with_vocabularies(
        recipe,
        tokenizers.source.size,
        tokenizers.target.size,
        are_one=trunk.shares_embedding and tokenizers.are_one,
    )


def settled_tokenizers(wanted: Translating, parallel: Parallel, watch: Watch) -> PairTokenizers:
    """Returns what cuts each side: named, the start's, or learned from the training pairs."""
    if wanted.tokenizer is not None:
        tokenizer = load_tokenizer(wanted.tokenizer)
        return PairTokenizers(tokenizer, tokenizer)
    if wanted.start is not None:
        return tokenizers_in(wanted.start)
    sides = [pair.source for pair in parallel.train], [pair.target for pair in parallel.train]
    config = TokenizerConfig(size=wanted.recipe.model.trunk.vocabulary_size, seed=wanted.place.seed)

    def learned(texts: Iterable[str]) -> Tokenizer:
        return fitting_tokenizer(sample(lines_of(texts), config.seed), config, watch)

    if wanted.has_two_vocabularies:
        return PairTokenizers(*map(learned, sides))
    tokenizer = learned(chain(*sides))
    return PairTokenizers(tokenizer, tokenizer)


def keep_start(
    wanted: Translating, folder: Path, recipe: Recipe, tokenizers: PairTokenizers, watch: Watch
) -> None:
    """Copies what fits of the run that is begun with, and the account of every tensor."""
    if wanted.start is None:
        # An attempt that came to nothing may have left the start that it wanted.
        (folder / START_FACTS_FILE).unlink(missing_ok=True)
        write_json(folder / SWAP_FILE, None)
        return
    theirs = tokenizers_in(wanted.start)
    is_same = fingerprints(theirs) == fingerprints(tokenizers)
    if not is_same:
        watch.say(
            f"{wanted.start} has another vocabulary ({theirs.source.size:,} pieces, here "
            f"{tokenizers.source.size:,}), so that its embedding is not begun with."
        )
    model = new_model(recipe.model)
    initialise(model, wanted.place.seed)
    weights = read_weights(wanted.start)
    account, loaded = start_from(model, weights, is_same_vocabulary=is_same)
    if not loaded:
        raise RunError(
            f"Nothing of {wanted.start} fits the recipe {recipe.name}. Leave --recipe out, so that "
            "a translator of the run's own shape is made."
        )
    write_start(folder, wanted.start, loaded)
    write_json(folder / SWAP_FILE, asdict(account))


def new_learner(
    recipe: Recipe,
    plan: PlanConfig,
    tokenizers: PairTokenizers,
    pairs: ReadyPairs,
    start: dict[str, Tensor] | None,
    sources: dict[str, str],
) -> TranslationLearner:
    """Returns what a run needs, on the device and with the threads of its plan."""
    settle(plan)
    return TranslationLearner(recipe, plan, tokenizers, pairs, start, sources)


def resume_translator(folder: Path, wanted: Resumption, watch: Watch) -> bool:
    """Goes on with a translator from its last checkpoint; returns whether it is finished."""
    if is_finished(folder):
        # A kill may have come between the end and the tidying.
        tidy_transfer(folder)
        return True
    recipe = read_recipe(folder)
    plan = resumed_plan(recipe, wanted, folder)
    tokenizers = read_tokenizers(folder, recipe)
    config, sources = read_pairs_config(folder)
    hashes = pair_hashes(config)
    now = hashes | fingerprints(tokenizers)
    require_same_text(sources, now, watch, is_forced=wanted.is_forced)
    limits = limits_of(recipe, config)
    pairs = ready_pairs(read_parallel(config), tokenizers, limits, plan.num_threads)
    learner = new_learner(recipe, plan, tokenizers, pairs, read_start(folder), hashes)
    return TrainingRun(folder, learner, watch, wanted.save_every).go_on()


def read_started(folder: Path) -> dict[str, Any] | None:
    """Returns what a translator took from another run, tensor by tensor; None if nothing."""
    started = read_json(folder / SWAP_FILE)
    return started if isinstance(started, dict) else None
