"""The command `demo`: is pretraining worth it? The whole answer in minutes, on real text."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headstart.apps.cli.data import announce
from headstart.apps.cli.options import json_option
from headstart.apps.cli.output import print_json, print_tables
from headstart.apps.cli.pretrain import FOLDER
from headstart.apps.cli.stopping import exit_if_stopped, stopping
from headstart.apps.cli.sweep_progress import shown_jobs
from headstart.apps.cli.training_progress import watched
from headstart.apps.cli.using import Place, place_options
from headstart.apps.recipes.compact import compact
from headstart.apps.trunks.finding import find_run
from headstart.locks import locked

if TYPE_CHECKING:
    from headstart.pipeline.demo import Demo, Shown

EXAMPLES = """\b
Examples:
  headstart demo
  headstart demo --adapt
  headstart demo --offline
"""
TRUNK = "film-en"
OUT, OUT_OFFLINE = Path("runs/demo"), Path("runs/demo-offline")


@click.command(epilog=EXAMPLES)
@click.option(
    "--out", type=FOLDER, help=f"Its folder.  [default: {OUT}, or {OUT_OFFLINE} with --offline]"
)
@click.option("--adapt", is_flag=True, help="Also pretrain the trunk for a minute on the snippets.")
@click.option("--offline", is_flag=True, help="Use generated text; nothing is fetched.")
@place_options
@json_option
def demo(out: Path | None, adapt: bool, offline: bool, place: Place, as_json: bool) -> None:
    """See the whole story in minutes: was pretraining worth it?

    Snippets of film reviews, split by film, are learned from 250 and from 1,000 labels by the trunk
    in the box (film-en), by the same network from nothing, by its head alone and by TF-IDF, three
    seeds each; then come the verdict and a report. It can be stopped at any time: the same command
    goes on where it was, and skips what is finished.
    """
    # Made-up text must not take the place of what real text has shown.
    out = out or (OUT_OFFLINE if offline else OUT)
    with locked(out), stopping() as asked, watched(asked) as watch, shown_jobs() as show:
        from headstart.pipeline.demo import GENERATED_NOTE
        from headstart.pipeline.demo import demo as run

        if offline:
            watch.say(GENERATED_NOTE)
        shown = run(wanted(adapt, offline, place), out, watch, show)
    if shown is None:
        click.echo("Stopped; nothing is lost. The same command goes on.", err=True)
    else:
        tell(shown, out, is_offline=offline, as_json=as_json)
    exit_if_stopped(asked)


def wanted(adapt: bool, offline: bool, place: Place) -> Demo:
    """Returns what the options mean."""
    from headstart.pipeline.demo import Demo
    from headstart.pipeline.planning import Place as Workplace
    from headstart.pipeline.this_machine import choose_device

    return Demo(
        trunk=find_run(TRUNK),
        recipe=compact(),
        place=Workplace(device=choose_device(place.device), num_threads=place.num_threads),
        is_adapted=adapt,
        is_offline=offline,
        before_fetch=announce,
        command=shlex.join(["headstart", *sys.argv[1:]]),
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
    if (activate := unused_environment()) is not None:
        click.echo(f"  # Bring the command `headstart` first\n  . {shlex.quote(str(activate))}")
    for one in shown.nexts:
        click.echo(f"  # {one.what}\n  {one.command}")


def unused_environment() -> Path | None:
    """Returns what activates the environment of this command, where a shell would not find it."""
    activate = Path(sys.argv[0]).with_name("activate")
    return activate if shutil.which("headstart") is None and activate.exists() else None
