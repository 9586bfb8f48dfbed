"""Loading what a run has learned, and what it learned it from."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from headstart.checkpoints.checkpoint import newest_checkpoint
from headstart.checkpoints.tensor_file import read_tensors, write_tensors
from headstart.errors import DamagedFileError, RunError
from headstart.files import read_sealed_json, write_sealed_json
from headstart.models.blank import blank_model
from headstart.models.layouts import lay_out
from headstart.models.model import Model
from headstart.pipeline.corpus_stores import CorpusConfig
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.run_files import (
    CHECKPOINTS_FOLDER,
    CORPUS_FILE,
    MANIFEST_FILE,
    START_FACTS_FILE,
    START_FILE,
    TARGET_TOKENIZER_FOLDER,
    TOKENIZER_FOLDER,
    WEIGHTS_FILE,
    is_finished,
    read_recipe,
)
from headstart.tokenizers.folder import load_tokenizer
from headstart.tokenizers.tokenizer import Tokenizer
from headstart.training.averaging import load


@dataclass(frozen=True)
class Run:
    """What a run has learned, ready to be used."""

    folder: Path
    recipe: Recipe
    tokenizer: Tokenizer
    model: Model[Any, Any]
    own_target_tokenizer: Tokenizer | None = None
    """What cuts the targets of a translator with two vocabularies."""

    @property
    def target_tokenizer(self) -> Tokenizer:
        """What cuts the texts that the model writes: the same as those that it reads, or not."""
        own = self.own_target_tokenizer
        return self.tokenizer if own is None else own


def load_run(folder: Path, device: str) -> Run:
    """Loads a finished run, or the best weights so far of one that is still going on."""
    recipe = read_recipe(folder)
    tokenizer = load_tokenizer(folder / TOKENIZER_FOLDER)
    model = blank_model(recipe.model)
    load(model, read_weights(folder))
    model = model.to(device).eval()
    lay_out(model)
    return Run(folder, recipe, tokenizer, model, read_target_tokenizer(folder))


def read_target_tokenizer(folder: Path) -> Tokenizer | None:
    """Returns the tokenizer of a translator's targets, where it has two vocabularies."""
    own = folder / TARGET_TOKENIZER_FOLDER
    return load_tokenizer(own) if own.is_dir() else None


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Returns the weights of a run: the final ones, or the best so far."""
    if is_finished(folder):
        tensors = read_tensors(folder / WEIGHTS_FILE, recorded_sha256(folder, WEIGHTS_FILE))
        # A packed run has them in half precision; everything computes in whole.
        return {name: tensor.float() for name, tensor in tensors.items()}
    complaints: list[str] = []
    checkpoint = newest_checkpoint(folder / CHECKPOINTS_FOLDER, complaints.append)
    if checkpoint is None and (folder / WEIGHTS_FILE).exists():
        raise DamagedFileError(
            f"{folder} has {WEIGHTS_FILE} but no {MANIFEST_FILE} to check it by. Restore "
            f"{MANIFEST_FILE} from a copy."
        )
    if checkpoint is None:
        raise RunError(f"{folder} has learned nothing yet. Go on with: headstart resume {folder}")
    return checkpoint.groups.get("best") or checkpoint.groups["weights"]


def write_corpus(folder: Path, config: CorpusConfig, sources: dict[str, str]) -> None:
    """Writes where the text of a run came from, and what it was."""
    write_sealed_json(folder / CORPUS_FILE, {"reading": asdict(config), "sources": sources})


def read_corpus(folder: Path) -> tuple[CorpusConfig, dict[str, str]]:
    """Returns where the text of a run came from, and the SHA-256 of each file."""
    value = read_sealed_json(folder / CORPUS_FILE)
    try:
        assert isinstance(value, dict)
        reading: dict[str, Any] = {
            name: tuple(item) if isinstance(item, list) else item
            for name, item in value["reading"].items()
        }
        return CorpusConfig(**reading), dict(value["sources"])
    except (AssertionError, AttributeError, KeyError, TypeError) as error:
        raise DamagedFileError(f"{folder / CORPUS_FILE} does not describe a corpus.") from error


def recorded_sha256(folder: Path, name: str) -> str:
    """Returns the SHA-256 that a run's manifest has for a file."""
    manifest = read_sealed_json(folder / MANIFEST_FILE)
    try:
        assert isinstance(manifest, dict)
        return str(manifest["files"][name])
    except (AssertionError, KeyError, TypeError) as error:
        raise DamagedFileError(f"{folder / MANIFEST_FILE} says nothing of {name}.") from error


def write_start(folder: Path, start: Path, weights: dict[str, Tensor]) -> None:
    """Copies the weights that a run goes on from, so that it needs the other run no more."""
    digest = write_tensors(folder / START_FILE, weights)
    write_sealed_json(folder / START_FACTS_FILE, {"from": str(start), "sha256": digest})


def read_start(folder: Path) -> dict[str, Tensor] | None:
    """Returns the weights that a run began with, where it went on from another."""
    if not (folder / START_FACTS_FILE).exists():
        return None
    facts = read_sealed_json(folder / START_FACTS_FILE)
    if not isinstance(facts, dict) or "sha256" not in facts:
        raise DamagedFileError(f"{folder / START_FACTS_FILE} does not describe a start.")
    return read_tensors(folder / START_FILE, str(facts["sha256"]))
