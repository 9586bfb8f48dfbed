"""Run and prompt to text: what a causal run would write behind it."""

from dataclasses import dataclass

from headstart.decoding.beam import Beam
from headstart.decoding.scoring import CachedScores, prefix_of
from headstart.decoding.strategy import Hypothesis, Limits, Strategy
from headstart.errors import RecipeError, RunError
from headstart.models.model import language_head
from headstart.pipeline.feeding import (
    device_of,
    marks_of,
    refuse_classifier,
    special_ids,
)
from headstart.pipeline.run_folder import Run
from headstart.tokenizers.pieces import END_ID, UNKNOWN_ID


@dataclass(frozen=True, kw_only=True)
class Continuation:
    """What was written behind a prompt."""

    text: str
    """The prompt and what was written."""
    continuation: str
    num_pieces: int
    log_probability: float
    has_ended: bool
    """Whether the run itself ended the text, and not the limit."""


def generate(
    run: Run, prompt: str, strategy: Strategy, num_pieces: int, count: int = 1
) -> list[Continuation]:
    """Writes behind a prompt, `count` times; an empty prompt begins a new document.

    A beam writes as many as it has been told to keep, whatever the count.
    """
    require_causal(run)
    ids = run.tokenizer.encode(prompt).tolist() if prompt else []
    row = marks_of(run).around(ids)
    most = run.model.trunk.config.max_length
    if len(row) + num_pieces > most:
        raise RecipeError(
            f"The prompt has {len(ids):,} pieces and {num_pieces:,} more were asked for, but the "
            f"positions of this run end at {most:,}. Shorten the prompt, or ask for fewer pieces."
        )
    unwanted = {*special_ids(run.tokenizer), UNKNOWN_ID} - {END_ID}
    limits = Limits(num_pieces=num_pieces, end_id=END_ID, forbidden_ids=tuple(sorted(unwanted)))
    scores = CachedScores(run.model.trunk, language_head(run.model))
    rows = [row] if isinstance(strategy, Beam) else [row] * count
    found = strategy.decode(scores, prefix_of(rows, device_of(run)), limits)
    return [continuation(run, ids, each) for hypotheses in found for each in hypotheses]


def require_causal(run: Run) -> None:
    """Raises an error unless the run has learned to write on."""
    refuse_classifier(run, "it cannot write on", "causal")
    objective = run.recipe.objective
    if objective == "causal":
        return
    learned = "to find hidden pieces" if objective.startswith("masked") else f"for {objective}"
    raise RunError(
        f"This run was trained {learned} (its objective is {objective}), so it cannot write on. "
        "Choose a run that was pretrained with the objective causal."
    )


def continuation(run: Run, prompt_ids: list[int], found: Hypothesis) -> Continuation:
    """Returns a hypothesis as text."""
    text, prompt = (run.tokenizer.decode(ids) for ids in ([*prompt_ids, *found.ids], prompt_ids))
    return Continuation(
        text=text,
        continuation=text.removeprefix(prompt),
        num_pieces=len(found.ids),
        log_probability=found.log_probability,
        has_ended=found.has_ended,
    )
