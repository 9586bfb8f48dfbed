"""Text to trunk: settle the tokenizer, the text and the plan, then train until it is done."""

from dataclasses import dataclass, replace
from pathlib import Path

from headstart.corpora.leaks import SKETCH_FILE
from headstart.corpora.leaks.sketch_file import write_sketch
from headstart.errors import RecipeError, TooFewTextsError
from headstart.locks import locked
from headstart.objectives.table import OBJECTIVES
from headstart.pipeline.adaptation import (
    require_fitting_start,
    require_kept_out,
    sketch_of_all,
)
from headstart.pipeline.corpus_stores import (
    CorpusConfig,
    CorpusStores,
    corpus_stores,
    source_hashes,
)
from headstart.pipeline.free_folder import beginning
from headstart.pipeline.language_learner import LanguageLearner, new_learner
from headstart.pipeline.planning import Budget, Place, first_plan, measured_plan
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
    TOKENIZER_FOLDER,
    is_finished,
    read_recipe,
    write_recipe,
)
from headstart.pipeline.run_folder import (
    Run,
    load_run,
    read_corpus,
    read_start,
    read_weights,
    write_corpus,
    write_start,
)
from headstart.pipeline.tensorboard import tensorboard_writer
from headstart.pipeline.tokenizer import sample_lines
from headstart.pipeline.training_run import TrainingRun
from headstart.pipeline.watch import Watch
from headstart.tokenizers.folder import load_tokenizer, save_tokenizer
from headstart.tokenizers.learning import FEWEST_PIECES, TokenizerConfig, learn_tokenizer
from headstart.tokenizers.pieces import OBJECTIVE_PIECES
from headstart.tokenizers.tokenizer import Tokenizer
from headstart.training.config import PlanConfig

# From this size of a vocabulary on, a processor spends most of a causal step on its head.
NUM_SAMPLED_PIECES = 20_000


@dataclass(frozen=True, kw_only=True)
class Pretraining:
    """What is to be pretrained, on what, for how long and where."""

    recipe: Recipe
    corpus: CorpusConfig
    budget: Budget
    place: Place
    tokenizer: Path | None = None
    """A folder with a tokenizer; without one it is learned from the corpus."""
    start: Path | None = None
    """A run whose weights and tokenizer are gone on with."""
    kept_out: tuple[str, ...] = ()
    """Files whose texts, such as a test's, must not be in the corpus."""
    has_tensorboard: bool = False


def pretrain(wanted: Pretraining, folder: Path, watch: Watch | None = None) -> Run:
    """Pretrains a trunk and returns what it has learned."""
    watch = watch or Watch()
    with locked(folder):
        begin(wanted, folder, watch)
        resume_run(folder, Resumption(), watch)
    return load_run(folder, wanted.place.device)


def begin(wanted: Pretraining, folder: Path, watch: Watch) -> None:
    """Makes the folder of a run, or leaves nothing of it where that fails."""
    with beginning(folder):
        prepare(wanted, folder, watch)


def prepare(wanted: Pretraining, folder: Path, watch: Watch) -> None:
    """Writes what a run begins with: tokenizer, text as tokens, plan; the recipe last."""
    if wanted.recipe.objective not in OBJECTIVES:
        raise RecipeError(
            f"The recipe {wanted.recipe.name} has the objective {wanted.recipe.objective}, which "
            "plain text does not teach. Choose another recipe, such as compact."
        )
    hashes = source_hashes(wanted.corpus)
    require_kept_out(wanted.corpus, wanted.kept_out, hashes, watch)
    if wanted.has_tensorboard:
        # The folder is the wish, found again by every resumption.
        tensorboard_writer(folder, first_step=0)
    tokenizer = settled_tokenizer(wanted, folder, watch)
    recipe = settled_head(with_vocabulary(wanted.recipe, tokenizer.size), wanted.place.device)
    if wanted.start is not None:
        require_fitting_start(wanted.start, recipe)
    num_threads = first_plan(wanted.budget, wanted.place, recipe).num_threads
    stores = corpus_stores(wanted.corpus, tokenizer, num_threads, watch, hashes)
    recipe = replace(recipe, plan=settled_plan(recipe, wanted, tokenizer, stores))
    write_sketch(folder / SKETCH_FILE, sketch_of_all(stores.sketch, wanted.start))
    write_corpus(folder, wanted.corpus, stores.sources | {TOKENIZER: tokenizer.fingerprint})
    if wanted.start is not None:
        write_start(folder, wanted.start, read_weights(wanted.start))
    else:
        # An attempt that came to nothing may have left the start that it wanted.
        (folder / START_FACTS_FILE).unlink(missing_ok=True)
    write_recipe(folder, recipe)


def settled_tokenizer(wanted: Pretraining, folder: Path, watch: Watch) -> Tokenizer:
    """Returns the tokenizer of a run, with the pieces that its objective needs, and keeps it."""
    if wanted.start is not None:
        tokenizer = load_tokenizer(wanted.start / TOKENIZER_FOLDER)
    elif wanted.tokenizer is not None:
        tokenizer = load_tokenizer(wanted.tokenizer)
    else:
        reading = wanted.corpus.reading()
        documents = watch.read([Path(p) for p in wanted.corpus.corpus], reading, "Reading text")
        config = TokenizerConfig(
            size=wanted.recipe.model.trunk.vocabulary_size, seed=wanted.place.seed
        )
        tokenizer = fitting_tokenizer(sample_lines(documents, config.seed), config, watch)
    tokenizer = tokenizer.with_pieces(OBJECTIVE_PIECES[wanted.recipe.objective])
    save_tokenizer(tokenizer, folder / TOKENIZER_FOLDER)
    return tokenizer


def fitting_tokenizer(lines: list[str], config: TokenizerConfig, watch: Watch) -> Tokenizer:
    """Returns a tokenizer of the recipe's size, or of the largest that a small text allows."""
    num_lines = f"{len(lines):,} {'line' if len(lines) == 1 else 'lines'}"
    watch.say(f"Learning {config.size:,} pieces from {num_lines}.")
    try:
        return learn_tokenizer(lines, config)
    except TooFewTextsError as error:
        if error.most < FEWEST_PIECES:
            raise
        watch.say(f"The text is too small for {config.size:,} pieces; it allows {error.most:,}.")
        return learn_tokenizer(lines, replace(config, size=error.most))


def settled_head(recipe: Recipe, device: str) -> Recipe:
    """Returns the recipe with its head's loss chosen: sampled where scoring all would dominate."""
    if recipe.learning.head != "auto":
        return recipe
    # Masked text is asked for few pieces, and a GPU has the products to spare.
    is_costly = recipe.model.trunk.vocabulary_size >= NUM_SAMPLED_PIECES
    is_sampled = device == "cpu" and recipe.objective == "causal" and is_costly
    learning = replace(recipe.learning, head="sampled" if is_sampled else "exact")
    return replace(recipe, learning=learning)


def settled_plan(
    recipe: Recipe, wanted: Pretraining, tokenizer: Tokenizer, stores: CorpusStores
) -> PlanConfig:
    """Returns the plan of a run; minutes are turned into steps by trying some."""

    def learner_for(candidate: PlanConfig) -> LanguageLearner:
        return new_learner(recipe, candidate, tokenizer, stores)

    plan = first_plan(wanted.budget, wanted.place, recipe)
    # Before the folder is a run: text that is too little would end it at its first look.
    learner_for(plan).check_held_out()
    minutes = wanted.budget.minutes_or_default
    if minutes is None:
        return plan
    may_choose = wanted.place.is_compiled is None
    return measured_plan(plan, minutes, recipe.tokens_per_step, learner_for, may_choose=may_choose)


def resume_run(folder: Path, wanted: Resumption, watch: Watch) -> bool:
    """Goes on with a run from its last checkpoint; returns whether it is finished."""
    if is_finished(folder):
        return True
    recipe = read_recipe(folder)
    plan = resumed_plan(recipe, wanted, folder)
    tokenizer = load_tokenizer(folder / TOKENIZER_FOLDER)
    require_fitting(tokenizer, recipe, folder)
    config, sources = read_corpus(folder)
    hashes = source_hashes(config)
    now = hashes | {TOKENIZER: tokenizer.fingerprint}
    require_same_text(sources, now, watch, is_forced=wanted.is_forced)
    stores = corpus_stores(config, tokenizer, plan.num_threads, watch, hashes)
    learner = new_learner(recipe, plan, tokenizer, stores, read_start(folder))
    return TrainingRun(folder, learner, watch, wanted.save_every).go_on()
