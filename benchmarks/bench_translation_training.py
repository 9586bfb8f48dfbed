"""How fast does `base` learn from steps of 25,000 pieces a side on a GPU, beside Hugging Face?

Both have the same first weights, dropout, smoothing and batches, which lie ready on the GPU: drawn
pairs whose lengths are spread as in WMT's news or Multi30k's descriptions, padded to few shapes, or
all the same, as peers like to be measured.
Headstart does what `train-translator --compile` does, its look at every loss included; Hugging
Face's Marian is compiled as well and waits for nothing. Pieces are counted without padding.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from math import log

import numpy as np
import torch
from numpy.typing import NDArray
from record import alternate, can_ask, keep, timed
from their_training import TheirPlan, TheirTraining

from headstart.apps.recipes.base import base
from headstart.batches.pair_shapes import ShapedPairBatches
from headstart.models.config import EncoderDecoderConfig
from headstart.models.initialisation import initialise
from headstart.models.model import Model, new_model
from headstart.objectives.translation import PairBatch, Translation, to_shaped_batch
from headstart.pipeline.recipe import Recipe, with_vocabulary
from headstart.tokenizers.pieces import BASIC_PIECES
from headstart.training.config import PlanConfig
from headstart.training.loop import NOBODY, Trainer, TrainingState, unattended_step
from headstart.training.optimiser import Optimiser
from headstart.training.recorded import NUM_STEPS_BEFORE

# The logarithm of a source's length in pieces: mean and deviation; and that of the ratio of both.
LENGTHS = {"wmt": (3.1, 0.62, 0.2), "multi30k": (2.66, 0.33, 0.15), "even": (log(63), 0.0, 0.0)}
LONGEST = 250
LABEL_SMOOTHING = 0.1
# What the paper's base model learned in.
PAPERS_STEPS, PAPERS_TOKENS = 100_000, 25_000
# Enough for about so many steps.
NUM_STEPS = 40
Sides = NDArray[np.int64]


def main(words: Sequence[str] | None = None) -> None:
    """Measures and keeps a record."""
    given = arguments(words)
    device = "cpu" if given.tiny else "cuda"
    if not can_ask(device):
        return
    recipe = tiny(base()) if given.tiny else base()
    num_tokens = 200 if given.tiny else given.tokens
    batches = drawn_batches(given.lengths, num_tokens, recipe, device)
    model = new_model(recipe.model)
    initialise(model, seed=1)
    makers = {"headstart": ours, "hugging face, compiled": theirs}
    repetitions = 1 if given.tiny else given.repetitions
    contestants, memory = {}, {}
    for name, make in makers.items():
        before = forget_peak(device)
        contestants[name] = make(model, recipe, batches, device)
        memory[name] = peak(device, before)
    seconds = alternate(contestants, repetitions)
    answer = {"work": work(given.lengths, num_tokens, recipe, batches)} | figures(seconds, batches)
    if given.tiny:
        print(json.dumps(answer, indent=2))
        return
    facts = {"peak_bytes": memory, "transformers": version("transformers")}
    keep(f"translation-training-{given.lengths}", answer | facts, device)


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", choices=list(LENGTHS), default="wmt")
    parser.add_argument("--tokens", type=int, default=PAPERS_TOKENS, help="of a step's side")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--tiny", action="store_true", help="a toy on the processor")
    return parser.parse_args(words)


def tiny(recipe: Recipe) -> Recipe:
    """Returns the recipe in small."""
    trunk = recipe.model.trunk
    assert isinstance(trunk, EncoderDecoderConfig)
    layer = replace(trunk.encoder.layer, width=16, num_heads=2, feed_forward_width=32)
    encoder, decoder = (
        replace(half, layer=layer, num_layers=1) for half in (trunk.encoder, trunk.decoder)
    )
    model = replace(recipe.model, trunk=replace(trunk, encoder=encoder, decoder=decoder))
    return with_vocabulary(replace(recipe, model=model), 60)


def drawn_lengths(kind: str, num_pairs: int, longest: int) -> Sides:
    """Draws the lengths of pairs with their marks. Shape (2, pairs)."""
    mean, deviation, ratio_deviation = LENGTHS[kind]
    generator = np.random.default_rng(1)
    source = np.exp(generator.normal(mean, deviation, num_pairs))
    target = source * np.exp(generator.normal(0.0, ratio_deviation, num_pairs))
    return np.clip(np.array([source, target]).round(), 1, longest - 1).astype(np.int64) + 1


def drawn_batches(kind: str, num_tokens: int, recipe: Recipe, device: str) -> list[PairBatch]:
    """Returns the batches of an epoch, padded on both sides alike."""
    longest = min(LONGEST, num_tokens)
    num_pairs = round(NUM_STEPS * num_tokens / drawn_lengths(kind, 1_000, longest).max(0).mean())
    sides = drawn_lengths(kind, num_pairs, longest)
    order = ShapedPairBatches(*sides, num_tokens, seed=1)
    generator = np.random.default_rng(2)
    num_pieces = recipe.model.trunk.vocabulary_size
    batches = []
    for step in range(order.steps_per_epoch):
        chosen, shape = order.at(step), order.shape_at(step)
        # One length for both, so that their compiler meets one kind of shape.
        length = max(shape.source_length, shape.target_length)
        source, target = (
            [generator.integers(len(BASIC_PIECES), num_pieces, n - 1, np.int32) for n in side]
            for side in sides[:, chosen].tolist()
        )
        shape = shape._replace(source_length=length, target_length=length)
        batches.append(to_shaped_batch(source, target, [""] * len(chosen), device, shape))
    return batches


def ours(
    model: Model, recipe: Recipe, batches: list[PairBatch], device: str
) -> Callable[[], float]:
    """Returns how Headstart goes through all batches, once each of their shapes is recorded."""
    is_gpu = device == "cuda"
    plan = PlanConfig(
        num_steps=PAPERS_STEPS,
        seed=1,
        device=device,
        num_threads=torch.get_num_threads(),
        precision="bf16" if is_gpu else "fp32",
        is_compiled=is_gpu,
        is_deterministic=False,
        steps_between_validations=1,
        steps_between_logs=1,
    )
    mine = new_model(recipe.model)
    mine.load_state_dict(model.state_dict())
    mine.to(device)
    if plan.is_compiled:
        mine.trunk.compile_layers()
    state = TrainingState(mine, Optimiser(mine, set(), recipe.learning), None)
    trainer = Trainer(
        Translation(LABEL_SMOOTHING),
        recipe.learning,
        plan,
        lambda step: [batches[step % len(batches)]],
        lambda _state, _report: False,
        unattended=NOBODY,
    )
    do_step = unattended_step(trainer, state, trainer.judged(state))

    def epoch() -> float:
        return timed(lambda: [do_step() for _ in batches], device)

    for _ in range(NUM_STEPS_BEFORE):
        epoch()
    return epoch


def theirs(
    model: Model, recipe: Recipe, batches: list[PairBatch], device: str
) -> Callable[[], float]:
    """Returns how Hugging Face goes through all batches, once it is compiled."""
    plan = TheirPlan(
        learning=recipe.learning,
        num_steps=PAPERS_STEPS,
        label_smoothing=LABEL_SMOOTHING,
        device=device,
        is_compiled=device == "cuda",
    )
    training = TheirTraining(model, plan)

    def epoch() -> float:
        return timed(lambda: [training.do_step(0, batch) for batch in batches], device)

    epoch()
    return epoch


def forget_peak(device: str) -> int:
    """Begins to count memory anew, and returns what is held already."""
    if device == "cpu":
        return 0
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated()


def peak(device: str, before: int) -> int | None:
    """Returns the most bytes that were held beyond those before."""
    return None if device == "cpu" else torch.cuda.max_memory_allocated() - before


def work(kind: str, num_tokens: int, recipe: Recipe, batches: list[PairBatch]) -> str:
    """Says what was done."""
    num_positions = sum(batch.pair.target.tokens_BT.numel() for batch in batches)
    padding = 1 - sum(batch.num_tokens for batch in batches) / num_positions
    shapes = {batch.pair.target.tokens_BT.shape for batch in batches}
    return (
        f"base, {recipe.model.trunk.vocabulary_size:,} pieces, at most {num_tokens:,} pieces a "
        f"side and step, lengths as in {kind}, {len(batches)} batches of {len(shapes)} shapes, "
        f"{100 * padding:.1f} % padding of targets"
    )


def figures(seconds: dict[str, dict[str, object]], batches: list[PairBatch]) -> dict[str, object]:
    """Returns speeds, their spread and what they come to."""
    num_tokens = sum(batch.num_tokens for batch in batches)
    speeds = {
        name: {
            "median": num_tokens / row["median_seconds"],
            "lowest": num_tokens / row["max_seconds"],
            "highest": num_tokens / row["min_seconds"],
        }
        for name, row in seconds.items()
    }
    one, other = speeds.values()
    return {
        "seconds": seconds,
        "target_tokens_per_step": num_tokens / len(batches),
        "target_tokens_per_second": speeds,
        "times_their_speed": one["median"] / other["median"],
        "projected_hours": {
            name: PAPERS_STEPS * PAPERS_TOKENS / speed["median"] / 3_600
            for name, speed in speeds.items()
        },
    }


if __name__ == "__main__":
    main()
