"""What cuts each side of pairs: one tokenizer for both, or two; kept in the folder of a run."""

from dataclasses import dataclass
from pathlib import Path

from headstart.errors import RunError
from headstart.files import remove_folder
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.resumption import TOKENIZER
from headstart.pipeline.run_files import TARGET_TOKENIZER_FOLDER, TOKENIZER_FOLDER
from headstart.pipeline.run_folder import read_target_tokenizer
from headstart.tokenizers.folder import load_tokenizer, save_tokenizer
from headstart.tokenizers.tokenizer import Tokenizer

# What the second tokenizer is called beside the files of pairs, when either has changed.
TARGET_TOKENIZER = "the tokenizer of the targets"


@dataclass(frozen=True)
class PairTokenizers:
    """What cuts each side; one tokenizer may cut both."""

    source: Tokenizer
    target: Tokenizer

    @property
    def are_one(self) -> bool:
        """Whether one vocabulary serves both sides."""
        return self.target is self.source


def tokenizers_in(folder: Path) -> PairTokenizers:
    """Returns what cuts the texts of a run: one tokenizer, but for translators that have two."""
    source, own = load_tokenizer(folder / TOKENIZER_FOLDER), read_target_tokenizer(folder)
    return PairTokenizers(source, source if own is None else own)


def keep_tokenizers(folder: Path, tokenizers: PairTokenizers) -> None:
    """Writes what cuts each side; one tokenizer is written once."""
    save_tokenizer(tokenizers.source, folder / TOKENIZER_FOLDER)
    own = folder / TARGET_TOKENIZER_FOLDER
    if not tokenizers.are_one:
        save_tokenizer(tokenizers.target, own)
    elif own.exists():
        # An attempt that came to nothing may have had two.
        remove_folder(own)


def read_tokenizers(folder: Path, recipe: Recipe) -> PairTokenizers:
    """Returns what cuts each side of a run's pairs, of the sizes that it began with."""
    found, trunk = tokenizers_in(folder), recipe.model.trunk
    for name, tokenizer, stack in (
        (TOKENIZER_FOLDER, found.source, trunk.reading_stack),
        (TARGET_TOKENIZER_FOLDER, found.target, trunk.writing_stack),
    ):
        if tokenizer.size != stack.vocabulary_size:
            raise RunError(
                f"{folder / name} has {tokenizer.size:,} pieces, but the run began with "
                f"{stack.vocabulary_size:,}. Restore the tokenizer from a copy."
            )
    return found


def fingerprints(tokenizers: PairTokenizers) -> dict[str, str]:
    """Returns what the tokenizers of a run are, beside the hashes of its files."""
    return {
        TOKENIZER: tokenizers.source.fingerprint,
        TARGET_TOKENIZER: tokenizers.target.fingerprint,
    }
