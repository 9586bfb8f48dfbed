"""The command `demo`: is pretraining worth it? The whole answer in minutes, on real text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headstart.apps.cli.data import announce
from headstart.apps.cli.options import Workplace, json_option, workplace_options
from headstart.apps.cli.output import print_json, print_tables
from headstart.apps.cli.pretrain import FOLDER
from headstart.apps.cli.stopping import exit_if_stopped, stopping
from headstart.apps.cli.sweep_progress import shown_jobs
from headstart.apps.cli.training_progress import watched
from headstart.apps.recipes.compact import compact
from headstart.apps.trunks.finding import find_run
from headstart.files import locked

if TYPE_CHECKING:
    from headstart.pipeline.demo import Demo, Shown

EXAMPLES = """\b
Examples:
  headstart demo
  headstart demo --adapt
  headstart demo --offline
"""
TRUNK = "film-en"


@click.command(epilog=EXAMPLES, short_help="See the whole story on real text in minutes.")
@click.option("--out", type=FOLDER, default="runs/demo", show_default=True, help="Its folder.")
@click.option("--adapt", is_flag=True, help="Also pretrain the trunk for a minute on the snippets.")
@click.option("--offline", is_flag=True, help="Use generated text; nothing is fetched.")
@workplace_options
@json_option
def demo(out: Path, adapt: bool, offline: bool, workplace: Workplace, as_json: bool) -> None:
    """See the whole story in minutes: was pretraining worth it?

    Snippets of film reviews, split by film, are learned from 250 and from 1,000 labels by the trunk
    in the box (film-en), by the same network from nothing, by its head alone and by TF-IDF, three
    seeds each; then come the verdict and a report. It can be stopped at any time: the same command
    goes on where it was, and skips what is finished.
    """
    with locked(out), stopping() as asked, watched(asked) as watch, shown_jobs() as show:
        from headstart.pipeline.demo import GENERATED_NOTE
        from headstart.pipeline.demo import demo as run

        if offline:
            watch.say(GENERATED_NOTE)
        shown = run(wanted(adapt, offline, workplace), out, watch, show)
    if shown is None:
        click.echo("Stopped; nothing is lost. The same command goes on.", err=True)
    else:
        tell(shown, out, is_offline=offline, as_json=as_json)
    exit_if_stopped(asked)


def wanted(adapt: bool, offline: bool, workplace: Workplace) -> Demo:
    """Returns what the options mean."""
    from headstart.pipeline.demo import Demo
    from headstart.pipeline.planning import Place
    from headstart.pipeline.this_machine import choose_device

    flags = [name for name, is_set in (("--adapt", adapt), ("--offline", offline)) if is_set]
    return Demo(
        trunk=find_run(TRUNK),
        recipe=compact(),
        place=Place(
            device=choose_device(workplace.device),
            num_threads=workplace.num_threads,
            seed=workplace.seed,
        ),
        is_adapted=adapt,
        is_offline=offline,
        before_fetch=announce,
        command=" ".join(["headstart", "demo", *flags]),
    )


def tell(shown: Shown, out: Path, *, is_offline: bool, as_json: bool) -> None:
    """Prints the verdict, where the report is, and what to try next."""
    from headstart.pipeline.comparing.report import REPORT_NAME
    from headstart.reports.comparison_tables import comparison_tables, verdict_lines

    report = out / REPORT_NAME
    if as_json:
        print_json(
            {
                "verdict": shown.results["verdict"],
                "report": str(report),
                "next": [one.command for one in shown.nexts],
                "is_generated": is_offline,
            }
        )
        return
    print_tables(comparison_tables(shown.results))
    for line in verdict_lines(shown.results):
        click.echo(line)
    click.echo(f"\nReport: {report} (open it in a browser)\n\nTry next:")
    for one in shown.nexts:
        click.echo(f"  # {one.what}\n  {one.command}")
