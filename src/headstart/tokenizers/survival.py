"""How much of a text survives being cut and joined again."""

from collections.abc import Iterable
from dataclasses import dataclass

from headstart.tokenizers.pieces import UNKNOWN_ID
from headstart.tokenizers.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Survival:
    """What came back of some texts."""

    num_texts: int
    num_changed_texts: int
    num_pieces: int
    num_unknown_pieces: int
    num_bytes: int

    @property
    def changed_share(self) -> float:
        """The share of texts that did not come back as they were."""
        return self.num_changed_texts / max(1, self.num_texts)

    @property
    def unknown_share(self) -> float:
        """The share of pieces that the vocabulary does not know."""
        return self.num_unknown_pieces / max(1, self.num_pieces)

    @property
    def bytes_per_piece(self) -> float:
        """How much text a piece stands for, on average."""
        return self.num_bytes / max(1, self.num_pieces)


def survival(tokenizer: Tokenizer, texts: Iterable[str]) -> Survival:
    """Cuts texts, joins them again, and counts what was lost."""
    num_texts = num_changed = num_pieces = num_unknown = num_bytes = 0
    for text in texts:
        ids = tokenizer.encode(text)
        num_texts += 1
        num_changed += tokenizer.decode(ids) != text
        num_pieces += len(ids)
        num_unknown += int((ids == UNKNOWN_ID).sum())
        num_bytes += len(text.encode())
    return Survival(
        num_texts=num_texts,
        num_changed_texts=num_changed,
        num_pieces=num_pieces,
        num_unknown_pieces=num_unknown,
        num_bytes=num_bytes,
    )
