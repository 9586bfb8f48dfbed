"""Text to ids and back, by a SentencePiece model whose pieces have the ids of our vocabulary."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
import sentencepiece
from numpy.typing import NDArray

from headstart.cut_text import WORD_START
from headstart.errors import TokenizerError
from headstart.tokenizers.pieces import (
    BASIC_PIECES,
    SPECIAL_PIECES,
    UNKNOWN,
    UNKNOWN_ID,
    piece_bytes,
)

Ids = NDArray[np.int32]
# From this many letters on, on average, an array for each text costs less than a list of its ids.
NUM_LONG_LETTERS = 200


class CutTexts(NamedTuple):
    """The ids of several texts, one after another, and how many each has."""

    ids: Ids
    lengths: NDArray[np.int64]


@dataclass(frozen=True)
class Tokenizer:
    """A SentencePiece model, and the vocabulary in which its pieces have their ids."""

    model: bytes
    """The SentencePiece model, as its own file holds it."""
    vocabulary: tuple[str, ...]
    """Every piece, special ones included, in the order of the ids."""
    replacements: Mapping[str, str]
    """What is written otherwise before text is cut, since the vocabulary lacks it."""

    @property
    def size(self) -> int:
        """The number of pieces."""
        return len(self.vocabulary)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all that decides which ids a text has."""
        rest = json.dumps([self.vocabulary, dict(self.replacements)]).encode()
        return hashlib.sha256(hashlib.sha256(self.model).digest() + rest).hexdigest()

    @cached_property
    def processor(self) -> sentencepiece.SentencePieceProcessor:
        """The SentencePiece model at work."""
        return sentencepiece.SentencePieceProcessor(model_proto=self.model)

    @cached_property
    def id_of(self) -> Mapping[str, int]:
        """The id of each piece."""
        return {piece: number for number, piece in enumerate(self.vocabulary)}

    @cached_property
    def id_of_text(self) -> Mapping[str, int]:
        """The id of each piece that text may hold: all but those that Headstart sets itself."""
        marks = {*BASIC_PIECES, *SPECIAL_PIECES}
        return {piece: number for piece, number in self.id_of.items() if piece not in marks}

    @cached_property
    def table(self) -> Ids:
        """Our id for each id of the SentencePiece model."""
        num_pieces = self.processor.get_piece_size()
        pieces = self.processor.id_to_piece(list(range(num_pieces)))
        ids = [self.id_of.get(piece, UNKNOWN_ID) for piece in pieces]
        ids[self.processor.unk_id()] = UNKNOWN_ID
        return np.array(ids, dtype=np.int32)

    def encode(self, text: str) -> Ids:
        """Returns the ids of a text's pieces, without start or end."""
        return self.encode_all([text], num_threads=1).ids

    def encode_all(self, texts: Sequence[str], num_threads: int) -> CutTexts:
        """Returns the ids of many texts in one row, cut on several threads."""
        prepared = [self.prepared(text) for text in texts] if self.replacements else list(texts)
        encode = self.processor.encode
        if len(prepared) == 1:
            # As part of a list it would be given to a thread.
            flat = encode(prepared[0], return_type="numpy")
            return CutTexts(self.table[flat], np.array([len(flat)], dtype=np.int64))
        if sum(map(len, prepared)) >= NUM_LONG_LETTERS * len(prepared):
            rows = encode(prepared, num_threads=num_threads, return_type="numpy")
            flat = np.concatenate([np.zeros(0, dtype=np.int32), *rows])
        else:
            rows = encode(prepared, num_threads=num_threads)
            flat = np.fromiter(chain.from_iterable(rows), dtype=np.int32)
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        return CutTexts(self.table[flat], lengths)

    def encode_cut(self, text: str) -> Ids:
        """Returns the ids of text that is already cut; marks of ours in it are unknown pieces."""
        ids = [self.id_of_text.get(piece, UNKNOWN_ID) for piece in text.split()]
        return np.array(ids, dtype=np.int32)

    def encode_all_cut(self, texts: Sequence[str]) -> CutTexts:
        """Returns the ids of many texts that are already cut, in one row."""
        rows = [self.encode_cut(text) for text in texts]
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        return CutTexts(np.concatenate([np.zeros(0, dtype=np.int32), *rows]), lengths)

    def decode(self, ids: Sequence[int] | Ids) -> str:
        """Returns the text of ids; special pieces have none, but for the unknown one."""
        if wrong := [int(number) for number in ids if not 0 <= number < self.size]:
            raise TokenizerError(
                f"There is no piece {wrong[0]:,}: the vocabulary has those from 0 to "
                f"{self.size - 1:,}. Use the tokenizer that made these ids."
            )
        pieces = [self.vocabulary[number] for number in ids]
        kept = [piece for piece in pieces if piece == UNKNOWN or piece not in self.special_pieces]
        if not self.pieces_of_model.issuperset(kept):
            # A dictionary may have pieces that its model lacks and could not join.
            spelled = b"".join(piece_bytes(piece) or piece.encode() for piece in kept)
            return spelled.decode(errors="replace").replace(WORD_START, " ").removeprefix(" ")
        text: str = self.processor.decode_pieces(kept)
        return text

    @cached_property
    def pieces_of_model(self) -> frozenset[str]:
        """The pieces that the SentencePiece model itself knows, and the unknown one."""
        known = self.processor.id_to_piece(list(range(self.processor.get_piece_size())))
        return frozenset(known) | {UNKNOWN}

    @cached_property
    def special_pieces(self) -> frozenset[str]:
        """The pieces that stand for no text."""
        known = self.processor.id_to_piece(list(range(self.processor.get_piece_size())))
        controls = {
            piece for number, piece in enumerate(known) if self.processor.is_control(number)
        }
        # What was added has no text: it stands in angle brackets, as the basic pieces do.
        added = {piece for piece in self.vocabulary if piece[:1] == "<" and piece[-1:] == ">"}
        return frozenset(controls | (added - set(known)))

    def prepared(self, text: str) -> str:
        """Returns a text with what the vocabulary lacks written otherwise."""
        for old, new in self.replacements.items():
            text = text.replace(old, new)
        return text

    def with_pieces(self, pieces: Sequence[str]) -> "Tokenizer":
        """Returns a tokenizer that has these special pieces too, behind the ones it has."""
        missing = tuple(dict.fromkeys(piece for piece in pieces if piece not in self.id_of))
        return replace(self, vocabulary=self.vocabulary + missing) if missing else self

    def require(self, fingerprint: str, where: str) -> None:
        """Raises an error unless this is the tokenizer with which something was made."""
        if fingerprint != self.fingerprint:
            raise TokenizerError(
                f"{where} was made with the tokenizer {fingerprint[:12]}, but this one is "
                f"{self.fingerprint[:12]}. Use the tokenizer it was made with, or make it again."
            )
