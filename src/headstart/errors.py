"""Every exception Headstart raises, in one tree.

HeadstartError              one sentence for the person who typed the command; exit code 2
├── RecipeError             a recipe, or a question about one, that cannot be built
├── DataError               text, examples or pairs that are not what they should be
├── TokenizerError          a tokenizer that cannot be made, or is not the one that was used
│   └── TooFewTextsError    text that holds fewer different pieces than were asked for
├── FileError               a file that cannot be read or written
│   ├── DamagedFileError    a file whose bytes are not the ones that were written
│   ├── LockedError         a folder that another process is working in
│   └── UnreachableError    something published that cannot be fetched from here
├── RunError                a run that cannot be begun, found, used or gone on with
│   └── DivergedError       a loss or gradient that is no number
└── LedgerError             two derivations of one figure disagree; exit code 1
"""

from typing import ClassVar


class HeadstartError(Exception):
    """Says what went wrong, with which value and where, what is allowed and what to do."""

    exit_code: ClassVar[int] = 2


class RecipeError(HeadstartError):
    """A recipe, or a question about one, cannot be built."""


class DataError(HeadstartError):
    """Text, examples or pairs are not what they should be."""


class TokenizerError(HeadstartError):
    """A tokenizer cannot be made, or is not the one that was used before."""


class TooFewTextsError(TokenizerError):
    """A text holds fewer different pieces than were asked for."""

    def __init__(self, sentence: str, most: int = 0) -> None:
        super().__init__(sentence)
        self.most = most
        """The most pieces that the text allows."""


class FileError(HeadstartError):
    """A file cannot be read or written."""


class DamagedFileError(FileError):
    """A file's bytes are not the ones that were written."""


class LockedError(FileError):
    """Another process is working in the folder."""


class UnreachableError(FileError):
    """Something that is published elsewhere cannot be fetched from here."""


class RunError(HeadstartError):
    """A run cannot be begun, found, used or gone on with."""


class DivergedError(RunError):
    """A loss or a gradient is no number; the step that made it was not taken."""


class LedgerError(HeadstartError):
    """Two derivations of one figure disagree: a bug of ours, never of the user's."""

    exit_code = 1
