"""The command that would make a run again, from what the run itself remembers."""

import shlex

from headstart.errors import RunError
from headstart.pipeline.corpus_stores import CorpusConfig
from headstart.pipeline.recipe import Recipe


def command_of(recipe: Recipe, corpus: CorpusConfig, start: str | None) -> str:
    """Returns the `headstart pretrain` that makes a run like this one, every setting said."""
    if recipe.plan is None:
        raise RunError(f"The recipe {recipe.name} has no plan, so no run was begun with it.")
    words = [
        *("headstart", "pretrain", *corpus.corpus),
        *(word for name in corpus.valid for word in ("--valid", name)),
        *reading_words(corpus),
        # A run that goes on from another takes its recipe from there.
        *(("--from", start) if start else ("--recipe", recipe.name)),
        *([] if start else ["--objective", recipe.objective]),
        *("--steps", str(recipe.plan.num_steps)),
        *("--length", str(recipe.length), "--sequences", str(recipe.sequences_per_step)),
        *learning_words(recipe),
        *("--seed", str(recipe.plan.seed)),
        *("--device", recipe.plan.device.partition(":")[0]),
        *("--out", "RUN"),
    ]
    return shlex.join(words)


def reading_words(corpus: CorpusConfig) -> list[str]:
    """Returns how the text was read, where not in the usual way."""
    words = [] if corpus.documents == "lines" else ["--documents", corpus.documents]
    words += [] if corpus.text_column is None else ["--text-column", corpus.text_column]
    return [*words, *(["--skip-bad"] if corpus.skips_bad else [])]


def learning_words(recipe: Recipe) -> list[str]:
    """Returns how the weights moved, and what was hidden from them."""
    learning = recipe.learning
    words = ["--rate", f"{learning.peak_rate:g}", "--schedule", learning.schedule]
    words += ["--head", learning.head]
    if learning.accumulation != 1:
        words += ["--accumulate", str(learning.accumulation)]
    if learning.average_decay:
        words += ["--average", f"{learning.average_decay:g}"]
    if recipe.objective != "causal":
        words += ["--hide", f"{recipe.hiding.share:g}"]
        words.append("--whole-words" if recipe.hiding.hides_words else "--single-pieces")
    return words
