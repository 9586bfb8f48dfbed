"""What `evaluate` asks of a translator: the pairs of a test, and another run to hold it against."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headstart.apps.cli.options import packed
from headstart.apps.cli.output import print_json, print_tables
from headstart.apps.cli.progress import shown_progress
from headstart.apps.cli.reading import ReadingOptions, echo_complaints
from headstart.apps.cli.run_type import RUN_TYPE
from headstart.apps.cli.using import Place, prepared_device
from headstart.apps.cli.values import BEAM_TYPE
from headstart.errors import RunError

if TYPE_CHECKING:
    from headstart.pipeline.run_folder import Run

FILE = click.Path(path_type=Path)


@dataclass(frozen=True, kw_only=True)
class PairOptions:
    """The pairs on which a translator is scored, and how it translates them."""

    source: Path | None
    target: Path | None
    against: Path | None
    beam: int | None


pair_test_options = packed(
    "pairs",
    PairOptions,
    click.option("--source", type=FILE, help="For a translator: texts to translate, one a line."),
    click.option("--target", type=FILE, help="Their true translations, line by line."),
    click.option("--against", type=RUN_TYPE, help="Another translator to be held against."),
    click.option(
        "--beam",
        type=BEAM_TYPE,
        help="Beginnings that a translator keeps; 1 is greedy.  [default: 4]",
    ),
)


def refuse_pairs(run: Path, pairs: PairOptions) -> None:
    """Fails where options of a translator were given for a run that is none."""
    if idle := [f"--{name}" for name, value in asdict(pairs).items() if value is not None]:
        raise RunError(
            f"{run} is no translator and has no use for {', '.join(idle)}. Leave that out, and "
            "name what it is scored on with --test."
        )


def show_translation(
    run: Path,
    test: tuple[str, ...],
    pairs: PairOptions,
    place: Place,
    reading: ReadingOptions,
    as_json: bool,
) -> None:
    """Scores a translator, alone or against another, and shows what it is worth."""
    from headstart.pipeline.evaluate_translation import (
        PairTest,
        evaluate_translation,
        read_test_pairs,
    )
    from headstart.pipeline.translate import load_translator

    files = PairTest(source=pairs.source, target=pairs.target, tables=tuple(map(Path, test)))
    read = reading.start()
    true_pairs = read_test_pairs(files, read)
    echo_complaints(read)
    device = prepared_device(place.device, place.num_threads)
    loaded = load_translator(run, device)
    sources = [pair.source for pair in true_pairs]
    others = None
    if pairs.against is not None:
        others = translations(load_translator(pairs.against, device), sources, pairs.beam)
    found = evaluate_translation(
        loaded, true_pairs, translations(loaded, sources, pairs.beam), others
    )
    if as_json:
        against = None if pairs.against is None else str(pairs.against)
        print_json({"run": str(run), "other": against, **asdict(found)})
        return
    from headstart.reports.translation_tables import translation_tables

    print_tables(translation_tables(run, asdict(found), pairs.against))


def translations(run: Run, sources: list[str], beam: int | None) -> list[str]:
    """Returns a run's translations of all texts, and shows how far it is."""
    from headstart.pipeline.translate import translate_texts
    from headstart.pipeline.translating.translation_settings import TranslationSettings

    how = TranslationSettings() if beam is None else TranslationSettings(beam=beam)
    with shown_progress(f"Translating with {run.folder}", len(sources)) as advance:
        return [one.text for one in translate_texts(run, sources, how, advance)]
