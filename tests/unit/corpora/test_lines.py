"""Lines: what is text comes whole and numbered, what is not is said in one sentence or counted."""

import gzip
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.corpora.compression import Meter
from headstart.corpora.lines import NUM_LONGEST_BYTES, is_whole, read_lines
from headstart.corpora.places import Complaints
from headstart.errors import DataError

LONG = b"x" * (10 << 20)
NOT_UTF_8 = {
    "latin-1": "\u00e9".encode("latin-1"),
    "cut short": "\u20ac".encode()[:2],
    "overlong": b"\xc0\xaf",
    "half a surrogate pair": b"\xed\xa0\x80",
    "above the last code point": b"\xf4\x90\x80\x80",
}
LETTERS = st.characters(codec="utf-8", exclude_characters="\0\r\n\ufeff")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lines")


def written(folder, data: bytes, name="file.txt"):
    path = folder / name
    path.write_bytes(data)
    return path


def strict(path) -> list[tuple[int, str]]:
    return list(read_lines(path, Meter(), Complaints(skips_bad=False)))


def lenient(path) -> tuple[list[tuple[int, str]], Complaints]:
    complaints = Complaints(skips_bad=True)
    return list(read_lines(path, Meter(), complaints)), complaints


def refused(path) -> str:
    """Returns the one sentence with which a file is refused."""
    with pytest.raises(DataError) as caught:
        strict(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@settings(deadline=None, max_examples=200)
@given(
    lines=st.lists(st.text(LETTERS), min_size=1),
    end=st.sampled_from(["\n", "\r\n"]),
    has_mark=st.booleans(),
    is_ended=st.booleans(),
)
def test_lines_come_back_whatever_ends_them(folder, lines, end, has_mark, is_ended):
    text = end.join(lines) + end * (is_ended or not lines[-1])
    path = written(folder, b"\xef\xbb\xbf" * has_mark + text.encode())
    assert strict(path) == list(enumerate(lines, start=1))


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_only_line_ends_end_lines(folder, separator):
    assert strict(written(folder, f"a{separator}b\nc".encode())) == [
        (1, f"a{separator}b"),
        (2, "c"),
    ]


def test_a_mark_of_utf_8_is_text_anywhere_but_at_the_beginning(folder):
    path = written(folder, "\ufeffa\n\ufeffb\n".encode())
    assert strict(path) == [(1, "a"), (2, "\ufeffb")]


def test_an_empty_file_has_no_lines(folder):
    assert strict(written(folder, b"")) == []


@pytest.mark.parametrize("bad", NOT_UTF_8.values(), ids=NOT_UTF_8.keys())
@pytest.mark.parametrize("behind", [b"\n", b" more\r\n", b""])
def test_bytes_that_are_not_utf_8_are_named_by_file_line_and_place(folder, bad, behind):
    sentence = refused(written(folder, b"one\ntwo\nab" + bad + behind))
    assert f"{folder / 'file.txt'}, line 3: " in sentence
    for word in ("byte ", f"0x{bad[0]:02x}", "UTF-8", "--skip-bad"):
        assert word in sentence


@pytest.mark.parametrize("bad", [*NOT_UTF_8.values(), b"a\0b", LONG])
def test_bad_lines_are_skipped_counted_and_placed_where_that_is_asked_for(folder, bad):
    path = written(folder, b"good\n" + bad + b"\nbetter\n" + bad + b"\n" + bad)
    lines, complaints = lenient(path)
    assert lines == [(1, "good"), (3, "better")]
    assert sum(complaints.counts.values()) == 3
    summary = "\n".join(complaints.summary())
    for number in (2, 4, 5):
        assert f"{path}, line {number}" in summary


def test_a_summary_counts_all_and_shows_the_first_places_only(folder):
    path = written(folder, b"a\0\n" * 1_200)
    (line,) = lenient(path)[1].summary()
    assert "Skipped 1,200 rows" in line
    assert "line 1;" in line
    assert "line 4" not in line


def test_nothing_wrong_means_nothing_to_report(folder):
    assert lenient(written(folder, b"fine\n"))[1].summary() == []


@pytest.mark.parametrize("data", [b"\0", b"one\n\0\n", b"one\ntwo\0three\nfour\n"])
def test_a_nul_is_named_by_file_and_line(folder, data):
    number = data[: data.index(b"\0")].count(b"\n") + 1
    sentence = refused(written(folder, data))
    assert f"line {number}: " in sentence
    assert "NUL" in sentence


@pytest.mark.parametrize(
    ("before", "behind"), [(b"", b""), (b"one\n", b"\ntwo\n"), (b"one\n" * 1_500, b"\r\n")]
)
def test_a_line_of_10_mb_is_named_by_file_and_line(folder, before, behind):
    sentence = refused(written(folder, before + LONG + behind))
    number = before.count(b"\n") + 1
    assert f"{folder / 'file.txt'}, line {number:,}: " in sentence
    assert "longer than" in sentence


@pytest.mark.parametrize("num_over", [-1, 0])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_line_up_to_the_limit_is_read_whatever_ends_it(folder, num_over, end):
    line = b"x" * (NUM_LONGEST_BYTES + num_over)
    assert strict(written(folder, line + end)) == [(1, line.decode())]


@pytest.mark.parametrize("num_over", range(1, 4))
@pytest.mark.parametrize("end", [b"\nnext\n", b"\r\nnext\n"])
def test_what_follows_a_line_just_above_the_limit_keeps_its_number(folder, num_over, end):
    path = written(folder, b"x" * (NUM_LONGEST_BYTES + num_over) + end)
    lines, complaints = lenient(path)
    assert lines == [(2, "next")]
    assert sum(complaints.counts.values()) == 1


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]
)
@pytest.mark.parametrize("skips_bad", [False, True])
def test_another_encoding_of_unicode_is_never_read_as_text(folder, encoding, skips_bad):
    marked = "\ufeff" if encoding.endswith("e") else ""
    path = written(folder, f"{marked}first\nsecond\n".encode(encoding))
    with pytest.raises(DataError) as caught:
        list(read_lines(path, Meter(), Complaints(skips_bad=skips_bad)))
    assert str(path) in str(caught.value)
    assert encoding[:6].upper() in str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_refused_all_the_same(folder, encoding):
    assert "line 1" in refused(written(folder, "first\nsecond\n".encode(encoding)))


def test_nobody_is_told_to_skip_where_nothing_can_be_skipped(folder):
    path = written(folder, b"a\0b\n")
    with pytest.raises(DataError) as caught:
        list(read_lines(path, Meter(), Complaints(skips_bad=False, can_skip=False)))
    assert str(caught.value).endswith("Remove it.")


@pytest.mark.parametrize("beginning", [b"PK\3\4", b"%PDF-1.7\n", b"\xd0\xcf\x11\xe0"])
def test_a_spreadsheet_or_document_is_never_read_as_text(folder, beginning):
    assert "Save it as .csv or .txt" in refused(written(folder, beginning + b"abc\n"))


def test_a_file_that_is_not_there_is_named(folder):
    assert str(folder / "absent.txt") in refused(folder / "absent.txt")


def test_a_folder_in_place_of_a_file_is_named(folder):
    assert str(folder) in refused(folder)


def test_a_file_that_may_not_be_read_is_named(folder, monkeypatch):
    path = written(folder, b"text")

    def forbidden(*_arguments, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", forbidden)
    assert f"{path}: Permission denied" in refused(path)


@pytest.mark.parametrize(
    ("data", "skips_bad"), [(b"x" * (100 << 20), True), (b"y" * (1 << 20) + b"\n", False)]
)
def test_neither_a_line_of_100_mb_nor_a_file_of_200_mb_is_held(folder, data, skips_bad):
    path = folder / "large.txt.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for _ in range((200 << 20) // len(data)):
            stream.write(data)
    size = len(data)
    del data
    complaints = Complaints(skips_bad=skips_bad)
    tracemalloc.start()
    num_lines = sum(1 for _ in read_lines(path, Meter(), complaints))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert num_lines == (0 if skips_bad else (200 << 20) // size)
    assert sum(complaints.counts.values()) == (1 if skips_bad else 0)
    assert peak < 24 << 20


@pytest.mark.parametrize("half", [0xD800, 0xDBFF, 0xDC00, 0xDFFF])
def test_half_a_surrogate_pair_is_not_whole(half):
    assert not is_whole(f"a{chr(half)}b")


@pytest.mark.parametrize("text", ["", "plain", "caf\u00e9", "\ud7ff\ue000", "\U0001f600"])
def test_every_letter_is_whole(text):
    assert is_whole(text)
