"""What a tokenizer is and what it loses, as a table and as JSON."""

from headstart.reports.numbers import show_count, show_share
from headstart.reports.table import Table
from headstart.tokenizers.survival import Survival
from headstart.tokenizers.tokenizer import Tokenizer


def tokenizer_table(tokenizer: Tokenizer, seen: Survival) -> Table:
    """Returns the table of a tokenizer and of the texts that it was tried on."""
    rows = [
        ("pieces", show_count(tokenizer.size)),
        ("fingerprint", tokenizer.fingerprint[:12]),
    ]
    if seen.num_texts:
        rows += [
            ("texts tried", show_count(seen.num_texts)),
            ("bytes for each piece", f"{seen.bytes_per_piece:.2f}"),
            ("texts that do not come back as they were", show_share(seen.changed_share)),
            ("pieces unknown to it", show_share(seen.unknown_share)),
        ]
    return Table(title="Tokenizer", columns=("what", "value"), rows=tuple(rows))


def tokenizer_json(tokenizer: Tokenizer, seen: Survival) -> dict[str, object]:
    """Returns the same for programs."""
    return {
        "size": tokenizer.size,
        "fingerprint": tokenizer.fingerprint,
        "texts_tried": seen.num_texts,
        "bytes_per_piece": seen.bytes_per_piece,
        "changed_share": seen.changed_share,
        "unknown_share": seen.unknown_share,
    }
