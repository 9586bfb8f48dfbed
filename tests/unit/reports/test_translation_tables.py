"""Tables of a translator's scores say what was measured, and call no chance a difference."""

from dataclasses import asdict
from pathlib import Path

import pytest

from headstart.evaluation.translation import paired_bootstrap, translation_scores
from headstart.reports.translation_tables import translation_tables, verdict

TRUTH = [f"the {word} dog runs through the snow" for word in ("old", "big", "red", "shy")] * 5
FOUND = [line.replace("runs", "goes") for line in TRUTH]


def evaluation(num_too_long=0, **changes):
    scores = asdict(translation_scores(FOUND, TRUTH, num_samples=50))
    loss = {"nats": 1.23456, "num_pieces": 100, "num_too_long": num_too_long}
    made = {"scores": scores, "clean": None, "num_copied": 0, "loss": loss, "against": None}
    return made | changes


def test_a_table_has_scores_intervals_and_signatures():
    (table,) = translation_tables(Path("runs/de"), evaluation())
    scores = evaluation()["scores"]
    assert table.rows[0][:2] == ("BLEU", f"{scores['bleu']:.2f}")
    assert table.rows[2][1] == "1.2346"
    assert any("case:mixed" in note and "tok:13a" in note for note in table.notes)
    assert any(note.startswith("20 sentences") for note in table.notes)
    assert not any("too long" in note for note in table.notes)


def test_what_was_left_out_is_said():
    (table,) = translation_tables(Path("runs/de"), evaluation(num_too_long=1_234))
    assert any("1,234 pairs" in note for note in table.notes)


def test_what_was_learned_from_is_said_and_left_out_of_the_clean_test():
    clean = asdict(translation_scores(FOUND[:5], TRUTH[:5], num_samples=50))
    (table,) = translation_tables(Path("runs/de"), evaluation(clean=clean, num_copied=15))
    assert table.rows[2][:2] == ("BLEU, clean test", f"{clean['bleu']:.2f}")
    assert any(note.startswith("15 sources are among") for note in table.notes)
    (table,) = translation_tables(Path("runs/de"), evaluation(num_copied=None))
    assert any("copies are not known" in note for note in table.notes)


def test_two_runs_stand_side_by_side():
    against = asdict(paired_bootstrap(TRUTH, FOUND, TRUTH, num_samples=50))
    found = evaluation(against=against)
    _, table = translation_tables(Path("one"), found, Path("two"))
    assert table.title == "one against two"
    assert table.rows[0][1] == "100.00"
    assert table.rows[0][3].startswith("+")
    assert "clearly above" in table.notes[0]


@pytest.mark.parametrize(
    ("difference", "low", "high", "p", "words"),
    [
        (1.0, 0.2, 1.9, 0.01, "clearly above"),
        (-1.0, -1.9, -0.2, 0.01, "clearly below"),
        (1.0, 0.2, 1.9, 0.06, "neither"),
        (1.0, -0.1, 2.0, 0.04, "neither"),
        (0.0, 0.0, 0.0, 1.0, "neither"),
    ],
)
def test_a_verdict_needs_the_interval_and_the_p(difference, low, high, p, words):
    assert words in verdict({"difference": difference, "low": low, "high": high, "p": p})
