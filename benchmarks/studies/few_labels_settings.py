"""Is it better to fit the head first, and to average epochs? Asked of no test.

film-en learns from 20 draws of 200 training texts of `rotten`, in four ways: with a fitted or a
drawn head, with the three best epochs averaged or the best one alone. Each is scored on the half of
the training texts that none of them learns from or chooses by, so that what `few_labels.py` holds
against the test can be chosen without having seen it.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from few_labels import (
    DATA_SET,
    NUM_LABELS,
    NUM_SEEDS,
    TRUNK,
    read_tables,
    seed_scores,
    settings_json,
    trials_of,
)
from study import Study, options_of

from headstart.corpora.documents import Reading
from headstart.corpora.examples import ExampleColumns, read_examples
from headstart.corpora.named import get
from headstart.corpora.splitting import split
from headstart.pipeline.check import write_split
from headstart.transfers.difference import Pairing, paired_difference
from headstart.transfers.settings import WARM, TransferSettings

ASKED = "Is it better to fit the head first, and to average epochs, judged by no test?"
SPLIT_SEED = 0
# Nor do the training texts and the test speak of the same film.
FILM = "group"


def main() -> None:
    options = options_of("few-labels-settings", __doc__)
    study = Study("few-labels-settings", ASKED, options)
    num_seeds = study.seeds(NUM_SEEDS)
    study.commands.append(f"python benchmarks/studies/few_labels_settings.py --seeds {num_seeds}")
    files = get(DATA_SET).paths
    learned, unseen = halves(files["train.csv"], options.work)
    trials = trials_of(options, num_seeds, train=learned, valid=files["valid.csv"], test=unseen)
    trials.finish(WAYS, num_seeds)
    tables = {name: read_tables(trials, name)["full"] for name in WAYS}
    default, *others = WAYS
    study.keep_answer(
        {
            "trunk": TRUNK,
            "data_set": DATA_SET,
            "num_labels": NUM_LABELS,
            "num_seeds": num_seeds,
            "ways": {
                name: {"settings": settings_json(WAYS[name])}
                | seed_scores(table["right"], table["majority"])
                for name, table in tables.items()
            },
            "differences": [
                asdict(
                    paired_difference(
                        Pairing(of=default, to=name, size=NUM_LABELS, test="full"),
                        tables[default]["right"],
                        tables[name]["right"],
                    )
                )
                for name in others
            ],
        }
    )


def halves(train: Path, work: Path) -> tuple[Path, Path]:
    """Writes the training examples as two tables with no film in common, and returns both."""
    work.mkdir(parents=True, exist_ok=True)
    examples = read_examples(str(train), Reading.plain(), ExampleColumns(group=FILM))
    parts = split(examples, {"learned": 0.5, "unseen": 0.5}, SPLIT_SEED)
    learned, unseen = (write_split(work / f"{name}.csv", part) for name, part in parts.items())
    return learned, unseen


def way(*, fits_head: bool, num_averaged: int) -> TransferSettings:
    """Returns the default with a head that is fitted or drawn, and so many epochs averaged."""
    changed = replace(WARM.transfer, fits_head=fits_head, num_averaged=num_averaged)
    return replace(WARM, transfer=changed)


# The default first.
WAYS: Mapping[str, TransferSettings] = {
    "fitted head, three epochs": way(fits_head=True, num_averaged=3),
    "fitted head, one epoch": way(fits_head=True, num_averaged=1),
    "drawn head, three epochs": way(fits_head=False, num_averaged=3),
    "drawn head, one epoch": way(fits_head=False, num_averaged=1),
}


if __name__ == "__main__":
    main()
