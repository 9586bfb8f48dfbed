"""An explanation of a translation is of the pieces that were read and written."""

import math

import numpy as np
import pytest

from headstart.errors import DataError
from headstart.pipeline.explain_translation import (
    NUM_PIECES_SHOWN,
    explain_translation,
    write_translation_page,
)
from headstart.pipeline.translate import Alternative, Translation, translate_texts
from headstart.pipeline.translating.pair_scoring import pair_row, written_log_probabilities
from headstart.pipeline.translating.translation_settings import TranslationSettings
from headstart.tokenizers.pieces import END_ID


def translated(run, source, text, num_best=2):
    """What a translation would be like."""
    best = [
        Alternative(text=f"{text}{n}", score=-float(n), log_probability=-float(n))
        for n in range(num_best)
    ]
    return Translation(
        source=source,
        text=text,
        log_probability=-1.0,
        alternatives=tuple(best),
        notes=("split in 3",),
        ids=tuple(run.target_tokenizer.encode(text).tolist()),
    )


def test_maps_are_of_the_pieces_and_obey_the_mask(translator, texts):
    found = explain_translation(translator, translated(translator, texts[0], texts[1]))
    maps = found.maps
    row = pair_row(translator, texts[0], texts[1])
    num_source, num_target = len(row.source) + 1, len(row.target) + 1
    assert maps.source_pieces[-1] == maps.written_pieces[-1] == "<eos>"
    assert maps.read_pieces == ("<sos>", *maps.written_pieces[:-1])
    ids = [translator.tokenizer.id_of[piece] for piece in maps.written_pieces[:-1]]
    assert translator.tokenizer.decode(ids) == texts[1]
    for layers, shape in (
        (maps.source, (2, num_source, num_source)),
        (maps.target, (2, num_target, num_target)),
        (maps.across, (2, num_target, num_source)),
    ):
        assert [layer.shape for layer in layers] == [shape, shape]
        np.testing.assert_allclose(np.stack(layers).sum(axis=-1), 1, atol=1e-5)
    for layer in maps.target:
        assert not layer[:, ~maps.may_attend].any()
        assert (layer[:, maps.may_attend] > 0).all()
    assert maps.largest_future == 0
    assert maps.largest_gap < 1e-5


def test_pieces_have_the_probabilities_of_the_model(translator, texts):
    found = explain_translation(translator, translated(translator, texts[2], texts[3]))
    row = pair_row(translator, texts[2], texts[3])
    (expected,) = written_log_probabilities(translator, [row])
    assert [math.log(one.probability) for one in found.written] == pytest.approx(expected)
    assert [one.piece for one in found.written] == list(found.maps.written_pieces)
    assert [one.score for one in found.candidates] == [0.0, -1.0]
    assert found.notes == ("split in 3",)


@pytest.mark.parametrize("strategy", ["beam", "greedy"])
def test_what_was_written_has_the_probability_that_the_search_found(translator, texts, strategy):
    """Also where an untrained run writes what would be cut into other pieces."""
    how = TranslationSettings(strategy=strategy, num_best=3 if strategy == "beam" else 1)
    for found in translate_texts(translator, [*texts[:6], ""], how):
        seen = explain_translation(translator, found)
        assert [one.text for one in seen.candidates] == [one.text for one in found.alternatives]
        written = [translator.tokenizer.id_of[one.piece] for one in seen.written]
        assert written == [*found.ids, END_ID]
        assert translator.tokenizer.decode(written) == found.text
        logarithms = [math.log(one.probability) for one in seen.written]
        # What was cut off has no end, and what is empty was never searched for.
        has_end = found.source and not found.notes
        total = sum(logarithms if has_end else logarithms[:-1])
        assert total == pytest.approx(found.log_probability, abs=1e-3)


def test_of_many_pieces_the_first_are_shown(translator, texts):
    long = " ".join(texts[:6])
    found = explain_translation(translator, translated(translator, texts[0], long))
    assert len(found.maps.written_pieces) == NUM_PIECES_SHOWN < found.maps.num_target_pieces
    assert found.maps.across[0].shape[1] == NUM_PIECES_SHOWN
    assert len(found.written) == found.maps.num_target_pieces


def test_nothing_has_an_explanation_too(translator):
    found = explain_translation(translator, translated(translator, " ", "", num_best=0))
    assert found.maps.source_pieces == found.maps.written_pieces == ("<eos>",)
    assert found.maps.across[0].shape == (2, 1, 1)


def test_what_was_made_in_parts_is_refused(translator, texts):
    with pytest.raises(DataError, match="this run reads 64 at once"):
        explain_translation(translator, translated(translator, " ".join(texts[:20]), "chat"))


def test_a_page_is_one_file_that_points_at_nothing_outside(translator, texts, tmp_path, read_page):
    path = tmp_path / "page.html"
    write_translation_page(translator, translated(translator, texts[0], texts[1]), path)
    page = path.read_text(encoding="utf-8")
    assert "://" not in page
    read = read_page(page)
    assert texts[0] in read.text
    assert texts[1] in read.text
    assert sum(tag == "image" for tag, _ in read.seen) == 3 * 2 * 2 + 2
