"""A finished run to a small folder that can be given away: half precision, a card, no paths."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headstart.checkpoints.tensor_file import write_tensors
from headstart.corpora.leaks import SKETCH_FILE
from headstart.corpora.leaks.sketch import thinned
from headstart.corpora.leaks.sketch_file import read_sketch, write_sketch
from headstart.errors import DamagedFileError, RunError
from headstart.files import (
    durable_folder,
    read_sealed_json,
    sha256_of,
    write_bytes,
    write_json,
    write_sealed_json,
)
from headstart.models.inputs import SourceAndTarget, Text
from headstart.models.model import Model
from headstart.pipeline.packed_origin import write_origin
from headstart.pipeline.run_files import (
    CARD_FILE,
    LOG_FILE,
    MANIFEST_FILE,
    RESULTS_FILE,
    TARGET_TOKENIZER_FOLDER,
    TOKENIZER_FOLDER,
    WEIGHTS_FILE,
    read_recipe,
    read_results,
    require_finished,
    write_recipe,
)
from headstart.pipeline.run_folder import Run, load_run
from headstart.pipeline.run_log import read_log
from headstart.pipeline.runs import size_of
from headstart.randomness import derive_seed
from headstart.reports.run_tables import results_rows
from headstart.reports.translator_tables import translator_rows
from headstart.reports.trunk_card import CardFacts, trunk_card
from headstart.tokenizers.folder import save_tokenizer
from headstart.training.averaging import load

# The answers of the weights that are kept may be so far from the learned ones' (nats a piece, as
# the Kullback-Leibler divergence); a held-out loss is told to four places behind the point.
MOST_DIVERGENCE = 1e-4
NUM_ROWS, NUM_PIECES = 8, 64
NUM_STEP_LINES = 100
# The sketch has the room that is left, less what the manifest will take.
FEWEST_HASHES, NUM_BYTES_A_HASH, NUM_SPARE_BYTES = 1_000, 8, 8_000


@dataclass(frozen=True, kw_only=True)
class Packing:
    """What a packed run is called, what is said of it, and how large it may be."""

    name: str
    about: str = ""
    """Words for the card, as Markdown: what the run is for, its limits, its licence."""
    most_bytes: int = 9_000_000


def pack(source: Path, folder: Path, wanted: Packing) -> dict[str, str]:
    """Packs a finished run and returns the SHA-256 of each file; the manifest is written last."""
    require_packable(source, folder)
    run = load_run(source, "cpu")
    weights = {name: tensor.detach() for name, tensor in run.model.named_parameters()}
    halves = to_half(weights, source)
    divergence = divergence_of(run, halves, source)
    with durable_folder(folder) as beside:
        write_tensors(beside / WEIGHTS_FILE, halves)
        facts = describe(run, wanted, beside, divergence)
        # What a translator has learned from is told by its pairs' hashes alone.
        if run.recipe.task != "translation":
            write_sketch_in_room(source, beside, wanted.most_bytes)
        hashes = hashes_of(beside)
        write_sealed_json(beside / MANIFEST_FILE, manifest_of(source, facts, hashes))
        require_small(beside, wanted.most_bytes)
    return hashes


def require_packable(source: Path, folder: Path) -> None:
    """Raises an error unless a run has come to its end and the place for it is free."""
    recipe = read_recipe(source)
    if recipe.transfer is not None:
        raise RunError(f"{source} is a classifier. Pack the run that its trunk came from.")
    require_finished(source)
    if folder.exists():
        raise RunError(f"{folder} exists already. Choose another folder, or remove it first.")


def to_half(weights: dict[str, Tensor], source: Path) -> dict[str, Tensor]:
    """Returns weights in half precision, unless one of them is too large for it."""
    halves = {name: tensor.half() for name, tensor in weights.items()}
    for name, tensor in halves.items():
        if not tensor.isfinite().all():
            largest = weights[name].abs().max().item()
            raise RunError(
                f"{name} in {source} reaches {largest:g}, and half precision ends at 65,504. "
                "Pretrain with a lower rate or more weight decay."
            )
    return halves


def divergence_of(run: Run, halves: dict[str, Tensor], source: Path) -> float:
    """Returns how far the packed weights' answers are from the learned ones', in nats."""
    read = drawn_texts(run)
    before = log_answers(run.model, read)
    load(run.model, halves)
    after = log_answers(run.model, read)
    divergence = float((before.exp() * (before - after)).sum(dim=-1).mean())
    # A rounding below nothing is nothing; a value that is no number must not pass.
    if not divergence <= MOST_DIVERGENCE:
        raise RunError(
            f"In half precision the answers of {source} move by {divergence:g} nats, and "
            f"{MOST_DIVERGENCE:g} is allowed. Use the run as it is."
        )
    return max(0.0, divergence)


def drawn_texts(run: Run) -> Text | SourceAndTarget:
    """Returns what a run is asked about before and after, always the same."""
    trunk = run.recipe.model.trunk
    text = drawn_text(run.tokenizer.size, trunk.reading_stack.max_length)
    if run.recipe.task != "translation":
        return text
    target = drawn_text(run.target_tokenizer.size, trunk.writing_stack.max_length)
    return SourceAndTarget(text, target)


def drawn_text(vocabulary_size: int, longest: int) -> Text:
    """Returns rows of pieces that are as long as there are positions for, 64 at most."""
    generator = torch.Generator().manual_seed(derive_seed(0, "packing"))
    tokens_BT = torch.randint(vocabulary_size, (NUM_ROWS, NUM_PIECES), generator=generator)
    return Text(tokens_BT[:, :longest])


@torch.inference_mode()
def log_answers(model: Model[Any, Any], read: Text | SourceAndTarget) -> Tensor:
    """Returns the logarithms of the probabilities that a model answers with."""
    answer = model(read)
    logits = answer if isinstance(answer, Tensor) else answer.language
    return logits.double().log_softmax(dim=-1)


def describe(run: Run, wanted: Packing, folder: Path, divergence: float) -> CardFacts:
    """Writes all that is small: recipe, tokenizers, sources' fingerprints, results, log, card."""
    write_recipe(folder, run.recipe)
    save_tokenizer(run.tokenizer, folder / TOKENIZER_FOLDER)
    if run.own_target_tokenizer is not None:
        save_tokenizer(run.own_target_tokenizer, folder / TARGET_TOKENIZER_FOLDER)
    origin, results = write_origin(run, folder), read_results(run.folder)
    write_json(folder / RESULTS_FILE, results)
    write_bytes(folder / LOG_FILE, short_log(run.folder))
    is_translator = run.recipe.task == "translation"
    facts = CardFacts(
        name=wanted.name,
        about=wanted.about,
        command=origin.command,
        shape=shape_of(run),
        sources=origin.sources,
        scores=translator_rows(results) if is_translator else results_rows(results),
        made_with=read_manifest(run.folder)["environment"],
        divergence=divergence,
        weights_sha256=sha256_of(folder / WEIGHTS_FILE),
        has_sketch=not is_translator,
    )
    write_bytes(folder / CARD_FILE, trunk_card(facts).encode())
    return facts


def short_log(folder: Path) -> bytes:
    """Returns the log with every look at held-out text and as many steps as a curve needs."""
    rows = list(read_log(folder / LOG_FILE))
    steps = [row for row in rows if row["kind"] == "step"]
    gap = -(-len(steps) // NUM_STEP_LINES) or 1
    kept = [id(row) for row in (*steps[::gap], *steps[-1:])]
    lines = [row for row in rows if row["kind"] == "valid" or id(row) in kept]
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in lines)


def write_sketch_in_room(source: Path, folder: Path, most_bytes: int) -> None:
    """Writes what the run has read, in as much detail as there is room for."""
    num_left = most_bytes - size_of(folder) - NUM_SPARE_BYTES
    num_kept = num_left // NUM_BYTES_A_HASH
    if num_kept < FEWEST_HASHES:
        raise RunError(
            f"Without its sketch the packed run has {size_of(folder):,} bytes, which leaves no "
            f"room for the sketch in {most_bytes:,}. Pack a smaller run, or allow more bytes."
        )
    write_sketch(folder / SKETCH_FILE, thinned(read_sketch(source / SKETCH_FILE), num_kept))


def shape_of(run: Run) -> dict[str, str]:
    """Returns what a run's model is, in words."""
    trunk, recipe = run.recipe.model.trunk, run.recipe
    num_parameters = sum(weights.numel() for weights in run.model.parameters())
    num_layers, num_pieces = f"{trunk.writing_stack.num_layers}", f"{run.tokenizer.size:,}"
    length = {"trained length": f"{recipe.length:,} pieces"}
    if recipe.task == "translation":
        num_layers = f"{trunk.reading_stack.num_layers}+{num_layers}"
        length = {"a step": f"{recipe.tokens_per_step:,} pieces on each side"}
    if run.own_target_tokenizer is not None:
        num_pieces += f" of sources, {run.own_target_tokenizer.size:,} of targets"
    return {
        "recipe": recipe.name,
        "objective": recipe.objective,
        "parameters": f"{num_parameters:,}",
        "layers": f"{num_layers} of width {trunk.width}",
        "pieces": num_pieces,
        **length,
    }


def read_manifest(folder: Path) -> dict[str, Any]:
    """Returns what a finished run says of its files and its making."""
    manifest = read_sealed_json(folder / MANIFEST_FILE)
    if not isinstance(manifest, dict) or "environment" not in manifest:
        raise DamagedFileError(f"{folder / MANIFEST_FILE} does not describe a finished run.")
    return manifest


def manifest_of(source: Path, facts: CardFacts, hashes: dict[str, str]) -> dict[str, object]:
    """Returns what vouches for each file, with what the run's numbers depended on."""
    made = read_manifest(source)
    return {
        "files": hashes,
        "environment": made["environment"],
        "seed": made["seed"],
        "sources": dict(facts.sources),
        "packed": {
            "name": facts.name,
            "precision": "float16",
            "divergence": facts.divergence,
            "command": facts.command,
        },
    }


def hashes_of(folder: Path) -> dict[str, str]:
    """Returns the SHA-256 of each file in a folder by its path there."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): sha256_of(path) for path in paths}


def require_small(folder: Path, most_bytes: int) -> None:
    """Raises an error where a packed run is larger than it may be."""
    if size_of(folder) > most_bytes:
        raise RunError(
            f"The packed run has {size_of(folder):,} bytes, and {most_bytes:,} are allowed. Pack "
            "a smaller run, or allow more bytes."
        )
