"""What does `lab` learn from French text in a few minutes on this machine, and how fast?

python benchmarks/bench_pretraining.py tokenizer/ 6.5 reviews.txt.xz general.txt.xz
"""

import argparse
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path

from record import keep

from headstart import Budget, CorpusConfig, Place, Pretraining, find_recipe, pretrain
from headstart.decoding.sampling import Sampling
from headstart.pipeline.generate import generate
from headstart.pipeline.run_files import read_results
from headstart.pipeline.run_folder import Run
from headstart.pipeline.this_machine import choose_device
from headstart.pipeline.watch import StepProgress, Watch

# A GPU is busy with this many.
SEQUENCES = 128
# For `lab` the best of three in 600 steps (docs/log.md).
PEAK_RATES = {"lab": 4e-3, "bert": 1e-3, "compact": 2e-3, "strong": 2e-3}
PROMPTS = ("Bonjour les", "Ce livre est", "J'ai beaucoup", "")
SECONDS_BETWEEN_LINES = 20.0


def main() -> None:
    given = arguments()
    if not given.corpus:
        print("Not asked: name a tokenizer's folder, minutes and text (see --help).")
        return
    recipe = find_recipe(given.recipe)
    wanted = Pretraining(
        recipe=replace(
            recipe,
            sequences_per_step=SEQUENCES,
            learning=replace(recipe.learning, peak_rate=PEAK_RATES[given.recipe]),
        ),
        corpus=CorpusConfig(corpus=tuple(str(path.resolve()) for path in given.corpus)),
        budget=Budget(minutes=given.minutes),
        place=Place(device=choose_device("auto")),
        tokenizer=given.tokenizer,
    )
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        run = pretrain(wanted, out, Watch(say=tell, show=Shown()))
        texts = written(run) if recipe.objective == "causal" else {}
        answer = {
            "work": f"{given.recipe}, {recipe.objective}, {SEQUENCES} x {recipe.length} pieces",
            "texts_read": [path.name for path in given.corpus],
            "minutes": given.minutes,
            "peak_rate": PEAK_RATES[given.recipe],
            "plan": asdict(run.recipe.plan),
            "results": read_results(out),
            "written": texts,
        }
    keep(f"pretraining-{given.recipe}", answer, wanted.place.device)


def written(run: Run) -> dict[str, str]:
    strategy = Sampling(temperature=0.7, top_p=0.95)
    return {prompt: generate(run, prompt, strategy, 40)[0].text for prompt in PROMPTS}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokenizer", type=Path, nargs="?")
    parser.add_argument("minutes", type=float, nargs="?")
    parser.add_argument("corpus", type=Path, nargs="*")
    parser.add_argument("--recipe", choices=list(PEAK_RATES), default="lab")
    return parser.parse_args()


def tell(line: str) -> None:
    print(line, file=sys.stderr)


class Shown:
    """Prints a line now and then."""

    def __init__(self) -> None:
        self.shown_at = 0.0

    def __call__(self, seen: StepProgress) -> None:
        """Takes the progress after a step."""
        if time.monotonic() - self.shown_at > SECONDS_BETWEEN_LINES:
            self.shown_at = time.monotonic()
            tell(f"{seen.step:,} of {seen.num_steps:,}, {seen.tokens_per_second:,.0f} tokens/s")


if __name__ == "__main__":
    main()
