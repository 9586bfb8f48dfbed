"""What is written in each layout is what a reader of that layout finds."""

import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.corpora.named.writing import write_documents, write_lines

# Half a surrogate pair has no UTF-8, and a NUL no place in a CSV file.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@settings(deadline=None)
@given(documents=st.lists(TEXTS, max_size=5))
def test_documents_keep_their_line_ends(documents):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.jsonl"
        write_documents(path, documents)
        lines = path.read_bytes().split(b"\n")
        assert [json.loads(line) for line in lines[:-1]] == [{"text": text} for text in documents]
        assert lines[-1] == b""


def test_lines_are_in_their_order(tmp_path):
    write_lines(tmp_path / "corpus.txt", ["b", "ä", ""])
    assert (tmp_path / "corpus.txt").read_bytes() == "b\nä\n\n".encode()
