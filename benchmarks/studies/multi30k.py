"""What does `small` reach on Multi30k in minutes, beside Hugging Face's Marian of the same shape?

English to German from several seeds and English to French from one; the German test is
test_2016_flickr. Marian begins with the first seed's weights and learns as many steps from the same
batches, with the same schedule, smoothing, dropout and average of last weights; it is searched with
the same beam. With `--side-by-side` all runs share the machine.
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
from their_run import their_translations

from headstart.corpora.documents import Reading
from headstart.errors import RunError
from headstart.evaluation.translation import translation_scores
from headstart.evaluation.translation_seeds import crossed_score
from headstart.pipeline.evaluate_translation import PairTest, read_test_pairs
from headstart.pipeline.translate import load_translator, translate_texts
from headstart.pipeline.translating.translation_settings import TranslationSettings

ASKED = "What does `small` reach on Multi30k, and what does Marian in as many steps?"
FOLDERS = {"en-de": "DATA/parallel/multi30k-en-de", "en-fr": "DATA/parallel/multi30k-en-fr"}
# About 47 epochs of the recipe's steps.
SEEDS, STEPS, BEAM = 3, 6_000, 4
HOW = TranslationSettings(beam=BEAM)
Json = dict[str, Any]


def main() -> None:
    given, words = own_arguments().parse_known_args()
    study = Study("multi30k", ASKED, options_of("multi30k", __doc__, words))
    names = {
        "en-de": [f"en-de-{seed}" for seed in range(study.seeds(SEEDS))],
        "en-fr": ["en-fr-0"],
    }
    study.pretrain(
        *(training(pair, seed, given) for pair, runs in names.items() for seed in range(len(runs)))
    )
    if study.options.makes_trunks_only:
        return
    answers = evaluated(study, {run: pair for pair, runs in names.items() for run in runs})
    found = {pair: over_seeds(study, pair, runs, answers) for pair, runs in names.items()}
    theirs = None if given.without_theirs else beside(study, names["en-de"][0])
    runs = {name: study.run_facts(name) for name in study.runs}
    study.keep_answer({"beam": BEAM, "pairs": found, "theirs": theirs, "runs": runs})


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


def evaluated(study: Study, pair_of: dict[str, str]) -> dict[str, Json]:
    """Evaluates all runs at once; returns what each command printed."""
    lines = {
        run: study.placed(
            f"headstart evaluate WORK/{run} --source {FOLDERS[pair]}/test.src "
            f"--target {FOLDERS[pair]}/test.tgt --beam {BEAM} --json",
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
    answers = {}
    for run, process in processes.items():
        said, _ = process.communicate()
        if process.returncode:
            raise RunError(f"The evaluation of {run} ended with {process.returncode}.")
        answers[run] = json.loads(said)
    return answers


def over_seeds(study: Study, pair: str, runs: list[str], answers: dict[str, Json]) -> Json:
    """Returns the scores of each seed, and their means with intervals over seeds and sentences."""
    sources, references = test_of(study, pair)
    by_seed = [translations(study, run, sources) for run in runs]
    return {
        "by_seed": [answers[run]["scores"] for run in runs],
        "loss_by_seed": [answers[run]["loss"]["nats"] for run in runs],
        "bleu": asdict(crossed_score("bleu", by_seed, references)),
        "chrf": asdict(crossed_score("chrf", by_seed, references)),
        "num_seeds": len(runs),
        "num_sentences": len(references),
    }


def beside(study: Study, run: str) -> Json:
    """Returns what Marian reaches from the first weights of a run, and on its batches."""
    sources, references = test_of(study, "en-de")
    theirs = their_translations(study.options.work / run, sources, HOW, study.device)
    texts = theirs.pop("texts")
    return {"scores": asdict(translation_scores(texts, references)), **theirs}


def test_of(study: Study, pair: str) -> tuple[list[str], list[str]]:
    """Returns the sources of a test, and their true translations."""
    folder = Path(study.real(f"{FOLDERS[pair]}/test.src")).parent
    files = PairTest(source=folder / "test.src", target=folder / "test.tgt")
    pairs = read_test_pairs(files, Reading.plain())
    return [each.source for each in pairs], [each.target for each in pairs]


def translations(study: Study, run: str, sources: list[str]) -> list[str]:
    """Returns what a run makes of texts, as `headstart evaluate` has it."""
    translator = load_translator(study.options.work / run, study.device)
    return [each.text for each in translate_texts(translator, sources, HOW)]


if __name__ == "__main__":
    main()
