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
    NUM_VALID,
    TRUNK,
    Trials,
    read_tables,
    seed_scores,
    settings_json,
)
from study import Study, options_of

from headstart.apps.trunks.finding import find_run
from headstart.corpora.documents import Reading
from headstart.corpora.examples import ExampleColumns, read_examples
from headstart.corpora.named import get
from headstart.corpora.splitting import split
from headstart.pipeline.check import write_split
from headstart.pipeline.examples import ExamplesConfig
from headstart.pipeline.run_files import read_recipe
from headstart.transfers.difference import Pairing, paired_difference
from headstart.transfers.settings import WARM, TransferSettings

ASKED = "Is it better to fit the head first, and to average epochs, judged by no test?"
SPLIT_SEED = 0
# Nor do the training texts and the test speak of the same film.
FILM = "group"


NUM_AVERAGED = {"three": 3, "one": 1}
HEADS = {"fitted": True, "drawn": False}


def main() -> None:
    options = options_of("few-labels-settings", __doc__)
    study = Study("few-labels-settings", ASKED, options)
    num_seeds = study.seeds(NUM_SEEDS)
    study.commands.append(f"python benchmarks/studies/few_labels_settings.py --seeds {num_seeds}")
    start, files = find_run(TRUNK), get(DATA_SET).paths
    learned, unseen = halves(files["train.csv"], options.work)
    trials = Trials(
        options=options,
        start=start,
        recipe=read_recipe(start),
        examples=ExamplesConfig(
            train=str(learned),
            valid=str(files["valid.csv"]),
            test=str(unseen),
            size=NUM_LABELS,
            num_valid=NUM_VALID,
        ),
        num_seeds=num_seeds,
    )
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


def way(head: str, epochs: str) -> TransferSettings:
    """Returns the default with such a head, and so many of its best epochs averaged."""
    changed = replace(WARM.transfer, fits_head=HEADS[head], num_averaged=NUM_AVERAGED[epochs])
    return replace(WARM, transfer=changed)


# The default first.
WAYS: Mapping[str, TransferSettings] = {
    f"{head} head, {epochs} epoch{'s' if epochs == 'three' else ''}": way(head, epochs)
    for head in HEADS
    for epochs in NUM_AVERAGED
}


if __name__ == "__main__":
    main()
