"""Films never stand on two sides, and neither do copies of a snippet."""

import bz2
import csv
import io

import pytest

from headstart.corpora.leaks.normalisation import normalised
from headstart.corpora.named.rotten import MEMBER, prepare, sides_of

HEADER = ("category", "text", "movie_name", "has_plot_and_reviews")
NUM_FILMS = 60
SHARED = ["A film.", "so loud and so long", "An early favourite"]
VARIANTS = ["A film.", "So loud, and so long!", "an   early\nfavourite"]


def film(number):
    return f"the_film_{number}"


def rows():
    """Invents snippets of sixty films, some with copies of others, and plots with odd names."""
    for number in range(NUM_FILMS):
        for part in range(4):
            label = "fresh" if (number + part) % 3 else "rotten"
            yield label, f"snippet {part} of\nfilm {number}", film(number), "False"
        yield "fresh", SHARED[number % 3], film(number), "False"
        yield "rotten", VARIANTS[number % 3], film(number), "False"
        # The article stands at the end of a name that comes with a plot.
        yield "plot", f"In film {number}  something\nhappens.", f"film_{number}_the", "False"
    yield "plot", "", "silent_film", "False"
    yield "plot", "Nobody reviewed this.", "unseen", "False"


@pytest.fixture
def found(opened, tmp_path):
    table = io.StringIO()
    csv.writer(table).writerows([HEADER, *rows()])
    prepare(opened({MEMBER: bz2.compress(table.getvalue().encode())}), tmp_path)
    sides = {}
    for side in ("train", "valid", "test"):
        with (tmp_path / f"{side}.csv").open(newline="") as file:
            sides[side] = list(csv.DictReader(file))
    return sides, (tmp_path / "corpus.txt").read_text().splitlines()


def test_each_film_is_on_one_side(found):
    films = {side: {row["group"] for row in rows} for side, rows in found[0].items()}
    assert films["train"].isdisjoint(films["valid"] | films["test"])
    assert films["valid"].isdisjoint(films["test"])
    assert {side: len(names) for side, names in films.items()} == {
        "train": 47,
        "valid": 3,
        "test": 10,
    }


def test_no_snippet_has_a_copy_on_another_side(found):
    keys = {side: {normalised(row["text"]) for row in rows} for side, rows in found[0].items()}
    assert keys["train"].isdisjoint(keys["valid"] | keys["test"])
    assert keys["valid"].isdisjoint(keys["test"])


def test_the_test_keeps_all_of_its_snippets(found):
    assert len(found[0]["test"]) == 10 * 6


def test_every_snippet_that_is_nobodys_copy_is_there_with_its_label(found):
    written = {
        (row["text"], row["label"], row["group"]) for side in found[0].values() for row in side
    }
    for label, text, name, _ in rows():
        if label != "plot" and text.startswith("snippet"):
            assert (" ".join(text.split()), label, name) in written


def test_pretraining_sees_nothing_of_the_films_held_out(found):
    sides, corpus = found
    assert {row["text"] for row in sides["train"]} <= set(corpus)
    assert "Nobody reviewed this." in corpus
    held_out = {row["group"] for side in ("valid", "test") for row in sides[side]}
    for number in range(NUM_FILMS):
        has_plot = f"In film {number} something happens." in corpus
        assert has_plot == (film(number) not in held_out)
    keys = {normalised(line) for line in corpus}
    assert keys.isdisjoint(normalised(row["text"]) for row in sides["test"] + sides["valid"])


def test_every_line_is_one_text(found):
    assert all(line == " ".join(line.split()) and line for line in found[1])


def test_the_draw_of_films_never_changes():
    """Pins NumPy's stream, which its authors may change: the films tested on would change too."""
    sides = sides_of([f"{number:03}" for number in range(508)])
    tested = [name for name, side in sides.items() if side == "test"]
    validated = [name for name, side in sides.items() if side == "valid"]
    assert (len(tested), len(validated)) == (84, 25)
    assert tested[:5] == ["002", "005", "015", "018", "027"]
    assert validated[:5] == ["019", "083", "085", "089", "094"]
