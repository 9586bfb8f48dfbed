"""Options that every command has which trains for a budget, written once."""

from typing import get_args

import click

from headstart.apps.cli.values import COUNT_TYPE, POSITIVE_TYPE, RATE_TYPE, SHARE_TYPE, Count
from headstart.training.config import MOST_PARTS, ScheduleKind

RECIPES_OWN = "[default: the recipe's]"

minutes_option = click.option(
    "--minutes", type=POSITIVE_TYPE, help="Budget in minutes, once it learns.  [default: 10]"
)
steps_option = click.option("--steps", "num_steps", type=COUNT_TYPE, help="Budget in steps.")
tensorboard_option = click.option(
    "--tensorboard", is_flag=True, help="Write TensorBoard files too."
)
deterministic_option = click.option(
    "--deterministic", is_flag=True, help="The same bits on a GPU too; slower."
)
compile_option = click.option(
    "--compile/--no-compile",
    "is_compiled",
    default=None,
    help="Compile the layers first.  [default: tried where there are minutes enough]",
)
rate_option = click.option(
    "--rate", type=RATE_TYPE, help=f"The highest learning rate.  {RECIPES_OWN}"
)
schedule_option = click.option(
    "--schedule",
    type=click.Choice(get_args(ScheduleKind)),
    help=f"How the rate falls.  {RECIPES_OWN}",
)
accumulate_option = click.option(
    "--accumulate",
    "accumulation",
    type=Count(MOST_PARTS),
    help="Do each step in so many parts, for less memory.  [default: 1]",
)
average_option = click.option(
    "--average",
    "average_decay",
    type=SHARE_TYPE,
    help="Average the weights too, with this decay, such as 0.999.  [default: no average]",
)
save_option = click.option(
    "--save-every", type=COUNT_TYPE, help="Steps between checkpoints.  [default: by time]"
)
