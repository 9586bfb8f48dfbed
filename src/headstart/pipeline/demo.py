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
from headstart.files import write_json
from headstart.pipeline.compare import run_comparison
from headstart.pipeline.comparing.config import ComparedSettings, Comparison, to_the_end
from headstart.pipeline.comparing.report import write_report
from headstart.pipeline.comparing.sweeping import ShowSweep
from headstart.pipeline.demo_texts import DemoTexts, generated_texts, real_texts
from headstart.pipeline.demo_trunks import adapted_trunk, tiny_trunk
from headstart.pipeline.examples import ExamplesConfig
from headstart.pipeline.free_folder import LEAKS_FILE, claim_comparison
from headstart.pipeline.planning import Place
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.run_files import RESULTS_FILE, read_results
from headstart.pipeline.watch import Watch
from headstart.transfers.settings import COLD, FROZEN, WARM, TransferSettings

NUM_SEEDS = 3
NUM_VALID = 400
# Six epochs, and more of them where 250 labels would make less than 150 steps.
NUM_EPOCHS, FEWEST_STEPS = 6, 150
SIZES, OFFLINE_SIZES = (250, 1_000), (50, 200)


def demo_settings(settings: TransferSettings) -> TransferSettings:
    """Returns the settings of a network in the demo."""
    return replace(to_the_end(settings), epochs=NUM_EPOCHS, fewest_steps=FEWEST_STEPS)


SETTINGS = ComparedSettings(
    warm=demo_settings(WARM),
    cold=demo_settings(COLD),
    frozen=to_the_end(FROZEN),
)


GENERATED_NOTE = (
    "This text is generated: a made-up language in which praise and blame have words of their own, "
    "so that pretraining helps by design. It shows how Headstart works, and proves nothing of real "
    "text."
)


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Which demo is shown, and where it works."""

    trunk: Path
    """The trunk in the box; without a network, another takes its place."""
    recipe: Recipe
    """What the tiny trunk of the demo without a network is a small edition of."""
    place: Place
    is_adapted: bool = False
    """Whether the trunk is also pretrained for a minute more, on the snippets."""
    is_offline: bool = False
    """Whether text is made up, since none is fetched."""
    before_fetch: Callable[[Wheel], None] | None = None
    num_workers: int | None = None
    """Jobs at once; None takes the cores there are."""
    command: str = "headstart demo"

    def __post_init__(self) -> None:
        if self.is_adapted and self.is_offline:
            raise RecipeError(
                "--adapt needs the snippets of film reviews, which --offline does without. Leave "
                "one out."
            )


@dataclass(frozen=True, kw_only=True)
class Next:
    """Something to try next."""

    what: str
    command: str


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What the demo has found, and what to try next."""

    results: dict[str, Any]
    nexts: tuple[Next, ...]


def demo(wanted: Demo, folder: Path, watch: Watch, show: ShowSweep) -> Shown | None:
    """Shows the story in a folder that is locked; nothing where someone said stop.

    What is finished is skipped, so that the same demo goes on where it was.
    """
    claim_comparison(folder, LEAKS_FILE)
    texts = generated_texts(folder) if wanted.is_offline else real_texts(wanted.before_fetch)
    starts = trunks_of(wanted, texts, folder, watch)
    if starts is None:
        return None
    results = run_comparison(comparison_of(wanted, texts, starts), folder, watch, show)
    if results is None:
        return None
    if wanted.is_offline:
        results = with_note(results, GENERATED_NOTE, folder)
    name = starts[0].name if starts[0] == wanted.trunk else str(starts[0])
    return Shown(results=results, nexts=nexts(best_warm_run(results, folder), name, texts, folder))


def with_note(results: dict[str, Any], note: str, folder: Path) -> dict[str, Any]:
    """Returns results whose verdict says one thing more, and writes them and the report so."""
    verdict = dict(results["verdict"])
    noted = results | {"verdict": verdict | {"sentences": [*verdict["sentences"], note]}}
    write_json(folder / RESULTS_FILE, noted)
    write_report(noted, folder)
    return noted


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
        num_workers=wanted.num_workers,
        command=wanted.command,
    )


def nexts(run: Path, trunk: str, texts: DemoTexts, folder: Path) -> tuple[Next, ...]:
    """Returns what to try next; every command works on what the demo has made."""
    page, mine = str(folder / "explained.html"), str(folder.resolve().with_name("mine"))
    names = {"--train": texts.train, "--valid": texts.valid, "--test": texts.test}
    files = [word for flag, path in names.items() for word in (flag, str(path))]
    sweep = ("--sizes", "100", "--seeds", "2", "--out", mine)
    found = {
        "Label a text": ("predict", str(run), texts.example),
        "See which pieces decided": ("predict", str(run), texts.example, "--explain", page),
        "Ask the same of other files; put yours in their place": (
            *("compare", "--from", trunk, *files, *sweep),
        ),
    }
    return tuple(
        Next(what=what, command=shlex.join(("headstart", *words))) for what, words in found.items()
    )


def best_warm_run(results: dict[str, Any], folder: Path) -> Path:
    """Returns the warm run of the most labels that validation likes best; the test has no say."""
    primary, largest = results["systems"][0]["key"], max(results["question"]["sizes"])
    runs: list[Path] = [
        folder / job["folder"]
        for job in results["jobs"]
        if (job["system"], job["size"]) == (primary, largest)
    ]
    return max(runs, key=lambda run: float(read_results(run)["valid"]["accuracy"]))
