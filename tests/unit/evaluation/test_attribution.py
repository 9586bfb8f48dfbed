"""What each piece adds to a decision, for every shape that is shipped."""

import numpy as np
import pytest
import torch
from tiny_classifiers import LABELS, SHAPES, recipe_of, run_of, sentence

from headstart.evaluation.attribution import attribute, margin_scale
from headstart.evaluation.integrated_gradients import MOST_GAP
from headstart.models.inputs import Text
from headstart.objectives.labels import label_logits, to_label_batch
from headstart.pipeline.text_rows import reader_of
from headstart.tokenizers.pieces import UNKNOWN_ID


def blank_rows(reader, rows):
    begin, end = len(reader.marks.before), len(reader.marks.behind)
    return [
        [*row[:begin], *[UNKNOWN_ID] * (len(row) - begin - end), *row[len(row) - end :]]
        for row in rows
    ]


@pytest.mark.parametrize("num_words", [6, 40])
@pytest.mark.parametrize("shape", SHAPES)
def test_shares_add_up_to_what_the_text_changes(shape, num_words):
    run = run_of(recipe_of(shape, "windows"))
    reader = reader_of(run)
    rows = reader.rows(sentence(5, num_words))
    blanks = blank_rows(reader, rows)
    scale = margin_scale(1, len(LABELS), 1.5)
    found = attribute(run.model, rows, blanks, scale)

    def margin(given):
        with torch.no_grad():
            (logits,) = label_logits(run.model, to_label_batch([given], [0], [""], "cpu")).numpy()
        return (logits[1] - np.delete(logits, 1).mean()) / 1.5

    assert found.end_value == pytest.approx(margin(rows), abs=1e-4)
    assert found.start_value == pytest.approx(margin(blanks), abs=1e-4)
    assert abs(found.total - (margin(rows) - margin(blanks))) <= 0.0101 * abs(
        margin(rows) - margin(blanks)
    )
    assert found.gap <= MOST_GAP
    assert [len(share) for share in found.by_way] == [len(row) for row in rows]
    # Marks stand in the blank rows too, so that they explain nothing.
    for row, blank, share in zip(rows, blanks, found.by_way, strict=True):
        is_same = torch.tensor(row) == torch.tensor(blank)
        assert not share[is_same].any()
        assert share[~is_same].abs().sum(dim=1).min() > 0


def test_shares_are_those_of_many_small_steps():
    run = run_of(recipe_of("compact-masked"))
    reader = reader_of(run)
    rows = reader.rows(sentence(7, 5))
    blanks = blank_rows(reader, rows)
    scale = margin_scale(0, len(LABELS), 1.0)
    found = attribute(run.model, rows, blanks, scale)
    model = run.model.double()
    table = model.trunk.embedding.tokens.weight
    start, end = table[torch.tensor(blanks[0])].detach(), table[torch.tensor(rows[0])].detach()
    slopes = torch.zeros_like(start)
    num_steps = 400
    # By writing each point into the table itself: another way into the trunk than a hook.
    tokens = torch.arange(len(rows[0]))[None]
    kept = table.detach().clone()
    for step in range(num_steps):
        point = start + (step + 0.5) / num_steps * (end - start)
        with torch.no_grad():
            table[: len(point)] = point
        model.zero_grad()
        text = Text(tokens)
        (model.head(model.trunk(text), text)[0] @ scale.double()).backward()
        slopes += table.grad[: len(point)] / num_steps
    with torch.no_grad():
        table.copy_(kept)
    expected = ((end - start) * slopes).sum(dim=1)
    found_pieces = found.by_way[0].double().sum(dim=1)
    difference = abs(found.end_value - found.start_value)
    torch.testing.assert_close(found_pieces, expected, atol=0.01 * difference, rtol=0)


def test_the_margin_of_two_labels_is_the_logarithm_of_their_odds():
    logits = torch.tensor([0.3, 1.9])
    shares = (logits / 2).softmax(dim=0)
    margin = (logits * margin_scale(1, 2, 2.0)).sum()
    assert float(margin) == pytest.approx(float((shares[1] / shares[0]).log()))
    assert margin_scale(2, 5, 1.0).sum() == pytest.approx(0, abs=1e-6)
