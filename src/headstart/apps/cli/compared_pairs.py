"""What `compare` asks where translators are compared: pairs instead of examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headstart.apps.cli.comparison_end import Results, show_comparison
from headstart.apps.cli.options import packed
from headstart.apps.cli.pair_test import translations
from headstart.apps.cli.stopping import Stopping, exit_if_stopped, stopping
from headstart.apps.cli.training_progress import watched
from headstart.apps.cli.values import COUNT_TYPE
from headstart.locks import locked

if TYPE_CHECKING:
    from headstart.pipeline.planning import Budget, Place
    from headstart.pipeline.translating.translator_jobs import TranslatorQuestion
    from headstart.pipeline.watch import Watch
    from headstart.reports.table import Table

FILE = click.Path(path_type=Path)


@dataclass(frozen=True, kw_only=True)
class ComparedPairs:
    """The pairs of a comparison of translators, and the steps of each of its jobs."""

    source: Path | None
    target: Path | None
    valid_source: Path | None
    valid_target: Path | None
    test_source: Path | None
    test_target: Path | None
    num_steps: int | None

    @property
    def are_given(self) -> bool:
        """Whether translators are asked about at all."""
        named = asdict(self) | {"num_steps": None}
        return any(value is not None for value in named.values())


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is compared on those pairs, and how much is done for it."""

    starts: tuple[Path, ...]
    num_seeds: int
    minutes: float | None
    place: Place
    skip_bad: bool


compared_pair_options = packed(
    "pairs",
    ComparedPairs,
    click.option("--source", type=FILE, help="For translators: texts to learn from, one a line."),
    click.option("--target", type=FILE, help="Their translations, line by line."),
    click.option("--valid-source", type=FILE, help="Texts to choose by.  [default: some pairs]"),
    click.option("--valid-target", type=FILE, help="Their translations."),
    click.option("--test-source", type=FILE, help="Texts to score on."),
    click.option("--test-target", type=FILE, help="Their true translations."),
    click.option(
        "--steps", "num_steps", type=COUNT_TYPE, help="Steps of each translator, for all alike."
    ),
)


def compare_pairs(asked: Asked, pairs: ComparedPairs, out: Path, *, as_json: bool) -> None:
    """Trains translators warm and cold from each seed, and shows how far apart they are."""
    with working(out) as (signals, watch):
        from headstart.corpora.compression import Meter
        from headstart.corpora.documents import Reading
        from headstart.corpora.places import Complaints
        from headstart.pipeline.compare_translators import compare_translators
        from headstart.pipeline.evaluate_translation import PairTest, read_test_pairs
        from headstart.pipeline.translating.pair_copies import are_copied
        from headstart.pipeline.translating.translator_jobs import keep_question, worker
        from headstart.pipeline.translating.translator_report import write_translator_report

        question = to_question(asked, pairs)
        reading = Reading(meter=Meter(), complaints=Complaints(skips_bad=asked.skip_bad))
        test = read_test_pairs(
            PairTest(source=pairs.test_source, target=pairs.test_target), reading
        )
        keep_question(out, question)
        work = worker(
            out,
            question,
            [pair.source for pair in test],
            lambda run, sources: translations(run, sources, None),
            watch,
        )
        num_copied = sum(are_copied(question.pairs, test))
        results = compare_translators(out, asked.num_seeds, test, work, num_copied)
        if results is not None:
            write_translator_report(results, out)
    show_comparison(out, results, described, as_json=as_json)
    exit_if_stopped(signals)


@contextmanager
def working(out: Path) -> Iterator[tuple[Stopping, Watch]]:
    """Locks a folder before torch is imported, and yields who may stop the work and who watches."""
    with locked(out), stopping() as signals, watched(signals) as watch:
        yield signals, watch


def to_question(asked: Asked, pairs: ComparedPairs) -> TranslatorQuestion:
    """Returns what the options mean, or fails where something is missing."""
    from headstart.apps.recipes.small import small
    from headstart.pipeline.run_files import read_start_recipe, require_finished
    from headstart.pipeline.translating.paired_recipe import paired
    from headstart.pipeline.translating.pairs import PairsConfig
    from headstart.pipeline.translating.translator_jobs import TranslatorQuestion

    if len(asked.starts) != 1:
        raise click.UsageError(
            f"Translators are compared for one '--from', but {len(asked.starts)} were given."
        )
    given = {
        "--source": pairs.source,
        "--target": pairs.target,
        "--test-source": pairs.test_source,
        "--test-target": pairs.test_target,
    }
    if missing := [name for name, value in given.items() if value is None]:
        raise click.UsageError(f"Missing option {missing[0]!r}.")
    start = asked.starts[0].resolve()
    recipe = paired(read_start_recipe(start), small())
    require_finished(start)
    return TranslatorQuestion(
        start=start,
        recipe=recipe,
        pairs=PairsConfig(
            source=whole_name(pairs.source) or "",
            target=whole_name(pairs.target) or "",
            valid_source=whole_name(pairs.valid_source),
            valid_target=whole_name(pairs.valid_target),
            skips_bad=asked.skip_bad,
        ),
        budget=budget_of(asked, pairs),
        place=asked.place,
        num_seeds=asked.num_seeds,
    )


def budget_of(asked: Asked, pairs: ComparedPairs) -> Budget:
    """Returns what one job may take; minutes are those of all jobs together."""
    from headstart.pipeline.compare_translators import SYSTEMS
    from headstart.pipeline.planning import Budget

    minutes = asked.minutes
    if minutes is not None:
        minutes /= len(SYSTEMS) * asked.num_seeds
    return Budget(minutes=minutes, num_steps=pairs.num_steps)


def whole_name(path: Path | None) -> str | None:
    """Returns where a file is, wherever a job is gone on with."""
    return None if path is None else str(path.resolve())


def described(results: Results) -> tuple[Iterable[Table], Iterable[str]]:
    """Returns the tables of a comparison, and its verdict line by line."""
    from headstart.reports.translator_comparison_tables import comparison_tables, verdict_lines

    return comparison_tables(results), verdict_lines(results)
