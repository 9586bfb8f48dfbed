"""The command that would make a run again, from what the run itself remembers."""

import shlex

from headstart.errors import RunError
from headstart.pipeline.corpus_stores import CorpusConfig
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.translating.paired_recipe import BETWEEN_NAMES
from headstart.pipeline.translating.pairs import LONGEST_RATIO, PairsConfig
from headstart.training.config import LearningConfig, PlanConfig


def command_of(recipe: Recipe, corpus: CorpusConfig, start: str | None) -> str:
    """Returns the `headstart pretrain` that makes a run like this one, every setting said."""
    plan = plan_of(recipe)
    words = [
        *("headstart", "pretrain", *corpus.corpus),
        *(word for name in corpus.valid for word in ("--valid", name)),
        *reading_words(corpus),
        # A run that goes on from another takes its recipe from there.
        *(("--from", start) if start else ("--recipe", recipe.name)),
        *([] if start else ["--objective", recipe.objective]),
        *("--steps", str(plan.num_steps)),
        *("--length", str(recipe.length), "--sequences", str(recipe.sequences_per_step)),
        *learning_words(recipe),
        *place_words(plan),
    ]
    return shlex.join(words)


def translator_command_of(
    recipe: Recipe, pairs: PairsConfig, start: str | None, *, has_two_vocabularies: bool
) -> str:
    """Returns the `headstart train-translator` that makes a run like this one, likewise."""
    plan, translation = plan_of(recipe), recipe.translation
    # A translator in the shape of its start bears two names, and takes that shape again.
    is_named = start is None or BETWEEN_NAMES not in recipe.name
    words = [
        *("headstart", "train-translator", *pair_words(pairs)),
        *(("--from", start) if start else ()),
        *(("--recipe", recipe.name) if is_named else ()),
        *(["--two-vocabularies"] if has_two_vocabularies and not start else []),
        *("--steps", str(plan.num_steps), "--step-tokens", str(recipe.tokens_per_step)),
        *rate_words(recipe.learning),
        *("--dropout", f"{recipe.model.trunk.reading_stack.layer.dropout:g}"),
        *("--smoothing", f"{translation.label_smoothing:g}"),
        *("--average-last", str(translation.num_averaged)),
        *place_words(plan),
    ]
    return shlex.join(words)


def plan_of(recipe: Recipe) -> PlanConfig:
    """Returns what a run has settled for itself."""
    if recipe.plan is None:
        raise RunError(f"The recipe {recipe.name} has no plan, so no run was begun with it.")
    return recipe.plan


def place_words(plan: PlanConfig) -> list[str]:
    """Returns where a run was done and from which seed."""
    return [
        *("--seed", str(plan.seed)),
        *("--device", plan.device.partition(":")[0]),
        "--out",
        "RUN",
    ]


def pair_words(pairs: PairsConfig) -> list[str]:
    """Returns which pairs were read, and how where not in the usual way."""
    words = ["--source", pairs.source, "--target", pairs.target]
    if pairs.valid_source is not None and pairs.valid_target is not None:
        words += ["--valid-source", pairs.valid_source, "--valid-target", pairs.valid_target]
    if pairs.most_pieces is not None:
        words += ["--most-pieces", str(pairs.most_pieces)]
    if pairs.longest_ratio != LONGEST_RATIO:
        words += ["--longest-ratio", f"{pairs.longest_ratio:g}"]
    return [*words, *(["--skip-bad"] if pairs.skips_bad else [])]


def reading_words(corpus: CorpusConfig) -> list[str]:
    """Returns how the text was read, where not in the usual way."""
    words = [] if corpus.documents == "lines" else ["--documents", corpus.documents]
    words += [] if corpus.text_column is None else ["--text-column", corpus.text_column]
    return [*words, *(["--skip-bad"] if corpus.skips_bad else [])]


def learning_words(recipe: Recipe) -> list[str]:
    """Returns how the weights moved, and what was hidden from them."""
    words = [*rate_words(recipe.learning), "--head", recipe.learning.head]
    if recipe.objective != "causal":
        words += ["--hide", f"{recipe.hiding.share:g}"]
        words.append("--whole-words" if recipe.hiding.hides_words else "--single-pieces")
    return words


def rate_words(learning: LearningConfig) -> list[str]:
    """Returns how far the weights moved in each step, and how that was averaged."""
    words = ["--rate", f"{learning.peak_rate:g}", "--schedule", learning.schedule]
    if learning.accumulation != 1:
        words += ["--accumulate", str(learning.accumulation)]
    if learning.average_decay:
        words += ["--average", f"{learning.average_decay:g}"]
    return words
