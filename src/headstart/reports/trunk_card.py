"""The card of a packed run: what it is, what made it, of what text, and how good it is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headstart.reports.run_tables import results_rows

PRECISION = (
    "The weights are kept in half precision (float16) and computed with in float32. On drawn "
    "pieces their answers are {divergence:.1e} nats from those of the weights that were learned."
)


@dataclass(frozen=True, kw_only=True)
class CardFacts:
    """All that a card says of a run."""

    name: str
    about: str
    """What the run is for, its limits and its licence, as Markdown."""
    command: str
    shape: Mapping[str, str]
    """What the model is, a row each."""
    sources: Mapping[str, str]
    """The SHA-256 of each file of text, and the tokenizer's fingerprint."""
    results: Mapping[str, Any]
    made_with: Mapping[str, str]
    """The versions and the device that the numbers depend on."""
    divergence: float
    weights_sha256: str


def trunk_card(facts: CardFacts) -> str:
    """Returns the card as Markdown."""
    parts = [
        f"# {facts.name}",
        facts.about.strip(),
        "## What it is",
        table(("what", "value"), facts.shape.items()),
        PRECISION.format(divergence=facts.divergence),
        f"SHA-256 of `weights.safetensors`: `{facts.weights_sha256}`. `manifest.json` has that of "
        "every file; `corpus.sketch` lets `headstart check --from` tell how much of a data set "
        "was in the text.",
        "## What made it",
        f"```sh\n{facts.command}\n```",
        table(("what", "value"), facts.made_with.items()),
        "## What it has read",
        table(("file", "SHA-256"), ((n, f"`{digest}`") for n, digest in facts.sources.items())),
        "## How good it is",
        table(("what", "value"), results_rows(facts.results)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def table(columns: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    """Returns a Markdown table of two columns."""
    lines = [columns, ("---", "---"), *rows]
    return "\n".join(f"| {one} | {other} |" for one, other in lines)
