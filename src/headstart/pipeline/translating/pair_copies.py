"""Test sources that a translator has learned from, whatever their case and marks."""

from collections.abc import Sequence
from pathlib import Path

from headstart.corpora.pairs import Pair, read_pairs
from headstart.errors import HeadstartError
from headstart.pipeline.run_files import PAIRS_FILE
from headstart.pipeline.translating.pairs import (
    PairsConfig,
    mark_of,
    pair_hashes,
    read_pairs_config,
)


def are_copied(learned: PairsConfig, test: Sequence[Pair]) -> list[bool]:
    """Returns of each pair of a test whether its source is among the training pairs too."""
    pairs = read_pairs(Path(learned.source), Path(learned.target), learned.reading())
    known = {mark_of(pair.source) for pair in pairs}
    return [mark_of(pair.source) in known for pair in test]


def are_copied_by(run: Path, test: Sequence[Pair]) -> list[bool] | None:
    """Returns the same of the pairs that a run learned from; nothing where they are gone."""
    if not (run / PAIRS_FILE).exists():
        return None
    learned, then = read_pairs_config(run)
    try:
        now = pair_hashes(learned)
    except HeadstartError:
        return None
    # Beside the files stand the tokenizers, which say nothing of texts.
    return are_copied(learned, test) if now.items() <= then.items() else None
