"""The command `headstart`: the table of commands, and one line for whatever goes wrong."""

import io
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NoReturn

import click

from headstart import __version__
from headstart.apps.cli.closed_pipes import send_nowhere
from headstart.errors import HeadstartError

# What each does, in the order in which one comes to need it. A command is the function of its name
# in the file of its name, and is read when it is asked for: `--help` needs none of them.
COMMANDS: Mapping[str, str] = {
    "demo": "See the whole story on real text in minutes.",
    "data": "List the named data sets, or get one.",
    "check": "Look for leaks, copies, conflicts and oddities.",
    "tokenizer": "Learn a tokenizer from text, or import one.",
    "pretrain": "Pretrain a trunk on text.",
    "transfer": "Make a classifier of a trunk and labels.",
    "compare": "Find out whether pretraining was worth it.",
    "predict": "Label texts, with probabilities.",
    "evaluate": "Score a run on text, examples or pairs that it has not learned from.",
    "train-translator": "Train a translator on pairs of texts.",
    "translate": "Translate texts with a trained translator.",
    "generate": "Let a causal run write on behind a prompt.",
    "fill": "Show what could stand in each <mask>.",
    "embed": "Turn texts into vectors.",
    "resume": "Go on with a run from its last checkpoint.",
    "runs": "List runs, remove one, or pack one.",
    "anatomy": "Show what a model consists of and what it costs.",
}

# What every command has from the group.
SETTINGS = {"max_content_width": 100, "help_option_names": ["-h", "--help"]}
STANDARD_OUTPUT = 1
# As shells report a program that Ctrl-C ended.
INTERRUPTED = 130


class NamedCommands(Mapping[str, click.Command]):
    """The commands by their names, each imported when it is asked for."""

    def __getitem__(self, name: str) -> click.Command:
        if name not in COMMANDS:
            raise KeyError(name)
        in_python = name.replace("-", "_")
        command: click.Command = getattr(import_module(f"{__package__}.{in_python}"), in_python)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class CommandLine(click.Group):
    """A group of commands whose errors are one line each, with an exit code and no traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own
        """Returns the commands in the order of the table."""
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's own
        """Writes what each command does, without reading any of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command that was named; its errors are told as its own."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            # A missing value is found before the command is there to be named.
            if error.ctx is None and (name := ctx.invoked_subcommand) is not None:
                error.ctx = click.Context(NamedCommands()[name], parent=ctx, info_name=name)
            raise

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Runs a command and exits."""
        extra["standalone_mode"] = False
        for stream in (sys.stdout, sys.stderr):
            # A pipe that knows few letters gets question marks for the others, not a traceback.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        try:
            code = super().main(*args, **extra)
            sys.exit(code if isinstance(code, int) else 0)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            sys.exit(0)
        except BrokenPipeError:
            # Whoever read the output has seen enough; nothing is left to be said there.
            send_nowhere(STANDARD_OUTPUT)
            sys.exit(1)
        except KeyboardInterrupt:
            stop_with(click.Abort())
        except (click.ClickException, click.Abort, HeadstartError, OSError) as error:
            stop_with(error)


def stop_with(error: Exception) -> NoReturn:
    """Says what went wrong, and exits."""
    click.echo(f"headstart: {sentence(error)}", err=True)
    sys.exit(exit_code(error))


def sentence(error: Exception) -> str:
    """Returns the one line that a user sees of an error."""
    if isinstance(error, click.Abort):
        return "stopped."
    if isinstance(error, click.ClickException):
        context = error.ctx if isinstance(error, click.UsageError) else None
        command = context.command_path if context else "headstart"
        return f"{with_mark(error.format_message())} See '{command} --help'."
    if isinstance(error, OSError):
        reason = error.strerror or error
        return f"{reason}." if error.filename is None else f"{error.filename}: {reason}."
    return str(error)


def with_mark(message: str) -> str:
    """Returns a message with one mark at its end."""
    return message if message.endswith((".", "?", "!")) else f"{message}."


def exit_code(error: Exception) -> int:
    """Returns the code that a program exits with after an error."""
    if isinstance(error, click.Abort):
        return INTERRUPTED
    if isinstance(error, click.ClickException | HeadstartError):
        return error.exit_code
    return HeadstartError.exit_code


@click.group(cls=CommandLine, commands=NamedCommands(), context_settings=SETTINGS)
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Pretrain a small Transformer, swap its head, transfer it, and prove whether that helped.

    Every command explains itself: headstart COMMAND --help.
    """
