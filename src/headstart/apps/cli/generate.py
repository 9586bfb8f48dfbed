"""The command `generate`: what a causal run would write."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headstart.apps.cli.options import Workplace, json_option, packed, workplace_options
from headstart.apps.cli.output import print_json
from headstart.apps.cli.using import given_text, open_run, run_argument
from headstart.apps.cli.values import BEAM_TYPE, COUNT_TYPE, NUMBER_TYPE, Whole
from headstart.errors import RecipeError
from headstart.pipeline.usual_draw import TEMPERATURE, TOP_P

if TYPE_CHECKING:
    from headstart.decoding.strategy import Strategy
    from headstart.pipeline.generate import Continuation

EXAMPLES = """\b
Examples:
  headstart generate RUN "Bonjour les"
  headstart generate RUN "Bonjour les" --count 5 --seed 3 --pieces 40
  headstart generate RUN "Bonjour les" --strategy greedy
  headstart generate RUN "Bonjour les" --strategy beam --count 3
  echo "Bonjour les" | headstart generate RUN -
"""
WAYS = {
    "sample": "sample draws one piece after another",
    "greedy": "greedy takes the likeliest piece each time",
    "beam": "beam searches and draws nothing",
}
# As many as translators keep.
BEAM_WIDTH = 4
# They are written side by side, and each takes memory.
MOST_TEXTS = 100


@dataclass(frozen=True, kw_only=True)
class Choosing:
    """How pieces are chosen; what is left out has a default where it applies."""

    strategy: str
    beam: int | None
    temperature: float | None
    top_k: int | None
    top_p: float | None


choosing_options = packed(
    "choosing",
    Choosing,
    click.option(
        "--strategy",
        type=click.Choice(["sample", "greedy", "beam"]),
        default="sample",
        show_default=True,
        help="Draw pieces, take the likeliest each time, or search for the likeliest text.",
    ),
    click.option(
        "--beam", type=BEAM_TYPE, help=f"Beginnings that a beam keeps.  [default: {BEAM_WIDTH}]"
    ),
    click.option(
        "--temperature",
        type=NUMBER_TYPE,
        help=f"Below 1 the likely gets likelier, above 1 rarer.  [default: {TEMPERATURE}]",
    ),
    click.option("--top-k", type=int, help="Draw from so many of the likeliest.  [default: all]"),
    click.option(
        "--top-p",
        type=NUMBER_TYPE,
        help=f"Draw from the likeliest that have this share.  [default: {TOP_P}]",
    ),
)


@click.command(epilog=EXAMPLES)
@run_argument
@click.argument("prompt", default="")
@choosing_options
@click.option(
    "--pieces", type=COUNT_TYPE, default=100, show_default=True, help="The most new pieces."
)
@click.option(
    "--count",
    type=Whole(1, MOST_TEXTS),
    default=1,
    show_default=True,
    help="How many texts to write.",
)
@workplace_options
@json_option
def generate(
    run: Path,
    prompt: str,
    choosing: Choosing,
    pieces: int,
    count: int,
    workplace: Workplace,
    as_json: bool,
) -> None:
    """Let a causal run write on behind PROMPT.

    Without a prompt it begins a new text; a dash reads the prompt from standard input. Pieces are
    drawn by their probability; the same seed gives the same text again. A beam gives the likeliest
    texts that it finds, best first.
    """
    strategy = strategy_of(choosing, workplace.seed, count)
    prompt = given_text(prompt)
    from headstart.pipeline.generate import generate as write

    opened = open_run(run, workplace.device, workplace.num_threads)
    found = write(opened, prompt, strategy, pieces, count)
    if as_json:
        settings = {"strategy": choosing.strategy, **vars(strategy)}
        # Which text is drawn is said by its place alone.
        settings.pop("row_numbers", None)
        texts = [asdict(one) for one in found]
        print_json({"prompt": prompt, "choosing": settings, "texts": texts})
        return
    show(found)


def strategy_of(choosing: Choosing, seed: int, count: int) -> Strategy:
    """Returns the strategy that was asked for, or says which options do not go together."""
    from headstart.decoding.beam import Beam
    from headstart.decoding.greedy import Greedy
    from headstart.decoding.sampling import Sampling

    refuse_idle(choosing, count)
    if choosing.strategy == "beam":
        width = max(BEAM_WIDTH, count) if choosing.beam is None else choosing.beam
        return Beam(width=width, num_best=count)
    if choosing.strategy == "sample":
        return Sampling(
            temperature=TEMPERATURE if choosing.temperature is None else choosing.temperature,
            top_k=choosing.top_k,
            top_p=TOP_P if choosing.top_p is None else choosing.top_p,
            seed=seed,
        )
    return Greedy()


def refuse_idle(choosing: Choosing, count: int) -> None:
    """Raises an error for options that a strategy has no use for."""
    of_draws = ("temperature", "top_k", "top_p") if choosing.strategy != "sample" else ()
    of_beams = ("beam",) if choosing.strategy != "beam" else ()
    idle = [
        f"--{name.replace('_', '-')}"
        for name in (*of_draws, *of_beams)
        if getattr(choosing, name) is not None
    ]
    if choosing.strategy == "greedy" and count > 1:
        idle.append("--count")
    if idle:
        other = "beam" if "--beam" in idle else "sample"
        raise RecipeError(
            f"{', '.join(idle)} would change nothing: {WAYS[choosing.strategy]}. "
            f"Leave it out, or choose --strategy {other}."
        )


def show(found: list[Continuation]) -> None:
    """Prints texts, with a line between them where there are several."""
    for number, one in enumerate(found, start=1):
        if len(found) > 1:
            click.secho(f"--- {number} of {len(found)}", dim=True)
        click.echo(one.text)
