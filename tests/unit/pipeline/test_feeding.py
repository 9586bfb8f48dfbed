"""A run in use reads a text with the marks that its objective trained it on."""

import numpy as np

from headstart.batches.packing import PackedRows
from headstart.batches.sentence_pairs import SentencePair
from headstart.objectives.causal import shifted
from headstart.objectives.hiding import HidingConfig
from headstart.objectives.masked_and_next import MaskedAndNext
from headstart.objectives.table import OBJECTIVES
from headstart.pipeline.feeding import MARKS, marks_of
from headstart.tokenizers.pieces import END_ID

TEXT = [20, 21, 22]


def test_every_objective_has_its_marks():
    assert set(MARKS) == set(OBJECTIVES)


def test_causal_text_begins_as_documents_did_in_training(runs):
    packed = PackedRows(
        np.array([[30, END_ID, *TEXT, END_ID]]), np.array([[0, 0, 1, 1, 1, 1]]), np.array([0])
    )
    rows = shifted(packed)
    read = rows.tokens[rows.documents == 1].tolist()
    assert read == marks_of(runs["causal"]).around(TEXT)


def test_text_stands_between_marks_as_first_sentences_did_in_training(runs):
    run = runs["masked+next"]
    objective = MaskedAndNext(run.tokenizer, lambda *_: None, HidingConfig())
    pair = SentencePair(np.array(TEXT), np.array([30, 31]), does_follow=True, start=0)
    rows = objective.packed([pair], length=16)
    around = marks_of(run).around(TEXT)
    assert rows.tokens[0, : len(around)].tolist() == around
    assert not rows.segments[0, : len(around)].any()
