"""Texts to the rows in which a classifier reads them: one that is cut, or several windows."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from headstart.corpora.lines import is_whole
from headstart.errors import DataError, RecipeError, RunError
from headstart.pipeline.feeding import Marks, marks_for
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.run_folder import Run
from headstart.tokenizers.pieces import UNKNOWN_ID
from headstart.tokenizers.tokenizer import Ids, Tokenizer
from headstart.transfers.config import LongTexts, TransferConfig

# What is shown of a text that cannot be read.
NUM_LETTERS_SHOWN = 40


@dataclass(frozen=True)
class TextReader:
    """Cuts texts into pieces and puts them between marks, no row longer than `length`."""

    tokenizer: Tokenizer
    marks: Marks
    length: int
    """Pieces of one row, the marks included."""
    long_texts: LongTexts

    def __post_init__(self) -> None:
        if self.room < 1:
            raise RecipeError(
                f"Rows of {self.length} have no room for text between {self.marks.num_pieces} "
                f"marks. Choose a length of at least {self.marks.num_pieces + 1}."
            )

    @property
    def room(self) -> int:
        """The pieces of text that one row has room for."""
        return self.length - self.marks.num_pieces

    def rows(self, text: str) -> list[list[int]]:
        """Returns the one row of a text, or its windows in order."""
        return self.rows_of_all([text])[0]

    def rows_of_all(self, texts: Sequence[str], num_threads: int = 1) -> list[list[list[int]]]:
        """Returns the rows of each text; all are cut in one go."""
        for text in texts:
            if not is_whole(text):
                raise DataError(
                    f"The text {text[:NUM_LETTERS_SHOWN]!r} has half a surrogate pair, which is "
                    "no letter. Mend the text, or leave it out."
                )
        cut = self.tokenizer.encode_all(texts, num_threads)
        ends = np.concatenate([[0], cut.lengths.cumsum()]).tolist()
        return [self._rows_of_pieces(cut.ids[begin:end]) for begin, end in pairwise(ends)]

    def _rows_of_pieces(self, ids: Ids) -> list[list[int]]:
        """Returns the rows of a text's pieces; there is always one, with at least one piece."""
        rows = [
            self.marks.around(ids[start : start + self.room].tolist())
            for start in window_starts(len(ids), self.room, self.long_texts)
        ]
        # A row without a piece cannot be pooled. Padding would be no piece, and other special
        # pieces say something; the unknown one stands for text of which nothing is known.
        return [row or [UNKNOWN_ID] for row in rows]


def window_starts(num_pieces: int, room: int, long_texts: LongTexts) -> list[int]:
    """Returns where each window of a text begins; the last of several is moved back to be full."""
    if long_texts == "cut" or num_pieces <= room:
        return [0]
    return [*range(0, num_pieces - room, room), num_pieces - room]


def transfer_of(folder: Path, recipe: Recipe) -> TransferConfig:
    """Returns the labels of a classifier's recipe and how it learned them."""
    if recipe.transfer is not None:
        return recipe.transfer
    if recipe.task == "translation":
        remedy = "Its recipe has two trunks; for labels pretrain one with one, such as compact."
    else:
        remedy = (
            "Make a classifier of it: "
            f"headstart transfer --from {folder} --train FILE --out CLASSIFIER"
        )
    raise RunError(f"{folder} is a {recipe.task} run and knows no labels. {remedy}")


def reader_of(run: Run) -> TextReader:
    """Returns how a classifier's run reads texts."""
    long_texts = transfer_of(run.folder, run.recipe).long_texts
    marks = marks_for(run.recipe.objective, run.tokenizer)
    return TextReader(run.tokenizer, marks, run.recipe.length, long_texts)
