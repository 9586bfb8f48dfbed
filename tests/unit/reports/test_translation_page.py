"""The page of a translation: one safe, small file that shows every map and every candidate."""

import re

import numpy as np
import pytest

from headstart.evaluation.translation_explanation import (
    Candidate,
    PairMaps,
    TranslationExplanation,
    WrittenPiece,
)
from headstart.reports.page import page_html
from headstart.reports.translation_page import translation_page

SOURCE = 'A <script>alert("x")</script> dog & more, see https://a.b/c \u202eabc'


def weights(num_layers, num_heads, num_rows, num_columns, seed=1):
    draw = np.random.default_rng(seed)
    return tuple(
        draw.dirichlet(np.ones(num_columns), size=(num_heads, num_rows)).astype(np.float32)
        for _ in range(num_layers)
    )


def explanation(num_source=5, num_target=4, num_layers=2, num_heads=3, **changes):
    written = (*tuple(f"▁w{n}" for n in range(num_target - 1)), "<eos>")
    maps = PairMaps(
        source_pieces=tuple(f"▁s{n}<" for n in range(num_source)),
        read_pieces=("<sos>", *written[:-1]),
        written_pieces=written,
        num_source_pieces=changes.pop("num_source_pieces", num_source),
        num_target_pieces=num_target,
        source=weights(num_layers, num_heads, num_source, num_source),
        target=tuple(
            np.tril(one) for one in weights(num_layers, num_heads, num_target, num_target)
        ),
        across=weights(num_layers, num_heads, num_target, num_source),
        may_attend=np.tri(num_target, dtype=bool),
        largest_gap=2.4e-7,
        largest_future=0.0,
    )
    made = {
        "run": "runs/de",
        "source": SOURCE,
        "text": "Ein <b>Hund</b>",
        "candidates": (
            Candidate(text="Ein <b>Hund</b>", score=-0.25),
            Candidate(text="Der Hund", score=-1.5),
        ),
        "notes": ("split in 3 <i>",),
        "written": tuple(WrittenPiece(piece=piece, probability=0.5) for piece in written),
        "maps": maps,
    }
    return TranslationExplanation(**made | changes)


def test_a_page_says_what_was_translated_and_what_else_was_found(read_page):
    page = page_html(translation_page(explanation(), "1.2"))
    read = read_page(page)
    for words in (SOURCE, "Ein <b>Hund</b>", "Der Hund", "-1.500", "split in 3 <i>", "50.0 %"):
        assert words in read.text
    assert "Run runs/de, by headstart 1.2." in read.text
    assert "future is 0, exactly" in read.text
    assert {"script", "b", "i"}.isdisjoint(tag for tag, _ in read.seen)


def test_there_is_a_map_for_every_layer_and_head_of_every_kind(read_page):
    read = read_page(page_html(translation_page(explanation(), "1")))
    images = [attributes for tag, attributes in read.seen if tag == "image"]
    assert len(images) == 3 * 2 * 3 + 2, "each head, the mean, and the mask"
    for layer in (1, 2):
        for head in (1, 2, 3):
            assert len(re.findall(rf"Layer {layer}, head {head};", read.text)) == 3


def test_a_page_points_at_nothing_outside_and_at_nothing_missing(read_page):
    page = page_html(translation_page(explanation(), "1"))
    assert "://" not in page
    read = read_page(page)
    names = [attributes["id"] for _, attributes in read.seen if "id" in attributes]
    assert len(names) == len(set(names))
    pointed = {
        attributes["href"].removeprefix("#")
        for tag, attributes in read.seen
        if "href" in attributes and tag != "image"
    }
    assert {"pieces-across", "pieces-source", "pieces-target"} <= pointed <= set(names)
    assert not any("src" in attributes for _, attributes in read.seen)


def test_what_was_cut_is_said(read_page):
    page = page_html(translation_page(explanation(num_source_pieces=90), "1"))
    assert "the first 5 of the 90 pieces of the source" in read_page(page).text


@pytest.mark.parametrize("text", ["", "x"])
def test_an_empty_translation_has_a_page_too(text, read_page):
    made = explanation(num_source=1, num_target=1, text=text, candidates=())
    read = read_page(page_html(translation_page(made, "1")))
    assert ("(nothing)" in read.text) == (not text)
    assert "The best translations" not in read.text


def test_thirty_pieces_in_a_base_model_fit_in_half_a_megabyte():
    made = explanation(num_source=30, num_target=30, num_layers=6, num_heads=8)
    assert len(page_html(translation_page(made, "1"))) < 512_000
