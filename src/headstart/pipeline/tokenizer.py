"""Text to tokenizer: learned or imported, kept in a folder, and tried on some text."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from headstart.corpora.documents import Document
from headstart.tokenizers.folder import save_tokenizer
from headstart.tokenizers.importing import import_tokenizer
from headstart.tokenizers.learning import (
    TokenizerConfig,
    learn_tokenizer,
    lines_of,
    no_text,
)
from headstart.tokenizers.sampling import sample
from headstart.tokenizers.survival import Survival, survival
from headstart.tokenizers.tokenizer import Tokenizer

# Enough texts to see what a vocabulary loses, few enough to take a second.
NUM_TEXTS_TRIED = 1_000


def make_tokenizer(
    lines: list[str], config: TokenizerConfig, folder: Path
) -> tuple[Tokenizer, Survival]:
    """Learns a tokenizer from a sample of lines, keeps it, and tries it on the first of them."""
    tokenizer = learn_tokenizer(lines, config)
    save_tokenizer(tokenizer, folder)
    return tokenizer, survival(tokenizer, lines[:NUM_TEXTS_TRIED])


def sample_lines(documents: Iterable[Document], seed: int) -> list[str]:
    """Returns the lines of documents, or a sample of them where there are too many to hold."""
    lines = sample(lines_of(document.plain for document in documents), seed)
    if not lines:
        raise no_text()
    return lines


def bring_tokenizer(
    model: Path, dictionary: Path, documents: Iterable[Document], folder: Path
) -> tuple[Tokenizer, Survival]:
    """Imports a tokenizer, keeps it, and tries it on the first documents, where there are any."""
    tokenizer = import_tokenizer(model, dictionary)
    texts = [document.plain for document in islice(documents, NUM_TEXTS_TRIED)]
    seen = survival(tokenizer, texts)
    save_tokenizer(tokenizer, folder)
    return tokenizer, seen
