"""What does `small` reach on Multi30k in minutes, beside Hugging Face's Marian of the same shape?

English to German from several seeds and English to French from one; the German test is
test_2016_flickr. Marian begins with the first seed's weights and learns as many steps from the same
batches, with the same schedule, smoothing, dropout and average of last weights; it is searched with
the same beam. With `--side-by-side` all runs share the machine, Marian's too.
"""

import argparse
import json
import shlex
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from study import Study, options_of

from headstart.corpora.documents import Reading
from headstart.corpora.pairs import Pair
from headstart.errors import RunError
from headstart.evaluation.translation import translation_scores
from headstart.evaluation.translation_seeds import crossed_score
from headstart.pipeline.evaluate_translation import PairTest, read_test_pairs

ASKED = "What does `small` reach on Multi30k, and what does Marian in as many steps?"
FOLDERS = {"en-de": "DATA/parallel/multi30k-en-de", "en-fr": "DATA/parallel/multi30k-en-fr"}
# About 47 epochs of the recipe's steps.
SEEDS, STEPS, BEAM = 3, 6_000, 4
THEIR_RUN = Path(__file__).parents[1] / "their_run.py"
Json = dict[str, Any]


def main() -> None:
    given, words = own_arguments().parse_known_args()
    study = Study("multi30k", ASKED, options_of("multi30k", __doc__, words))
    names = {
        "en-de": [f"en-de-{seed}" for seed in range(study.seeds(SEEDS))],
        "en-fr": ["en-fr-0"],
    }
    theirs = None if given.without_theirs else Theirs(study, names["en-de"][0], given.steps)
    try:
        answer(study, given, names, theirs)
    finally:
        if theirs is not None:
            theirs.end()


def answer(
    study: Study, given: argparse.Namespace, names: dict[str, list[str]], theirs: "Theirs | None"
) -> None:
    """Trains all translators, has them translate, and keeps what they reach."""
    is_asked_for_all = not study.options.makes_trunks_only
    if theirs is not None and study.options.is_side_by_side and is_asked_for_all:
        theirs.begin()
    study.pretrain(
        *(training(pair, seed, given) for pair, runs in names.items() for seed in range(len(runs)))
    )
    if not is_asked_for_all:
        return
    texts = translated(study, {run: pair for pair, runs in names.items() for run in runs})
    found = {
        pair: over_seeds(study, pair, [texts[run] for run in runs]) for pair, runs in names.items()
    }
    study.keep_answer(
        {
            "beam": BEAM,
            "pairs": found,
            "theirs": None if theirs is None else theirs.answer(),
            "runs": {name: study.run_facts(name) for name in study.runs},
        }
    )


def own_arguments() -> argparse.ArgumentParser:
    """Returns what may be said to this study alone."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--rate", type=float, help="the highest rate, to try out others")
    parser.add_argument("--dropout", type=float)
    parser.add_argument("--without-theirs", action="store_true", help="leave Marian out")
    return parser


def training(pair: str, seed: int, given: argparse.Namespace) -> str:
    """Returns the line that trains one translator."""
    folder = FOLDERS[pair]
    tried = {"--rate": given.rate, "--dropout": given.dropout}
    more = "".join(f" {flag} {value:g}" for flag, value in tried.items() if value is not None)
    return (
        f"headstart train-translator --source {folder}/train.src.xz --target {folder}/train.tgt.xz "
        f"--valid-source {folder}/valid.src --valid-target {folder}/valid.tgt --recipe small "
        f"--steps {given.steps} --no-compile --seed {seed}{more} --out WORK/{pair}-{seed}"
    )


def translated(study: Study, pair_of: dict[str, str]) -> dict[str, list[str]]:
    """Has all runs translate the test at once; returns what each command printed."""
    lines = {
        run: study.placed(
            f"headstart translate WORK/{run} --file {FOLDERS[pair]}/test.src --beam {BEAM}",
            ("--device", "--threads"),
        )
        for run, pair in pair_of.items()
    }
    study.commands += lines.values()
    processes = {}
    for run, line in lines.items():
        print(f"$ {line}", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", *map(study.real, shlex.split(line))]
        processes[run] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    texts = {}
    for run, process in processes.items():
        said, _ = process.communicate()
        if process.returncode:
            raise RunError(f"The translation by {run} ended with {process.returncode}.")
        texts[run] = said.removesuffix("\n").split("\n")
    return texts


def over_seeds(study: Study, pair: str, by_seed: list[list[str]]) -> Json:
    """Returns the scores of each seed, and their means with intervals over seeds and sentences."""
    references = [each.target for each in test_of(study, pair)]
    return {
        "by_seed": [asdict(translation_scores(texts, references)) for texts in by_seed],
        "bleu": asdict(crossed_score("bleu", by_seed, references)),
        "chrf": asdict(crossed_score("chrf", by_seed, references)),
        "num_seeds": len(by_seed),
        "num_sentences": len(references),
    }


class Theirs:
    """Marian in a process of its own, from the first weights of a run and on its batches."""

    def __init__(self, study: Study, run: str, num_steps: int) -> None:
        self.study, self.run = study, run
        self.out = study.options.work / f"theirs-{num_steps}.json"
        self.process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Has it learn, unless it has; it waits until the run has begun."""
        if self.out.exists():
            return
        folder = self.study.options.work / self.run
        sources = self.study.real(f"{FOLDERS['en-de']}/test.src")
        words = [folder, self.out, sources, "--beam", BEAM, "--device", self.study.device]
        command = [sys.executable, str(THEIR_RUN), *map(str, words)]
        self.process = subprocess.Popen(command)

    def answer(self) -> Json:
        """Returns what it has reached, once it is done."""
        if self.process is None:
            self.begin()
        if self.process is not None and self.process.wait():
            raise RunError(f"Marian ended with {self.process.returncode}.")
        found: Json = json.loads(self.out.read_text())
        references = [each.target for each in test_of(self.study, "en-de")]
        return {"scores": asdict(translation_scores(found.pop("texts"), references)), **found}

    def end(self) -> None:
        """Has it stop, should it still be learning."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()


def test_of(study: Study, pair: str) -> list[Pair]:
    """Returns the sentences of a test with their true translations."""
    folder = Path(study.real(f"{FOLDERS[pair]}/test.src")).parent
    files = PairTest(source=folder / "test.src", target=folder / "test.tgt")
    return read_test_pairs(files, Reading.plain())


if __name__ == "__main__":
    main()
