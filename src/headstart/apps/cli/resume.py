"""The command `resume`: go on with a run that was stopped, killed or cut off."""

from pathlib import Path

import click

from headstart.apps.cli.options import THREADS, json_option
from headstart.apps.cli.pretrain import FOLDER
from headstart.apps.cli.run_end import show_end
from headstart.apps.cli.stopping import exit_if_stopped, stopping
from headstart.apps.cli.training_options import save_option
from headstart.apps.cli.training_progress import watched
from headstart.errors import RunError
from headstart.locks import locked

EXAMPLES = """\b
Examples:
  headstart resume runs/reviews
"""


@click.command(epilog=EXAMPLES)
@click.argument("run", type=FOLDER)
@save_option
@click.option("--device", help="Another device than before.")
@click.option("--threads", "num_threads", type=THREADS, help="Other threads than before.")
@click.option("--force", is_flag=True, help="Go on although text or tokenizer changed.")
@json_option
def resume(
    run: Path,
    save_every: int | None,
    device: str | None,
    num_threads: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Go on with a run from its last checkpoint, as if nothing had happened.

    A run that was killed comes out bit for bit as it would have without the kill, with the same
    threads and versions, and on a GPU with --deterministic.
    """
    if not run.is_dir():
        raise RunError(f"There is no folder {run}. Name the folder of a run.")
    # Before torch is imported: whoever comes second is turned away at once.
    with locked(run), stopping() as asked, watched(asked) as watch:
        from headstart.pipeline.resume import resume as go_on
        from headstart.pipeline.resumption import Resumption

        wanted = Resumption(
            device=device, num_threads=num_threads, save_every=save_every, is_forced=force
        )
        is_finished = go_on(run, wanted, watch)
    show_end(run, is_finished=is_finished, as_json=as_json)
    exit_if_stopped(asked)
