"""A tokenizer as a folder: the SentencePiece model, and what makes its ids ours."""

from pathlib import Path

from headstart.errors import DamagedFileError, FileError
from headstart.files import read_json, sha256_of, write_bytes, write_json
from headstart.tokenizers.tokenizer import Tokenizer

MODEL_FILE, DESCRIPTION_FILE = "model.spm", "tokenizer.json"


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Writes a tokenizer; the description last, since it vouches for the model."""
    digest = write_bytes(folder / MODEL_FILE, tokenizer.model)
    write_json(
        folder / DESCRIPTION_FILE,
        {
            "fingerprint": tokenizer.fingerprint,
            "model_sha256": digest,
            "size": tokenizer.size,
            "replacements": dict(tokenizer.replacements),
            "vocabulary": list(tokenizer.vocabulary),
        },
    )


def load_tokenizer(folder: Path) -> Tokenizer:
    """Reads a tokenizer and checks that it is, byte for byte, the one that was written."""
    if not (folder / DESCRIPTION_FILE).exists():
        raise FileError(
            f"There is no tokenizer in {folder}: it has no {DESCRIPTION_FILE}. Name a folder that "
            "`headstart tokenizer` has written, or restore it from a copy."
        )
    description = read_json(folder / DESCRIPTION_FILE)
    try:
        assert isinstance(description, dict)
        assert isinstance(description["fingerprint"], str)
        digest, fingerprint = description["model_sha256"], description["fingerprint"]
        vocabulary = tuple(map(str, description["vocabulary"]))
        replacements = dict(description["replacements"])
    except (AssertionError, KeyError, TypeError, ValueError) as error:
        raise DamagedFileError(
            f"{folder / DESCRIPTION_FILE} describes no tokenizer. Remove it and make it again."
        ) from error
    path = folder / MODEL_FILE
    if sha256_of(path) != digest:
        raise DamagedFileError(f"{path} is damaged: it is not the model that was saved there.")
    try:
        model = path.read_bytes()
    except OSError as error:
        raise FileError(f"Cannot read {path}: {error.strerror}.") from error
    tokenizer = Tokenizer(model, vocabulary, replacements)
    tokenizer.require(fingerprint, str(folder))
    return tokenizer
