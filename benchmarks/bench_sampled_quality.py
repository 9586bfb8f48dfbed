"""Does a model learn as well from sampled candidates and row-wise updates as from everything?

Held-out loss over the full vocabulary after the same tokens, the same order and the same first
weights, a run for each seed: `lab` on French reviews. The exact head needs a GPU, or patience.

    python benchmarks/bench_sampled_quality.py --make-tokens reviews.txt.xz tokenizer/ tokens.npy
    python benchmarks/bench_sampled_quality.py tokens.npy --device cuda
"""

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from record import keep
from torch import Tensor, nn

from headstart import Text, find_recipe, initialise, new_model
from headstart.corpora.documents import Reading, read_documents
from headstart.objectives.vocabulary_loss.chunked import position_losses, summed_loss
from headstart.objectives.vocabulary_loss.sampled import (
    FLATTENING,
    NUM_NEGATIVES,
    CandidateSampler,
    sampled_loss,
)
from headstart.objectives.vocabulary_loss.unigram import unigram_logits
from headstart.randomness import torch_generator
from headstart.tokenizers.folder import load_tokenizer
from headstart.tokenizers.pieces import END_ID
from headstart.training.allocator import keep_freed_memory
from headstart.training.clipping import clip_gradients
from headstart.training.rowwise import RowwiseAdamW

SEQUENCES, LENGTH = 16, 256
PEAK_RATE, WARM_UP_SHARE, MAX_NORM = 1e-3, 0.05, 1.0
BETAS, WEIGHT_DECAY = (0.9, 0.98), 0.1
# About 100,000 tokens, so that what differs is what was learned.
NUM_HELD_OUT_ROWS = 400
NUM_MADE_TOKENS = 2_300_000

HeadLoss = Callable[[Tensor, Tensor, Tensor, Tensor, torch.Generator], Tensor]


@dataclass(frozen=True)
class Contestant:
    """A way to train: which head, where its bias begins, which tables are updated by rows."""

    has_rowwise_embedding: bool = False
    begins_with_counts: bool = True
    num_negatives: int | None = None
    flattening: float = FLATTENING

    def head_loss(self, counts_V: Tensor) -> HeadLoss:
        """Returns the loss of hidden vectors, by the head of this contestant."""
        if self.num_negatives is None:
            return lambda hidden, weight, bias, target, _: summed_loss(hidden, weight, bias, target)
        sampler = CandidateSampler(counts_V.cpu(), self.num_negatives, self.flattening)
        sampler.to(counts_V.device)
        return lambda hidden, weight, bias, target, generator: sampled_loss(
            hidden, weight, bias, sampler.draw(target, generator)
        )

    def optimisers(self, model: nn.Module) -> list[torch.optim.Optimizer]:
        """Returns AdamW for what is dense and the row-wise one for what is sparse."""
        rowwise = [model.trunk.embedding.tokens.weight] if self.has_rowwise_embedding else []
        model.trunk.embedding.tokens.sparse = self.has_rowwise_embedding
        if self.num_negatives is not None:
            rowwise += [model.head.weight, model.head.bias]
        names = {id(table) for table in rowwise}
        dense = [weights for weights in model.parameters() if id(weights) not in names]
        found: list[torch.optim.Optimizer] = [
            torch.optim.AdamW(decay_groups(dense), lr=0.0, betas=BETAS, fused=True)
        ]
        if rowwise:
            found.append(RowwiseAdamW(decay_groups(rowwise), lr=0.0, betas=BETAS))
        return found


CONTESTANTS = {
    "exact head, dense AdamW": Contestant(),
    "exact head, row-wise embedding": Contestant(has_rowwise_embedding=True),
    "sampled head, row-wise": Contestant(has_rowwise_embedding=True, num_negatives=NUM_NEGATIVES),
    "exact head, dense AdamW, bias from zero": Contestant(begins_with_counts=False),
    "sampled head, row-wise, bias from zero": Contestant(
        has_rowwise_embedding=True, num_negatives=NUM_NEGATIVES, begins_with_counts=False
    ),
}


@dataclass(frozen=True)
class Rows:
    """Rows of one piece more than is read: the last is only predicted."""

    train: Tensor
    held_out: Tensor

    @staticmethod
    def cut(tokens: np.ndarray, num_train: int, device: str) -> "Rows":
        """Cuts tokens into rows; what is held out comes after what is learned."""
        num_rows = num_train // LENGTH
        starts = np.arange(num_rows + NUM_HELD_OUT_ROWS) * LENGTH
        starts = starts[starts + LENGTH < len(tokens)]
        rows = tokens[starts[:, None] + np.arange(LENGTH + 1)].astype(np.int64)
        rows = torch.from_numpy(rows).to(device)
        return Rows(rows[:num_rows], rows[num_rows:])


def decay_groups(parameters: list[nn.Parameter]) -> list[dict[str, object]]:
    """Returns matrices, which decay, and vectors, which do not."""
    matrices = [weights for weights in parameters if weights.ndim > 1]
    vectors = [weights for weights in parameters if weights.ndim == 1]
    groups = [(matrices, WEIGHT_DECAY), (vectors, 0.0)]
    return [{"params": part, "weight_decay": decay} for part, decay in groups if part]


def rate_at(step: int, num_steps: int) -> float:
    """Returns the learning rate: a linear rise, then a cosine to zero."""
    num_warm = max(1, round(WARM_UP_SHARE * num_steps))
    if step < num_warm:
        return PEAK_RATE * (step + 1) / num_warm
    return PEAK_RATE * 0.5 * (1 + math.cos(math.pi * (step - num_warm) / (num_steps - num_warm)))


def train(contestant: Contestant, rows: Rows, seed: int) -> nn.Module:
    """Trains a model over the rows once."""
    model = new_model(find_recipe("lab").model)
    initialise(model, seed)
    model.to(rows.train.device)
    counts_V = torch.bincount(rows.train.flatten(), minlength=len(model.head.weight))
    if contestant.begins_with_counts:
        model.head.bias.data.copy_(unigram_logits(counts_V))
    loss_of = contestant.head_loss(counts_V)
    optimisers, parameters = contestant.optimisers(model), list(model.parameters())
    order = torch.randperm(len(rows.train), generator=torch_generator(seed, "order"))
    num_steps = len(rows.train) // SEQUENCES
    for step in range(num_steps):
        batch = rows.train[order[step * SEQUENCES : (step + 1) * SEQUENCES].to(rows.train.device)]
        hidden = model.trunk(Text(batch[:, :-1])).flatten(0, 1)
        target = batch[:, 1:].flatten()
        generator = torch_generator(seed, "candidates", step)
        loss = loss_of(hidden, model.head.weight, model.head.bias, target, generator)
        (loss / len(target)).backward()
        clip_gradients(parameters, MAX_NORM)
        for optimiser in optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate_at(step, num_steps)
            optimiser.step()
            optimiser.zero_grad()
    for optimiser in optimisers:
        if isinstance(optimiser, RowwiseAdamW):
            optimiser.settle()
    return model


@torch.no_grad()
def held_out_loss(model: nn.Module, rows: Rows) -> float:
    """Returns the mean loss over the full vocabulary, in nats for each piece."""
    sums = []
    for batch in rows.held_out.split(SEQUENCES):
        hidden = model.trunk(Text(batch[:, :-1])).flatten(0, 1)
        losses = position_losses(hidden, model.head.weight, model.head.bias, batch[:, 1:].flatten())
        sums.append(losses.double().sum())
    return float(torch.stack(sums).sum()) / rows.held_out[:, 1:].numel()


def make_tokens(corpus: Path, tokenizer_folder: Path, out: Path) -> None:
    """Writes the first tokens of a corpus, an end behind each document."""
    tokenizer, found, num_found = load_tokenizer(tokenizer_folder), [], 0
    for document in read_documents([corpus], Reading.plain(skips_bad=True)):
        ids = np.append(tokenizer.encode(document.plain), END_ID)
        found.append(ids.astype(np.uint16 if tokenizer.size <= 1 << 16 else np.int32))
        num_found += len(ids)
        if num_found >= NUM_MADE_TOKENS:
            break
    np.save(out, np.concatenate(found)[:NUM_MADE_TOKENS])


def run_all(
    contestants: dict[str, Contestant], rows: Rows, seeds: list[int]
) -> dict[str, dict[str, object]]:
    """Runs every contestant with every seed, and holds each against the first of them."""
    losses: dict[str, list[float]] = {name: [] for name in contestants}
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for seed in seeds:
        for name, contestant in contestants.items():
            started_at = time.perf_counter()
            model = train(contestant, rows, seed)
            losses[name].append(held_out_loss(model, rows))
            seconds[name].append(time.perf_counter() - started_at)
            print(f"seed {seed}, {name}: {losses[name][-1]:.4f}", file=sys.stderr)
    baseline = next(iter(losses.values()))
    return {
        name: {
            "held_out_losses": row,
            "mean": statistics.mean(row),
            "worse_by": [loss / base - 1 for loss, base in zip(row, baseline, strict=True)],
            "mean_worse_by": statistics.mean(row) / statistics.mean(baseline) - 1,
            "seconds": seconds[name],
        }
        for name, row in losses.items()
    }


def arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokens", type=Path, nargs="?", default=Path("carry/reviews_2m.npy"))
    parser.add_argument("--make-tokens", type=Path, nargs=3, metavar=("CORPUS", "TOKENIZER", "OUT"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--num-train", type=int, default=2_000_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--only", nargs="+", choices=list(CONTESTANTS), default=list(CONTESTANTS))
    parser.add_argument(
        "--sampled",
        nargs="+",
        default=[],
        metavar="N:FLATTENING",
        help="Further sampled heads, such as 4096:0.75.",
    )
    parser.add_argument("--keep", action="store_true", help="Write a record.")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    if given.make_tokens:
        make_tokens(*given.make_tokens)
        return
    if not given.tokens.exists():
        print(f"{given.tokens} is not there; make it with --make-tokens.", file=sys.stderr)
        return
    keep_freed_memory()
    contestants = {name: CONTESTANTS[name] for name in given.only}
    for text in given.sampled:
        num_negatives, flattening = text.split(":")
        contestants[f"sampled {text}"] = Contestant(
            has_rowwise_embedding=True,
            num_negatives=int(num_negatives),
            flattening=float(flattening),
        )
    rows = Rows.cut(np.load(given.tokens), given.num_train, given.device)
    answer = run_all(contestants, rows, given.seeds)
    for name, row in answer.items():
        print(f"{name}: {row['mean']:.4f} ({100 * row['mean_worse_by']:+.2f} %)")
    if given.keep:
        work = f"lab, {rows.train[:, 1:].numel():,} tokens of French reviews, full vocabulary"
        keep("sampled-quality", {"work": work, "contestants": answer}, given.device)


if __name__ == "__main__":
    main()
