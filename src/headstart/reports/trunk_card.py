"""The card of a packed run: what it is, what made it, of what text, and how good it is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

PRECISION = (
    "The weights are kept in half precision (float16) and computed with in float32. On drawn "
    "pieces their answers are {divergence:.1e} nats from those of the weights that were learned."
)

SKETCH = (
    "; `corpus.sketch` lets `headstart check --from` tell how much of a data set was in the text"
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
    """The SHA-256 of each file of text, and the tokenizers' fingerprints."""
    scores: Sequence[tuple[str, str]]
    """What the run is worth, a row each."""
    made_with: Mapping[str, str]
    """The versions and the device that the numbers depend on."""
    divergence: float
    weights_sha256: str
    has_sketch: bool
    """Whether a sketch of what was read is packed too."""


def trunk_card(facts: CardFacts) -> str:
    """Returns the card as Markdown."""
    parts = [
        f"# {facts.name}",
        facts.about.strip(),
        "## What it is",
        table(("what", "value"), facts.shape.items()),
        PRECISION.format(divergence=facts.divergence),
        f"SHA-256 of `weights.safetensors`: `{facts.weights_sha256}`. `manifest.json` has that of "
        f"every file{SKETCH if facts.has_sketch else ''}.",
        "## What made it",
        f"```sh\n{facts.command}\n```",
        table(("what", "value"), facts.made_with.items()),
        "## What it has read",
        table(("file", "SHA-256"), ((n, f"`{digest}`") for n, digest in facts.sources.items())),
        "## How good it is",
        table(("what", "value"), facts.scores),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def table(columns: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    """Returns a Markdown table of two columns."""
    lines = [columns, ("---", "---"), *rows]
    return "\n".join(f"| {one} | {other} |" for one, other in lines)
