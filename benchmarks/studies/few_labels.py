"""With 200 labels, does every seed learn, and do our settings learn more surely than naive ones?

film-en learns `rotten` twice from each of 20 draws of 200 labels: as `headstart transfer` does by
default, and by a naive recipe of three epochs without warm-up at one rate for all layers, its head
drawn. The naive rate is the best of three on validation, so that it is no straw man. Then both once
more with the first draw's labels for every seed, which tells what is chance in learning from what
is chance in the labels.
"""

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from study import Options, Study, options_of

from headstart.apps.trunks.finding import find_run
from headstart.checkpoints.tensor_file import read_tensors
from headstart.corpora.named import get
from headstart.evaluation.crossed import crossed_share
from headstart.pipeline.comparing.task import Task, run_task
from headstart.pipeline.comparing.workers import work_through
from headstart.pipeline.examples import ExamplesConfig
from headstart.pipeline.planning import Place
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.run_files import TEST_FILE, is_finished, read_recipe, read_results
from headstart.pipeline.run_folder import recorded_sha256
from headstart.pipeline.this_machine import choose_device
from headstart.pipeline.transfer import Transferring
from headstart.transfers.difference import Pairing, paired_difference
from headstart.transfers.settings import WARM, TransferSettings

ASKED = "With 200 labels, does every seed learn, and more surely than by a naive recipe?"
TRUNK, DATA_SET, NUM_LABELS = "film-en", "rotten", 200
NUM_SEEDS, NUM_SEEDS_TRIED = 20, 3
# As many as `headstart compare` chooses by.
NUM_VALID = 400
NAIVE_RATES = (1e-4, 3e-4, 1e-3)
# Below the majority and so much more, nothing was learned.
MARGIN = 0.03
NAIVE = replace(
    WARM,
    epochs=3,
    fewest_steps=0,
    transfer=replace(WARM.transfer, layer_decay=1.0, patience=0, fits_head=False, num_averaged=1),
    learning=replace(WARM.learning, warm_up_share=0.0),
)
Right = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Trials:
    """What is learned from, where, and how often."""

    options: Options
    start: Path
    recipe: Recipe
    examples: ExamplesConfig
    num_seeds: int
    draw: int | None = None
    """The draw of labels that all seeds learn from; None is one for each."""

    def folder(self, name: str, seed: int) -> Path:
        """Returns where one run is."""
        draw = "" if self.draw is None else f"labels-{self.draw}-"
        return self.options.work / f"{name}-{draw}{seed}"

    def finish(self, settings: Mapping[str, TransferSettings], num_seeds: int) -> None:
        """Learns with each settings from each seed, what is finished left out."""
        tasks = [
            self.task(name, each, seed)
            for seed in range(num_seeds)
            for name, each in settings.items()
            if not is_finished(self.folder(name, seed))
        ]
        done: list[str] = []

        def note(task: Task) -> None:
            done.append(task.name)
            print(f"{len(done)} of {len(tasks)}: {task.name}", file=sys.stderr, flush=True)

        if tasks and not work_through(
            tasks, run_task, self.options.num_workers or 1, lambda: False, note
        ):
            sys.exit("Not all runs were finished; the same command goes on.")

    def task(self, name: str, settings: TransferSettings, seed: int) -> Task:
        """Returns one run: a seed draws all else, and the labels too where none are said."""
        folder = self.folder(name, seed)
        examples = replace(self.examples, draw=seed if self.draw is None else self.draw)
        place = Place(
            device=choose_device(self.options.device or "auto"),
            num_threads=self.options.num_threads or 1,
            seed=seed,
        )
        return Task(
            name=folder.name,
            folder=folder,
            kind="warm",
            examples=examples,
            transferring=Transferring(
                recipe=replace(self.recipe, plan=None),
                examples=examples,
                settings=settings,
                place=place,
                start=self.start.resolve(),
            ),
        )


def main() -> None:
    options = options_of("few-labels", __doc__)
    study = Study("few-labels", ASKED, options)
    num_seeds = study.seeds(NUM_SEEDS)
    study.commands.append(f"python benchmarks/studies/few_labels.py --seeds {num_seeds}")
    files = get(DATA_SET).paths
    trials = trials_of(
        options, num_seeds, **{split: files[f"{split}.csv"] for split in ("train", "valid", "test")}
    )
    naive, tried = best_naive(trials)
    settings = {"default": WARM, "naive": with_rate(NAIVE, tried[naive]["peak_rate"])}
    study.keep_answer(
        {
            "trunk": TRUNK,
            "data_set": DATA_SET,
            "num_labels": NUM_LABELS,
            "num_seeds": num_seeds,
            "naive_rates_on_validation": list(tried.values()),
            **answer_of(trials, settings),
            "same_labels": answer_of(replace(trials, draw=0), settings),
        }
    )


def trials_of(options: Options, num_seeds: int, *, train: Path, valid: Path, test: Path) -> Trials:
    """Returns trials with few labels of some files."""
    start = find_run(TRUNK)
    examples = ExamplesConfig(
        train=str(train), valid=str(valid), test=str(test), size=NUM_LABELS, num_valid=NUM_VALID
    )
    return Trials(
        options=options,
        start=start,
        recipe=read_recipe(start),
        examples=examples,
        num_seeds=num_seeds,
    )


def answer_of(trials: Trials, settings: Mapping[str, TransferSettings]) -> dict[str, Any]:
    """Learns by both settings from every seed, and returns what that came to."""
    trials.finish(settings, trials.num_seeds)
    tables = {name: read_tables(trials, name) for name in settings}
    return {
        "systems": {
            name: {"settings": settings_json(each)} | scores(tables[name])
            for name, each in settings.items()
        },
        "differences": differences(tables["default"], tables["naive"]),
    }


def best_naive(trials: Trials) -> tuple[str, dict[str, dict[str, Any]]]:
    """Tries the naive recipe with each rate; returns the best's name, and all of them."""
    settings = {f"naive-{rate:g}": with_rate(NAIVE, rate) for rate in NAIVE_RATES}
    num_seeds = min(NUM_SEEDS_TRIED, trials.num_seeds)
    trials.finish(settings, num_seeds)
    tried = {}
    for name, each in settings.items():
        found = [
            float(read_results(trials.folder(name, seed))["valid"]["accuracy"])
            for seed in range(num_seeds)
        ]
        tried[name] = {
            "peak_rate": each.learning.peak_rate,
            "mean": float(np.mean(found)),
            "by_seed": found,
        }
    return max(tried, key=lambda name: tried[name]["mean"]), tried


def with_rate(settings: TransferSettings, rate: float) -> TransferSettings:
    """Returns settings with another rate."""
    return replace(settings, learning=replace(settings.learning, peak_rate=rate))


def read_tables(trials: Trials, name: str) -> dict[str, Any]:
    """Returns which items each seed has right on either test, and what the majority would."""
    rights, targets, is_clean = [], np.empty(0), np.empty(0)
    for seed in range(trials.num_seeds):
        folder = trials.folder(name, seed)
        kept = read_tensors(folder / TEST_FILE, recorded_sha256(folder, TEST_FILE))
        targets, is_clean = kept["targets"].numpy(), kept["clean"].numpy().astype(bool)
        rights.append(kept["probabilities"].numpy().argmax(axis=-1) == targets)
    right_SN = np.array(rights)
    labels = np.bincount(targets.astype(int))
    return {
        test: {
            "right": right_SN[:, which],
            # Whoever always says the same label cannot have more right.
            "majority": float((targets[which] == labels.argmax()).mean()),
        }
        for test, which in (("full", np.ones(len(targets), dtype=bool)), ("clean", is_clean))
    }


def scores(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, object]]:
    """Returns the accuracies on either test: by seed, their mean, spread, and who collapsed."""
    return {test: seed_scores(table["right"], table["majority"]) for test, table in tables.items()}


def seed_scores(right_SN: Right, majority: float) -> dict[str, object]:
    """Returns the accuracy of each seed, and what they come to."""
    by_seed = right_SN.mean(axis=1)
    found = crossed_share(right_SN)
    return {
        "by_seed": by_seed.tolist(),
        "mean": found.mean,
        "low": found.low,
        "high": found.high,
        "deviation": float(by_seed.std(ddof=1)) if len(by_seed) > 1 else None,
        "least": float(by_seed.min()),
        "majority": majority,
        "num_collapsed": int((by_seed < majority + MARGIN).sum()),
        "num_items": right_SN.shape[1],
    }


def differences(
    ours: Mapping[str, Mapping[str, Any]], naive: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, object]]:
    """Returns ours minus the naive one on the same draws and items."""
    return [
        asdict(
            paired_difference(
                Pairing(of="default", to="naive", size=NUM_LABELS, test=test),
                ours[test]["right"],
                naive[test]["right"],
            )
        )
        for test in ("full", "clean")
    ]


def settings_json(settings: TransferSettings) -> dict[str, object]:
    """Returns how a system learned."""
    return {
        "epochs": settings.epochs,
        "fewest_steps": settings.fewest_steps,
        "examples_per_step": settings.examples_per_step,
        "peak_rate": settings.learning.peak_rate,
        "warm_up_share": settings.learning.warm_up_share,
        "schedule": settings.learning.schedule,
        "layer_decay": settings.transfer.layer_decay,
        "patience": settings.transfer.patience,
        "fits_head": settings.transfer.fits_head,
        "num_averaged": settings.transfer.num_averaged,
    }


if __name__ == "__main__":
    main()
