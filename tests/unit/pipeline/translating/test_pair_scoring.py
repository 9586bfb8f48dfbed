"""How likely given translations are: batched and padded, against one piece at a time."""

import functools
import operator

import pytest
import torch

from headstart.models.inputs import SourceAndTarget, Text
from headstart.pipeline.translating import pair_scoring
from headstart.pipeline.translating.pair_scoring import (
    PairRow,
    pair_row,
    parts,
    written_log_probabilities,
)
from headstart.tokenizers.pieces import END_ID, START_ID


def by_plain_loop(run, row):
    """The logarithms of the probabilities, each from a prefix of its own."""
    found = []
    with torch.no_grad():
        for place, wanted in enumerate(row.target_written):
            pair = SourceAndTarget(
                Text(torch.tensor([[*row.source, END_ID]])),
                Text(torch.tensor([[START_ID, *row.target[:place]]])),
            )
            logits = run.model(pair)[0, -1]
            found.append(float(logits.double().log_softmax(dim=0)[wanted]))
    return found


def test_scores_are_those_of_one_piece_at_a_time(translator, texts, monkeypatch):
    monkeypatch.setattr(pair_scoring, "NUM_TOKENS_AT_ONCE", 60)
    rows = [pair_row(translator, *pair) for pair in zip(texts[:9], texts[9:18], strict=True)]
    rows.append(pair_row(translator, "", ""))
    assert len(list(parts(rows))) > 1
    found = list(written_log_probabilities(translator, rows))
    assert len(found) == 10
    for row, scores in zip(rows, found, strict=True):
        assert scores == pytest.approx(by_plain_loop(translator, row), abs=1e-4)


def test_batches_keep_the_order_and_the_limit(monkeypatch):
    monkeypatch.setattr(pair_scoring, "NUM_TOKENS_AT_ONCE", 20)
    rows = [
        PairRow(source=(5,) * first, target=(6,) * second)
        for first, second in [(3, 2), (1, 8), (1, 1), (30, 2), (2, 2), (2, 2)]
    ]
    found = list(parts(rows))
    assert all(
        one is other
        for one, other in zip(functools.reduce(operator.iadd, found, []), rows, strict=True)
    )
    for batch in found:
        assert len(batch) == 1 or max(row.length for row in batch) * len(batch) <= 20
    assert not list(parts([]))


def test_marks_stand_where_training_put_them():
    row = PairRow(source=(7, 8), target=(9,))
    assert row.source_read == [7, 8, END_ID]
    assert row.target_read == [START_ID, 9]
    assert row.target_written == [9, END_ID]
    assert row.length == 3
