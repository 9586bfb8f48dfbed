"""The command `compare`: was pretraining worth it? Warm, cold, frozen, TF-IDF and majority."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from headstart.apps.cli.check import ColumnOptions, column_options
from headstart.apps.cli.compared_pairs import Asked as AskedOfPairs
from headstart.apps.cli.compared_pairs import ComparedPairs, compare_pairs, compared_pair_options
from headstart.apps.cli.comparison_end import Results, show_comparison
from headstart.apps.cli.example_files import absolute
from headstart.apps.cli.options import THREADS, json_option, packed
from headstart.apps.cli.output import print_json
from headstart.apps.cli.pretrain import FOLDER
from headstart.apps.cli.pretrain import absolute as absolute_files
from headstart.apps.cli.run_type import RUN_TYPE
from headstart.apps.cli.stopping import exit_if_stopped, stopping
from headstart.apps.cli.sweep_progress import shown_jobs
from headstart.apps.cli.training_progress import watched
from headstart.apps.cli.values import (
    COUNT_TYPE,
    POSITIVE_TYPE,
    SHARE_TYPE,
    SIZE_TYPE,
    AtMost,
    Whole,
)
from headstart.locks import locked
from headstart.models.config import MOST
from headstart.models.heads.config import Pooling
from headstart.transfers.config import LongTexts
from headstart.transfers.sweep import MOST_TIMES_ITS_RATE, USUAL_KINDS, Kind

if TYPE_CHECKING:
    from headstart.pipeline.comparing.config import Comparison
    from headstart.reports.table import Table

EXAMPLES = """\b
Examples:
  headstart compare --from film-en --train train.csv --test test.csv --out compared
  headstart compare --from runs/fr --train train.csv --valid valid.csv --test test.csv \\
    --sizes 100,400,1600 --seeds 3 --minutes 30 --out compared
  headstart compare --from runs/a --from runs/b --systems warm,gradual,tfidf --out compared \\
    --train train.csv --test test.csv --length 512
  headstart compare --from runs/fr --source train.fr --target train.en --test-source test.fr \\
    --test-target test.en --seeds 3 --out compared
  headstart compare --out compared --redraw
"""


# With few labels epochs are short, and looking at more after each would take most of the time.
NUM_VALID = 400
SYSTEMS_OWN = "[default: the system's]"


class Several(click.ParamType[tuple[Any, ...]]):
    """Values of one type with commas between them."""

    name = "list"

    def __init__(self, kind: click.ParamType[Any]) -> None:
        self.kind = kind

    def convert(
        self, value: str | tuple[Any, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Any, ...]:
        """Returns the values, or fails with a sentence for the first that is none."""
        if isinstance(value, tuple):
            return value
        return tuple(self.kind.convert(part.strip(), param, ctx) for part in value.split(","))


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is compared on what."""

    starts: tuple[Path, ...]
    train: str | None
    valid: str | None
    test: str | None
    text_column: str | None
    skip_bad: bool


@dataclass(frozen=True, kw_only=True)
class Extent:
    """How much is done for it, and where."""

    sizes: tuple[int, ...] | None
    num_seeds: int
    minutes: float | None
    rates: tuple[float, ...]
    device: str
    num_threads: int | None
    num_workers: int | None


@dataclass(frozen=True, kw_only=True)
class Rivals:
    """Which systems are compared, and how their networks read and learn."""

    systems: tuple[Kind, ...]
    unlabelled: tuple[str, ...]
    epochs: int | None
    fewest_steps: int | None
    length: int | None
    long_texts: LongTexts | None
    pooling: Pooling | None
    dropout: float | None
    warm_up: float | None


asked_options = packed(
    "asked",
    Asked,
    click.option(
        "--from",
        "starts",
        type=RUN_TYPE,
        multiple=True,
        help="A run or a trunk in the box; may be given several times.",
    ),
    click.option("--train", help="Examples to learn from: a table, or TEXT,LABELS."),
    click.option(
        "--valid",
        help=f"Examples to choose by, {NUM_VALID} at most.  [default: part of the training ones]",
    ),
    click.option("--test", help="Examples to score on."),
    click.option("--text-column", help="The column of a table that holds the text."),
    click.option("--skip-bad", is_flag=True, help="Skip what cannot be read, and count it."),
)
extent_options = packed(
    "extent",
    Extent,
    click.option(
        "--sizes",
        type=Several(COUNT_TYPE),
        help="Numbers of labels, such as 100,400,1600.  [default: doubling from 100 to all]",
    ),
    click.option(
        "--seeds",
        "num_seeds",
        type=Whole(1, 1_000),
        default=5,
        show_default=True,
        help="How often each job is done, from other draws.",
    ),
    click.option(
        "--minutes",
        type=POSITIVE_TYPE,
        help="Leave out seeds, down to two, to take about so long; of translators: the learning of "
        "all jobs together.",
    ),
    click.option(
        "--rates",
        type=Several(AtMost(MOST_TIMES_ITS_RATE)),
        default=(),
        help="Multiples of each system's rate to choose from on validation, such as 0.3,1,3.",
    ),
    click.option("--device", default="auto", show_default=True, help="cpu, cuda, or auto."),
    click.option(
        "--threads", "num_threads", type=THREADS, help="Threads of a job.  [default: 1 on a cpu]"
    ),
    click.option(
        "--workers",
        "num_workers",
        type=Whole(1, 1_024),
        help="Jobs at once.  [default: by cores, at most 8; 1 on a GPU]",
    ),
)


rival_options = packed(
    "rivals",
    Rivals,
    click.option(
        "--systems",
        type=Several(click.Choice(get_args(Kind))),
        default=",".join(USUAL_KINDS),
        show_default=True,
        help=f"What is compared: warm, and any of {', '.join(get_args(Kind)[1:])}.",
    ),
    click.option(
        "--unlabelled",
        multiple=True,
        help="Texts without labels, as a corpus, for a system taught beside the others.",
    ),
    click.option(
        "--epochs", type=SIZE_TYPE, help=f"Times all is read, but by taught.  {SYSTEMS_OWN}"
    ),
    click.option(
        "--fewest-steps",
        type=Whole(0, MOST),
        help=f"More epochs where they would come to fewer steps.  {SYSTEMS_OWN}",
    ),
    click.option("--length", type=COUNT_TYPE, help="Pieces read at once.  [default: the trunk's]"),
    click.option(
        "--long-texts",
        type=click.Choice(get_args(LongTexts)),
        help="Cut what is longer, or read it in windows.  [default: cut]",
    ),
    click.option(
        "--pooling",
        type=click.Choice(get_args(Pooling)),
        help="The vector of a text.  [default: what suits the trunk's objective]",
    ),
    click.option(
        "--dropout",
        type=SHARE_TYPE,
        help=f"Share of values to drop, but by frozen.  {SYSTEMS_OWN}",
    ),
    click.option(
        "--warm-up",
        type=SHARE_TYPE,
        help=f"Share of the steps in which rates rise.  {SYSTEMS_OWN}",
    ),
)


@click.command(epilog=EXAMPLES)
@asked_options
@column_options
@rival_options
@extent_options
@compared_pair_options
@click.option("--out", type=FOLDER, required=True, help="Folder for jobs, results and report.")
@click.option("--redraw", is_flag=True, help="Draw the report again from results.json alone.")
@json_option
def compare(
    asked: Asked,
    columns: ColumnOptions,
    rivals: Rivals,
    extent: Extent,
    pairs: ComparedPairs,
    out: Path,
    redraw: bool,
    as_json: bool,
) -> None:
    """Find out whether pretraining was worth it, and how sure that is.

    The trunk is fine-tuned warm, cold and frozen, beside TF-IDF with logistic regression and the
    majority, with the same labels, seeds and budget. Each job is a run in OUT/jobs; a comparison
    that was stopped or killed is gone on with by the same command.

    With --source and --target translators are compared: warm against cold, by BLEU on the test.
    """
    if redraw:
        show_redrawn(out, as_json=as_json)
        return
    if pairs.are_given:
        compare_pairs(asked_of_pairs(asked, rivals, extent), pairs, out, as_json=as_json)
        return
    require_question(asked, pairs)
    # Before torch is imported: whoever comes second is turned away at once.
    with locked(out), stopping() as signals, watched(signals) as watch, shown_jobs() as show:
        from headstart.pipeline.compare import run_comparison

        results = run_comparison(to_comparison(asked, columns, rivals, extent), out, watch, show)
    show_comparison(out, results, described, as_json=as_json)
    exit_if_stopped(signals)


def asked_of_pairs(asked: Asked, rivals: Rivals, extent: Extent) -> AskedOfPairs:
    """Returns what is asked about translators, or fails for what only classifiers have."""
    from headstart.pipeline.planning import Place
    from headstart.pipeline.this_machine import choose_device

    of_examples = {
        "--train": asked.train,
        "--valid": asked.valid,
        "--test": asked.test,
        "--text-column": asked.text_column,
        "--systems": None if rivals.systems == USUAL_KINDS else rivals.systems,
        "--unlabelled": rivals.unlabelled or None,
        "--epochs": rivals.epochs,
        "--fewest-steps": rivals.fewest_steps,
        "--length": rivals.length,
        "--long-texts": rivals.long_texts,
        "--pooling": rivals.pooling,
        "--dropout": rivals.dropout,
        "--warm-up": rivals.warm_up,
        "--sizes": extent.sizes,
        "--rates": extent.rates or None,
        "--workers": extent.num_workers,
    }
    if idle := [name for name, value in of_examples.items() if value is not None]:
        raise click.UsageError(
            f"{idle[0]!r} is about examples with labels, but translators learn from pairs. Leave "
            "it out, or leave out '--source' and '--target'."
        )
    return AskedOfPairs(
        starts=asked.starts,
        num_seeds=extent.num_seeds,
        minutes=extent.minutes,
        place=Place(device=choose_device(extent.device), num_threads=extent.num_threads),
        skip_bad=asked.skip_bad,
    )


def require_question(asked: Asked, pairs: ComparedPairs) -> None:
    """Fails where something to compare is missing, or where there is what translators need."""
    if pairs.num_steps is not None:
        raise click.UsageError(
            "'--steps' is about translators, which learn from '--source' and '--target'. Leave it "
            "out, or say how long classifiers learn with '--epochs'."
        )
    given = {"--from": asked.starts, "--train": asked.train, "--test": asked.test}
    if missing := [name for name, value in given.items() if not value]:
        raise click.UsageError(f"Missing option {missing[0]!r}")


def to_comparison(
    asked: Asked, columns: ColumnOptions, rivals: Rivals, extent: Extent
) -> Comparison:
    """Returns what the options mean."""
    from headstart.pipeline.comparing.config import ComparedSettings, Comparison, SaidOfAll
    from headstart.pipeline.examples import ExamplesConfig
    from headstart.pipeline.planning import Place
    from headstart.pipeline.this_machine import choose_device

    assert asked.train is not None
    assert asked.test is not None
    return Comparison(
        starts=asked.starts,
        examples=ExamplesConfig(
            train=absolute(asked.train),
            valid=None if asked.valid is None else absolute(asked.valid),
            test=absolute(asked.test),
            text_column=asked.text_column,
            label_column=columns.label_column,
            group_column=columns.group,
            num_valid=NUM_VALID,
            skips_bad=asked.skip_bad,
        ),
        place=Place(device=choose_device(extent.device), num_threads=extent.num_threads),
        sizes=extent.sizes,
        num_seeds=extent.num_seeds,
        minutes=extent.minutes,
        rates=extent.rates,
        systems=rivals.systems,
        unlabelled=absolute_files(rivals.unlabelled) if rivals.unlabelled else (),
        settings=ComparedSettings().for_all(
            SaidOfAll(
                epochs=rivals.epochs,
                fewest_steps=rivals.fewest_steps,
                length=rivals.length,
                long_texts=rivals.long_texts,
                pooling=rivals.pooling,
                dropout=rivals.dropout,
                warm_up=rivals.warm_up,
            )
        ),
        num_workers=extent.num_workers,
        command=shlex.join(["headstart", *sys.argv[1:]]),
    )


def described(results: Results) -> tuple[Iterable[Table], Iterable[str]]:
    """Returns the tables of a comparison, and its verdict line by line."""
    from headstart.reports.comparison_tables import comparison_tables, verdict_lines

    return comparison_tables(results), verdict_lines(results)


def show_redrawn(folder: Path, *, as_json: bool) -> None:
    """Draws a report again, and says where it is."""
    from headstart.files import read_json
    from headstart.pipeline.comparing.report import redraw_report
    from headstart.pipeline.run_files import RESULTS_FILE
    from headstart.pipeline.translating.translator_report import (
        is_of_translators,
        write_translator_report,
    )

    results = read_json(folder / RESULTS_FILE)
    if is_of_translators(results):
        assert isinstance(results, dict)
        paths = [write_translator_report(results, folder)]
    else:
        paths = redraw_report(folder)
    if as_json:
        print_json({"written": [str(path) for path in paths]})
        return
    for path in paths:
        click.echo(f"Wrote {path}")
