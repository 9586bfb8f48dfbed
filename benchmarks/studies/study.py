"""What studies share: command lines as a reader would type them, done, and one record of them.

A line names the folder of data DATA and that of the study's own work WORK. What is finished there
is not done again: a study that was stopped goes on with the same command.
"""

import argparse
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from record import keep  # noqa: E402 (the path above must come first)
from reduction import comparison_facts, run_facts, strings_in  # noqa: E402

from headstart.errors import RunError  # noqa: E402
from headstart.pipeline.run_files import (  # noqa: E402
    CHECKPOINTS_FOLDER,
    RECIPE_FILE,
    is_finished,
    read_recipe,
)
from headstart.pipeline.this_machine import choose_device  # noqa: E402
from headstart.tokenizers.folder import DESCRIPTION_FILE  # noqa: E402

DATA, WORK = "DATA", "WORK"
PROGRAM = "headstart"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Where a study is done, and how much of it."""

    data: Path
    work: Path
    device: str | None = None
    num_threads: int | None = None
    num_workers: int | None = None
    minutes: float | None = None
    """Of each pretraining; None is the study's own."""
    num_seeds: int | None = None
    sizes: str | None = None
    """Numbers of labels, such as 100,400; None are the study's own."""
    trunks: Mapping[str, Path] = field(default_factory=dict)
    """Runs that were made elsewhere, by the names that they have in the study."""
    is_side_by_side: bool = False
    """Whether pretrainings that may be done at once are."""
    makes_trunks_only: bool = False


def options_of(name: str, purpose: str | None, words: Sequence[str] | None = None) -> Options:
    """Reads what was typed after the name of a study."""
    parser = argparse.ArgumentParser(
        description=purpose, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "studies" / name)
    parser.add_argument("--device", help="cpu or cuda")
    parser.add_argument("--threads", type=int, help="threads of a job")
    parser.add_argument("--workers", type=int, help="jobs at once")
    parser.add_argument("--minutes", type=float, help="of each pretraining")
    parser.add_argument("--seeds", type=int, help="of each comparison")
    parser.add_argument("--sizes", help="numbers of labels, such as 100,400")
    parser.add_argument("--trunk", action="append", default=[], help="NAME=RUN, made elsewhere")
    parser.add_argument("--side-by-side", action="store_true", help="pretrain several at once")
    parser.add_argument("--trunks-only", action="store_true", help="pretrain, and stop there")
    given = parser.parse_args(words)
    return Options(
        data=given.data.resolve(),
        work=given.work.resolve(),
        device=given.device,
        num_threads=given.threads,
        num_workers=given.workers,
        minutes=given.minutes,
        num_seeds=given.seeds,
        sizes=given.sizes,
        trunks=dict(named_trunk(text, parser) for text in given.trunk),
        is_side_by_side=given.side_by_side,
        makes_trunks_only=given.trunks_only,
    )


def named_trunk(text: str, parser: argparse.ArgumentParser) -> tuple[str, Path]:
    """Returns the name and the folder of a run that was made elsewhere."""
    name, sign, folder = text.partition("=")
    if not sign or not Path(folder).is_dir():
        parser.error(f"--trunk {text}: name it as NAME=RUN, where RUN is a folder that is there")
    return name, Path(folder).resolve()


class Study:
    """The commands of one question, and what they found."""

    def __init__(self, name: str, asked: str, options: Options) -> None:
        self.name, self.asked, self.options = name, asked, options
        self.commands: list[str] = []
        self.waiting: list[str] = []
        self.runs: list[str] = []
        self.comparisons: list[str] = []
        for trunk, run in options.trunks.items():
            if not (options.work / trunk).exists():
                kept_apart = shutil.ignore_patterns(CHECKPOINTS_FOLDER)
                shutil.copytree(run, options.work / trunk, ignore=kept_apart)

    def minutes(self, usual: float, share: float = 1.0) -> str:
        """Returns the budget of a pretraining as it is typed; `share` is of the one asked for."""
        asked = self.options.minutes
        return f"{(usual if asked is None else asked) * share:g}"

    def steps_or_minutes(self, usual: int) -> str:
        """Returns a budget as it is typed, in steps unless minutes were asked for."""
        asked = self.options.minutes
        return f"--steps {usual}" if asked is None else f"--minutes {asked:g}"

    def seeds(self, usual: int) -> int:
        """Returns how often each job of a comparison is done."""
        return self.options.num_seeds or usual

    def sizes(self, usual: str) -> str:
        """Returns the numbers of labels of a comparison as they are typed."""
        return self.options.sizes or usual

    def prepare(self, line: str) -> None:
        """Makes a tokenizer, once a pretraining needs it."""
        self.commands.append(line)
        if not (self.out(line) / DESCRIPTION_FILE).is_file():
            self.waiting.append(line)

    def pretrain(self, *lines: str) -> None:
        """Makes trunks, several at once where that was asked for."""
        wanted = [self.placed(line, ("--device", "--threads")) for line in lines]
        self.commands += wanted
        left = [line for line in wanted if not is_finished(self.out(line))]
        while left and self.waiting:
            self.do([shlex.split(self.waiting.pop(0))])
        words = [self.begin_or_resume(line) for line in left]
        for batch in [words] if self.options.is_side_by_side else [[one] for one in words]:
            self.do(batch)
        for line in wanted:
            self.require_as_asked(line)
            self.runs.append(self.out(line).name)

    def compare(self, line: str) -> None:
        """Compares; what is finished of it is found again by `headstart compare` itself."""
        wanted = self.placed(line, ("--device", "--threads", "--workers"))
        self.commands.append(wanted)
        if self.options.makes_trunks_only:
            return
        self.do([shlex.split(wanted)])
        self.comparisons.append(self.out(wanted).name)

    def keep(self) -> Path | None:
        """Writes the record, unless only trunks were wanted."""
        if self.options.makes_trunks_only:
            return None
        return self.keep_answer(
            {
                "runs": {name: self.run_facts(name) for name in self.runs},
                "comparisons": {
                    name: comparison_facts(self.options.work / name) for name in self.comparisons
                },
            }
        )

    def keep_answer(self, answer: Mapping[str, object]) -> Path:
        """Writes a record with the question, the commands and an answer."""
        record = {"asked": self.asked, "commands": self.commands, **answer}
        require_no_folders(record)
        return keep(self.name, record, self.device)

    @property
    def device(self) -> str:
        """The device on which this study is done."""
        return choose_device(self.options.device or "auto").partition(":")[0]

    def run_facts(self, name: str) -> dict[str, Any]:
        """Returns the facts of a run, and how it came to be in this study."""
        return run_facts(self.options.work / name) | {
            "is_given": name in self.options.trunks,
            "is_side_by_side": self.options.is_side_by_side,
        }

    def out(self, line: str) -> Path:
        """Returns the folder that a line writes."""
        words = shlex.split(line)
        return Path(self.real(words[words.index("--out") + 1]))

    def real(self, word: str) -> str:
        """Returns a word of a line with the folder that it stands for."""
        for mark, folder in ((DATA, self.options.data), (WORK, self.options.work)):
            if word.startswith(f"{mark}/"):
                return str(folder / word.removeprefix(f"{mark}/"))
        return word

    def placed(self, line: str, known: Sequence[str]) -> str:
        """Returns a line that also says where it is done, as far as that was asked for."""
        options = self.options
        said = {
            "--device": options.device,
            "--threads": options.num_threads,
            "--workers": options.num_workers,
        }
        words = [f"{flag} {said[flag]}" for flag in known if said[flag] is not None]
        return " ".join([line, *words])

    def begin_or_resume(self, line: str) -> list[str]:
        """Returns the words that begin a run, or go on with one that was stopped."""
        folder = self.out(line)
        is_begun = (folder / RECIPE_FILE).exists()
        return [PROGRAM, "resume", str(folder)] if is_begun else shlex.split(line)

    def require_as_asked(self, line: str) -> None:
        """Refuses a run that was made otherwise, which may lie there or have been given."""
        recipe, words = read_recipe(self.out(line)), shlex.split(line)
        num_steps = None if recipe.plan is None else f"{recipe.plan.num_steps}"
        made = {"--recipe": recipe.name, "--objective": recipe.objective, "--steps": num_steps}
        for flag, is_one in made.items():
            if flag in words and (asked := words[words.index(flag) + 1]) != is_one:
                raise RunError(
                    f"{self.out(line)} was made with {flag} {is_one}, and {asked} was asked for. "
                    "Remove it, or name another --work or --trunk."
                )

    def do(self, batch: Sequence[Sequence[str]]) -> None:
        """Runs commands at once, their words going to stderr; ends where one does not succeed."""
        processes = []
        for words in batch:
            print(f"$ {shlex.join(words)}", file=sys.stderr, flush=True)
            command = [sys.executable, "-m", *map(self.real, words)]
            processes.append(subprocess.Popen(command, stdout=sys.stderr))
        for process in processes:
            try:
                code = process.wait()
            except KeyboardInterrupt:
                # It was told as well, and keeps what it has done.
                code = process.wait() or 1
            if code:
                sys.exit(code)


def require_no_folders(record: Mapping[str, object]) -> None:
    """Refuses a record that names a folder of this machine."""
    folders = {str(ROOT), str(Path.home()), str(ROOT.parent)} - {"/"}
    for text in strings_in(record):
        if text.startswith("/") or any(f"{folder}/" in text for folder in folders):
            raise RunError(f"The record would hold a folder of this machine: {text[:200]!r}.")
