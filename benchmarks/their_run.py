"""Hugging Face's Marian, trained as a run of ours is: its first weights, steps and batches.

    python benchmarks/their_run.py RUN OUT SOURCES [--beam 4] [--device cuda]

It may begin as soon as the run has, and waits for its end only to cut texts as the run does.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from their_training import TheirPlan, TheirTraining
from their_translators import their_texts
from torch import Tensor

from headstart.batches.ahead import Ahead
from headstart.files import write_json
from headstart.pipeline.run_files import MANIFEST_FILE, RECIPE_FILE, read_recipe
from headstart.pipeline.run_folder import load_run, read_start
from headstart.pipeline.train_translator import new_learner
from headstart.pipeline.translate import TranslationWriter
from headstart.pipeline.translating.pair_rows import limits_of, ready_pairs
from headstart.pipeline.translating.pair_tokenizers import read_tokenizers
from headstart.pipeline.translating.pairs import read_pairs_config, read_parallel
from headstart.pipeline.translating.translation_learner import TranslationLearner
from headstart.pipeline.translating.translation_settings import TranslationSettings

NUM_STEPS_BETWEEN_LINES = 1_000
SECONDS_BETWEEN_LOOKS = 0.5


def main() -> None:
    """Writes its translations of a file, and how it learned."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("sources", type=Path, help="texts, one a line")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    await_file(given.run / RECIPE_FILE)
    texts = given.sources.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    how = TranslationSettings(beam=given.beam)
    write_json(given.out, their_translations(given.run, texts, how, given.device))


def await_file(path: Path) -> None:
    """Waits until a file is there."""
    while not path.exists():
        time.sleep(SECONDS_BETWEEN_LOOKS)


def their_translations(
    run: Path, texts: Sequence[str], how: TranslationSettings, device: str
) -> dict[str, Any]:
    """Trains Marian as a run is, and returns its translations and how it learned."""
    learner = learner_of(run)
    plan = TheirPlan(
        learning=learner.recipe.learning,
        num_steps=learner.plan.num_steps,
        label_smoothing=learner.recipe.translation.label_smoothing,
        device=device,
        is_compiled=device == "cuda",
    )
    torch.manual_seed(learner.plan.seed)
    training = TheirTraining(learner.new_model(), plan)
    started_at = time.perf_counter()
    last_loss, averaged = trained(training, learner)
    seconds = time.perf_counter() - started_at
    with torch.no_grad():
        for name, weights in training.model.named_parameters():
            weights.copy_(averaged.get(name, weights))
    await_file(run / MANIFEST_FILE)
    writer = TranslationWriter(load_run(run, device), how)
    jobs = [jobs[0] for jobs in writer.jobs(texts)]
    found = their_texts(training.model.eval(), writer, writer.batches(jobs), stops_early=True)
    return {
        "texts": [found[job.number] for job in jobs],
        "steps": plan.num_steps,
        "seconds": seconds,
        "last_loss": last_loss,
        "parameters": sum(each.numel() for each in training.weights),
    }


def learner_of(run: Path) -> TranslationLearner:
    """Returns what a run learns with: its batches and its first weights."""
    recipe = read_recipe(run)
    assert recipe.plan is not None
    tokenizers = read_tokenizers(run, recipe)
    config, sources = read_pairs_config(run)
    limits = limits_of(recipe, config)
    pairs = ready_pairs(read_parallel(config), tokenizers, limits, recipe.plan.num_threads)
    return new_learner(recipe, recipe.plan, tokenizers, pairs, read_start(run), sources)


def trained(
    training: TheirTraining, learner: TranslationLearner
) -> tuple[float, dict[str, Tensor]]:
    """Does all steps; returns the last loss and the weights averaged as ours are."""
    batches, averaged_steps = Ahead(learner.batches), learner.averaged_steps
    averaged: dict[str, Tensor] = {}
    loss = torch.zeros(())
    for step in range(learner.plan.num_steps):
        (batch,) = batches(step)
        loss = training.do_step(step, batch)
        if step + 1 in averaged_steps:
            for name, weights in training.model.named_parameters():
                share = weights.detach() / len(averaged_steps)
                averaged[name] = averaged[name] + share if name in averaged else share
        if (step + 1) % NUM_STEPS_BETWEEN_LINES == 0:
            print(f"Marian: step {step + 1:,}, loss {float(loss):.3f}", file=sys.stderr)
    return float(loss), averaged


if __name__ == "__main__":
    main()
