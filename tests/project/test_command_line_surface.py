"""The command line, pinned: a new command or flag is a decision, not an accident."""

import subprocess
import sys

import click

from headstart.apps.cli.main import COMMANDS

SURFACE = {
    "demo": ["--out", "--adapt", "--offline", "--device", "--threads", "--json"],
    "data": ["--json"],
    "check": [
        "--train",
        "--valid",
        "--test",
        "--corpus",
        "--from",
        "--label-column",
        "--group",
        "--documents",
        "--text-column",
        "--skip-bad",
        "--write-clean",
        "--json",
    ],
    "tokenizer": [
        "corpus",
        "--size",
        "--kind",
        "--seed",
        "--import",
        "--dictionary",
        "--out",
        "--documents",
        "--text-column",
        "--skip-bad",
        "--json",
    ],
    "pretrain": [
        "corpus",
        "--recipe",
        "--objective",
        "--from",
        "--tokenizer",
        "--valid",
        "--keep-out",
        "--minutes",
        "--tokens",
        "--steps",
        "--tensorboard",
        "--deterministic",
        "--compile",
        "--out",
        "--length",
        "--sequences",
        "--rate",
        "--schedule",
        "--accumulate",
        "--average",
        "--head",
        "--hide",
        "--whole-words",
        "--save-every",
        "--device",
        "--threads",
        "--seed",
        "--documents",
        "--text-column",
        "--skip-bad",
        "--json",
    ],
    "transfer": [
        "--from",
        "--mode",
        "--recipe",
        "--objective",
        "--tokenizer",
        "--train",
        "--valid",
        "--test",
        "--size",
        "--text-column",
        "--label-column",
        "--group",
        "--skip-bad",
        "--out",
        "--epochs",
        "--fewest-steps",
        "--examples",
        "--rate",
        "--layer-decay",
        "--dropout",
        "--accumulate",
        "--average",
        "--length",
        "--long-texts",
        "--pooling",
        "--fresh-layers",
        "--weigh-labels",
        "--patience",
        "--best-by",
        "--average-best",
        "--unlabelled",
        "--teacher",
        "--unlabelled-most",
        "--labelled-weight",
        "--save-every",
        "--deterministic",
        "--device",
        "--threads",
        "--seed",
        "--json",
    ],
    "compare": [
        "--from",
        "--train",
        "--valid",
        "--test",
        "--text-column",
        "--skip-bad",
        "--label-column",
        "--group",
        "--systems",
        "--unlabelled",
        "--epochs",
        "--length",
        "--long-texts",
        "--sizes",
        "--seeds",
        "--minutes",
        "--rates",
        "--device",
        "--threads",
        "--workers",
        "--out",
        "--redraw",
        "--json",
    ],
    "resume": ["run", "--save-every", "--device", "--threads", "--force", "--json"],
    "evaluate": [
        "run",
        "--test",
        "--figures",
        "--device",
        "--threads",
        "--documents",
        "--text-column",
        "--skip-bad",
        "--label-column",
        "--json",
    ],
    "runs": ["--in", "--json"],
    "predict": [
        "run",
        "texts",
        "--file",
        "--out",
        "--explain",
        "--documents",
        "--text-column",
        "--skip-bad",
        "--device",
        "--threads",
        "--json",
    ],
    "translate": [
        "run",
        "texts",
        "--file",
        "--explain",
        "--strategy",
        "--beam",
        "--length-penalty",
        "--best",
        "--prefix",
        "--most-pieces",
        "--copy-unknown",
        "--temperature",
        "--top-k",
        "--top-p",
        "--device",
        "--threads",
        "--seed",
        "--json",
    ],
    "generate": [
        "run",
        "prompt",
        "--strategy",
        "--beam",
        "--temperature",
        "--top-k",
        "--top-p",
        "--pieces",
        "--count",
        "--device",
        "--threads",
        "--seed",
        "--json",
    ],
    "fill": ["run", "text", "--top", "--device", "--threads", "--json"],
    "embed": [
        "run",
        "--file",
        "--what",
        "--pooling",
        "--out",
        "--neighbours",
        "--count",
        "--documents",
        "--text-column",
        "--skip-bad",
        "--device",
        "--threads",
        "--json",
    ],
    "anatomy": [
        "recipe_or_run",
        "--vocabulary",
        "--task",
        "--labels",
        "--frozen",
        "--length",
        "--kernel",
        "--tokens",
        "--rate",
        "--memory",
        "--verify",
        "--measure",
        "--figures",
        "--device",
        "--threads",
        "--seed",
        "--json",
    ],
    "data get": ["name", "--json"],
    "runs remove": ["run", "--yes"],
    "runs pack": ["run", "--out", "--name", "--about", "--bytes"],
}


def every_command() -> dict[str, click.Command]:
    found = dict(COMMANDS)
    for name, command in COMMANDS.items():
        if isinstance(command, click.Group):
            found |= {f"{name} {inner}": row for inner, row in command.commands.items()}
    return found


def flags(command: click.Command) -> list[str]:
    return [
        parameter.opts[0] if isinstance(parameter, click.Option) else str(parameter.name)
        for parameter in command.params
    ]


def test_the_commands_and_flags_are_these():
    assert {name: flags(command) for name, command in every_command().items()} == SURFACE


def test_every_option_explains_itself():
    silent = [
        f"{name} {option.opts[0]}"
        for name, command in every_command().items()
        for option in command.params
        if isinstance(option, click.Option) and not option.help
    ]
    assert not silent, silent


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from headstart.apps.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'numpy', 'matplotlib'} & set(sys.modules)\n"
        "print('heavy:', sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "heavy: []"
