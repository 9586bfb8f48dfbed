"""The command `headstart`: the table of commands, and one line for whatever goes wrong."""

import io
import os
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import click

from headstart import __version__
from headstart.apps.cli.anatomy import anatomy
from headstart.apps.cli.check import check
from headstart.apps.cli.compare import compare
from headstart.apps.cli.data import data
from headstart.apps.cli.demo import demo
from headstart.apps.cli.embed import embed
from headstart.apps.cli.evaluate import evaluate
from headstart.apps.cli.fill import fill
from headstart.apps.cli.generate import generate
from headstart.apps.cli.predict import predict
from headstart.apps.cli.pretrain import pretrain
from headstart.apps.cli.resume import resume
from headstart.apps.cli.runs import runs
from headstart.apps.cli.tokenizer import tokenizer
from headstart.apps.cli.train_translator import train_translator
from headstart.apps.cli.transfer import transfer
from headstart.apps.cli.translate import translate
from headstart.errors import HeadstartError

COMMANDS: Mapping[str, click.Command] = {
    "demo": demo,
    "data": data,
    "check": check,
    "tokenizer": tokenizer,
    "pretrain": pretrain,
    "transfer": transfer,
    "train-translator": train_translator,
    "compare": compare,
    "resume": resume,
    "evaluate": evaluate,
    "runs": runs,
    "predict": predict,
    "translate": translate,
    "generate": generate,
    "fill": fill,
    "embed": embed,
    "anatomy": anatomy,
}

# As shells report a program that Ctrl-C ended.
INTERRUPTED = 130


class CommandLine(click.Group):
    """A group of commands whose errors are one line each, with an exit code and no traceback."""

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
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.exit(1)
        except (click.ClickException, click.Abort, HeadstartError, OSError) as error:
            click.echo(f"headstart: {sentence(error)}", err=True)
            sys.exit(exit_code(error))


def sentence(error: Exception) -> str:
    """Returns the one line that a user sees of an error."""
    if isinstance(error, click.Abort):
        return "stopped."
    if isinstance(error, click.ClickException):
        context = error.ctx if isinstance(error, click.UsageError) else None
        command = context.command_path if context else "headstart"
        return f"{error.format_message().removesuffix('.')}. See '{command} --help'."
    if isinstance(error, OSError):
        reason = error.strerror or error
        return f"{reason}." if error.filename is None else f"{error.filename}: {reason}."
    return str(error)


def exit_code(error: Exception) -> int:
    """Returns the code that a program exits with after an error."""
    if isinstance(error, click.Abort):
        return INTERRUPTED
    if isinstance(error, click.ClickException | HeadstartError):
        return error.exit_code
    return HeadstartError.exit_code


@click.group(cls=CommandLine, commands=dict(COMMANDS), context_settings={"max_content_width": 100})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Pretrain a small Transformer, swap its head, transfer it, and prove whether that helped.

    Every command explains itself: headstart COMMAND --help.
    """
