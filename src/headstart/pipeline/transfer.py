"""Trunk and labels to classifier: swap the head, keep the trunk, and learn what the labels say."""

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headstart.corpora.leaks import SKETCH_FILE
from headstart.errors import RecipeError
from headstart.files import read_json, write_bytes, write_json
from headstart.locks import locked
from headstart.models.config import TrunkConfig
from headstart.models.heads.config import LabelHeadConfig, ModelConfig
from headstart.pipeline.examples import (
    ExamplesConfig,
    Labelled,
    example_hashes,
    read_examples_config,
    read_labelled,
    require_known,
    write_examples_config,
)
from headstart.pipeline.feeding import marks_for
from headstart.pipeline.fitted_head import fitted_head
from headstart.pipeline.free_folder import beginning
from headstart.pipeline.label_learner import LabelLearner, steps_in_epoch, tidy_transfer
from headstart.pipeline.label_split import as_split, with_taught
from headstart.pipeline.learner import ShouldStop, never, settle
from headstart.pipeline.planning import Place, best_precision
from headstart.pipeline.pretrain import fitting_tokenizer
from headstart.pipeline.recipe import Recipe, with_vocabulary
from headstart.pipeline.resumption import (
    TOKENIZER,
    Resumption,
    require_fitting,
    require_same_text,
    resumed_plan,
)
from headstart.pipeline.run_files import (
    START_FACTS_FILE,
    SWAP_FILE,
    TAUGHT_FILE,
    TOKENIZER_FOLDER,
    is_finished,
    read_recipe,
    read_start_recipe,
    write_recipe,
)
from headstart.pipeline.run_folder import Run, load_run, read_start, read_weights, write_start
from headstart.pipeline.seen import write_seen
from headstart.pipeline.taught import read_taught, write_taught
from headstart.pipeline.teaching import Teaching, teach
from headstart.pipeline.text_rows import TextReader
from headstart.pipeline.training_run import TrainingRun
from headstart.pipeline.watch import Watch
from headstart.tokenizers.folder import load_tokenizer, save_tokenizer
from headstart.tokenizers.learning import TokenizerConfig
from headstart.tokenizers.pieces import OBJECTIVE_PIECES
from headstart.tokenizers.tokenizer import Tokenizer
from headstart.training.config import PlanConfig
from headstart.transfers.head_swap import TRUNK
from headstart.transfers.settings import TransferSettings

# Looks at validation examples: enough to choose an epoch by; more would cost more than learning.
MOST_LOOKS = 40
FEWEST_LOOKS_WHEN_TAUGHT = 10


@dataclass(frozen=True, kw_only=True)
class Transferring:
    """Which trunk is transferred to which examples, how and where."""

    recipe: Recipe
    """The recipe of the trunk: that of the run it comes from, or of a cold start."""
    examples: ExamplesConfig
    settings: TransferSettings
    place: Place
    start: Path | None = None
    """The run whose trunk is kept; None is a cold start."""
    tokenizer: Path | None = None
    """The tokenizer of a cold start; without one it is learned from the training texts."""
    teaching: Teaching | None = None
    """Texts without labels to learn from too, and who answers for them."""


def transfer(wanted: Transferring, folder: Path, watch: Watch | None = None) -> Run:
    """Transfers a trunk to labels and returns the classifier."""
    watch = watch or Watch()
    with locked(folder):
        begin_transfer(wanted, folder, watch)
        resume_transfer(folder, Resumption(), watch)
    return load_run(folder, wanted.place.device)


def begin_transfer(
    wanted: Transferring, folder: Path, watch: Watch, should_stop: ShouldStop = never
) -> None:
    """Makes the folder of a transfer, or leaves nothing of it where that fails.

    Teachers, who may take minutes, are asked whether to stop by `should_stop`, and not by the
    watch: whoever is asked by that takes it that there is something to go on with.
    """
    with beginning(folder):
        prepare_transfer(wanted, folder, watch, should_stop)


def prepare_transfer(
    wanted: Transferring, folder: Path, watch: Watch, should_stop: ShouldStop
) -> None:
    """Writes what a transfer begins with: tokenizer, examples, start; the recipe last."""
    if wanted.start is not None:
        read_start_recipe(wanted.start)
    labelled = read_labelled(wanted.examples)
    for line in labelled.complaints:
        watch.say(line)
    if wanted.teaching is not None:
        taught = teach(wanted.teaching, wanted.examples, labelled, wanted.place, watch, should_stop)
        labelled = replace(labelled, taught=taught)
    tokenizer = settled_tokenizer(wanted, labelled, watch)
    recipe = transfer_recipe(wanted, labelled, tokenizer)
    copy_sketch(wanted.start, folder)
    save_tokenizer(tokenizer, folder / TOKENIZER_FOLDER)
    hashes = example_hashes(wanted.examples)
    keep_examples(folder, wanted.examples, labelled, hashes | {TOKENIZER: tokenizer.fingerprint})
    # Before the folder is a run: a trunk that does not fit would end it at its first step.
    assert recipe.plan is not None
    assert recipe.transfer is not None
    trunk = None if wanted.start is None else trunk_tensors(wanted.start)
    learner = new_label_learner(recipe, recipe.plan, labelled, tokenizer, trunk, hashes)
    if trunk is not None and recipe.transfer.fits_head:
        watch.say(f"Fitting the head to the trunk on {len(labelled.train):,} examples.")
        learner = replace(learner, start=trunk | fitted_head(learner))
    _, swap = learner.new_model()
    keep_start(folder, wanted.start, learner.start)
    write_json(folder / SWAP_FILE, None if swap is None else asdict(swap))
    write_recipe(folder, recipe)


def trunk_tensors(run: Path) -> dict[str, Tensor]:
    """Returns the weights of a run's trunk."""
    weights = read_weights(run)
    return {name: tensor for name, tensor in weights.items() if name.startswith(TRUNK)}


def keep_start(folder: Path, run: Path | None, start: dict[str, Tensor] | None) -> None:
    """Keeps what a run begins with; a cold start has nothing."""
    if run is not None and start is not None:
        write_start(folder, run, start)
    else:
        # An attempt that came to nothing may have left the start that it wanted.
        (folder / START_FACTS_FILE).unlink(missing_ok=True)


def keep_examples(
    folder: Path, config: ExamplesConfig, labelled: Labelled, sources: dict[str, str]
) -> None:
    """Writes what a run has seen, where that came from, and what teachers said of it."""
    taught = labelled.taught
    if taught is None:
        # An attempt that came to nothing may have had teachers.
        (folder / TAUGHT_FILE).unlink(missing_ok=True)
        write_seen(folder, labelled.pool)
        write_examples_config(folder, config, sources)
        return
    write_seen(folder, labelled.pool, taught.texts, taught.teachers_seen)
    write_examples_config(folder, config, sources, write_taught(folder, taught))


def settled_tokenizer(wanted: Transferring, labelled: Labelled, watch: Watch) -> Tokenizer:
    """Returns the tokenizer of the trunk, or of a cold start."""
    if wanted.start is not None:
        return load_tokenizer(wanted.start / TOKENIZER_FOLDER)
    if wanted.tokenizer is not None:
        tokenizer = load_tokenizer(wanted.tokenizer)
    else:
        size = wanted.recipe.model.trunk.vocabulary_size
        config = TokenizerConfig(size=size, seed=wanted.place.seed)
        lines = [line for example in labelled.train for line in example.text.splitlines()]
        tokenizer = fitting_tokenizer(lines, config, watch)
    return tokenizer.with_pieces(OBJECTIVE_PIECES[wanted.recipe.objective])


def transfer_recipe(wanted: Transferring, labelled: Labelled, tokenizer: Tokenizer) -> Recipe:
    """Returns the recipe of a transfer: the trunk's own with another head, and how it learns."""
    base, settings = wanted.recipe, wanted.settings
    if wanted.start is None:
        base = with_vocabulary(base, tokenizer.size)
    trunk = base.model.trunk
    if not isinstance(trunk, TrunkConfig):
        raise RecipeError(
            f"The recipe {base.name} is for {base.task} and has no single trunk to put labels on. "
            "Choose another recipe, such as compact."
        )
    if settings.transfer.num_fresh_layers > trunk.num_layers:
        raise RecipeError(
            f"The layers to begin anew are {settings.transfer.num_fresh_layers}, but the trunk has "
            f"{trunk.num_layers}. Give --fresh-layers at most so many."
        )
    length = base.length if settings.length is None else settings.length
    pooling = base.pooling if settings.pooling is None else settings.pooling
    steps_per_epoch = steps_in_epoch(labelled.num_learned, settings.examples_per_step)
    plan = transfer_plan(wanted.place, steps_per_epoch, settings.epochs_for(steps_per_epoch))
    return replace(
        base,
        model=ModelConfig(
            trunk=replace(trunk, layer=replace(trunk.layer, dropout=settings.dropout)),
            head=LabelHeadConfig(num_labels=len(labelled.labels), pooling=pooling),
        ),
        pooling=pooling,
        length=length,
        sequences_per_step=settings.examples_per_step,
        learning=settings.learning,
        plan=plan if labelled.taught is None else with_more_looks(plan),
        transfer=replace(
            settings.transfer,
            labels=labelled.labels,
            is_warm=wanted.start is not None,
            fewest_steps=settings.fewest_steps,
        ),
    )


def transfer_plan(place: Place, steps_per_epoch: int, num_epochs: int) -> PlanConfig:
    """Returns the plan of so many epochs, with a look at the validation examples after each."""
    return PlanConfig(
        num_steps=steps_per_epoch * num_epochs,
        seed=place.seed,
        device=place.device,
        num_threads=place.num_threads or torch.get_num_threads(),
        precision=best_precision(place.device),
        is_compiled=False,
        is_deterministic=place.is_deterministic,
        # After each epoch, or each few where they are many and short.
        steps_between_validations=steps_per_epoch * math.ceil(num_epochs / MOST_LOOKS),
        # Ten lines an epoch are enough to see it learn.
        steps_between_logs=max(1, steps_per_epoch // 10),
    )


def with_more_looks(plan: PlanConfig) -> PlanConfig:
    """Returns a plan with several looks in an epoch, where epochs are few and long."""
    num_between = max(1, plan.num_steps // FEWEST_LOOKS_WHEN_TAUGHT)
    return replace(plan, steps_between_validations=min(plan.steps_between_validations, num_between))


def copy_sketch(start: Path | None, folder: Path) -> None:
    """Takes along the sketch of what the trunk has read, where there is one, and no other."""
    if start is not None and (start / SKETCH_FILE).is_file():
        write_bytes(folder / SKETCH_FILE, (start / SKETCH_FILE).read_bytes())
    else:
        (folder / SKETCH_FILE).unlink(missing_ok=True)


def new_label_learner(
    recipe: Recipe,
    plan: PlanConfig,
    labelled: Labelled,
    tokenizer: Tokenizer,
    start: dict[str, Tensor] | None,
    sources: dict[str, str],
) -> LabelLearner:
    """Returns what a transfer needs, on the device and with the threads of its plan."""
    transfer_config = recipe.transfer
    assert transfer_config is not None
    settle(plan)
    marks = marks_for(recipe.objective, tokenizer)
    reader = TextReader(tokenizer, marks, recipe.length, transfer_config.long_texts)
    train, valid = (
        as_split(examples, transfer_config.labels, reader, plan.num_threads)
        for examples in (labelled.train, labelled.valid)
    )
    if labelled.taught is not None:
        train = with_taught(train, labelled.taught, reader, plan.num_threads)
        sources = sources | labelled.taught.sources
    return LabelLearner(
        recipe, plan, transfer_config, reader, train, valid, labelled.test, start, sources
    )


def resume_transfer(folder: Path, wanted: Resumption, watch: Watch) -> bool:
    """Goes on with a transfer from its last checkpoint; returns whether it is finished."""
    if is_finished(folder):
        # A kill may have come between the end and the tidying.
        tidy_transfer(folder)
        return True
    recipe = read_recipe(folder)
    plan = resumed_plan(recipe, wanted, folder)
    tokenizer = load_tokenizer(folder / TOKENIZER_FOLDER)
    require_fitting(tokenizer, recipe, folder)
    config, sources = read_examples_config(folder)
    hashes = example_hashes(config)
    now = hashes | {TOKENIZER: tokenizer.fingerprint}
    require_same_text(sources, now, watch, is_forced=wanted.is_forced)
    taught = read_taught(folder, config.reading(), watch)
    labelled = replace(read_labelled(config), taught=taught)
    assert recipe.transfer is not None
    # Files that changed and are gone on with may have labels that the head has no answer for.
    require_known(recipe.transfer.labels, [*labelled.train, *labelled.valid, *labelled.test])
    learner = new_label_learner(recipe, plan, labelled, tokenizer, read_start(folder), hashes)
    return TrainingRun(folder, learner, watch, wanted.save_every).go_on()


def read_swap(folder: Path) -> dict[str, Any] | None:
    """Returns what a transfer loaded and what was new, tensor by tensor; None for a cold start."""
    swap = read_json(folder / SWAP_FILE)
    return swap if isinstance(swap, dict) else None
