"""The objectives' losses against loops that ask one question at a time, in plain PyTorch."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from headstart.batches.packing import packed_rows
from headstart.evaluation.language import score_language
from headstart.models.inputs import Text
from headstart.objectives.batch import NEXT, NOTHING, PIECES, to_batch
from headstart.objectives.causal import shifted
from headstart.objectives.objective import StepRows
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer
from headstart.tokenizers.pieces import START_ID


def next_piece_nats(model, context: list[int], wanted: int) -> float:
    """What one piece costs behind one context, read alone."""
    logits_V = model(Text(torch.tensor([context])))[0, -1]
    return F.cross_entropy(logits_V[None], torch.tensor([wanted])).item()


@torch.no_grad()
@pytest.mark.parametrize("length", [5, 23, 60])
def test_packed_rows_cost_what_each_piece_costs_behind_its_own_context(toy, length):
    store, model = toy.store(toy.documents(6)), toy.model("causal")
    tokens = store.tokens(0, store.num_tokens).tolist()
    document_starts = set(store.document_starts.tolist())
    row_starts = np.array([0, 9, store.num_tokens - length - 1])
    batch = to_batch(shifted(packed_rows(store, row_starts, length + 1)), "cpu")
    expected = 0.0
    for start in row_starts.tolist():
        context = [tokens[start]]
        for place in range(start + 1, start + length + 1):
            if place in document_starts:
                context = [START_ID]
            expected += next_piece_nats(model, context, tokens[place])
            context.append(tokens[place])
    loss = toy.objective("causal").loss(model, batch)
    assert list(loss) == [PIECES]
    assert batch.counts[PIECES] == 3 * length
    assert loss[PIECES].item() == pytest.approx(expected, rel=1e-5)


@torch.no_grad()
def test_a_row_of_whole_documents_costs_the_sum_of_the_documents_alone(toy):
    store, model = toy.store(toy.documents(7)), toy.model("causal")
    # From the first document's end on, which is read as the second one's start.
    end = store.document_starts[1:2] - 1
    batch = to_batch(shifted(packed_rows(store, end, int(store.num_tokens - end[0]))), "cpu")
    expected = 0.0
    for start, stop in pairwise(store.document_starts[1:].tolist()):
        pieces = store.tokens(start, stop)
        read = torch.tensor([[START_ID, *pieces[:-1].tolist()]])
        logits_TV = model(Text(read))[0]
        expected += F.cross_entropy(logits_TV, torch.from_numpy(pieces), reduction="sum").item()
    loss = toy.objective("causal").loss(model, batch)[PIECES].item()
    assert loss == pytest.approx(expected, rel=1e-5)


@torch.no_grad()
def test_hidden_pieces_cost_what_each_costs_in_its_own_document_alone(toy):
    store, model = toy.store(toy.documents(12)), toy.model("masked")
    objective = toy.objective("masked", share=0.3)
    expected, seen, count = 0.0, 0.0, 0
    for rows in objective.held_out_rows(store, StepRows(length=40, sequences=2, seed=3)):
        seen += objective.loss(model, to_batch(rows, "cpu"))[PIECES].item()
        for read, documents, asked in zip(rows.tokens, rows.documents, rows.targets, strict=True):
            for number in np.unique(documents):
                is_own = documents == number
                logits_TV = model(Text(torch.from_numpy(read[is_own])[None]))[0]
                for place, wanted in enumerate(asked[is_own].tolist()):
                    if wanted != NOTHING:
                        expected -= logits_TV[place].log_softmax(-1)[wanted].item()
                        count += 1
    assert count > 50
    assert seen == pytest.approx(expected, rel=1e-5)


@torch.no_grad()
def test_both_losses_of_pairs_equal_a_loop_over_the_pairs(toy):
    store, model = toy.store(toy.documents(30)), toy.model("masked+next")
    objective = toy.objective("masked+next")
    expected, seen = {PIECES: 0.0, NEXT: 0.0}, {PIECES: 0.0, NEXT: 0.0}
    num_right = num_pairs = num_pieces = 0
    batches = []
    for rows in objective.held_out_rows(store, StepRows(length=48, sequences=2, seed=3)):
        batches.append(to_batch(rows, "cpu"))
        for name, value in objective.loss(model, batches[-1]).items():
            seen[name] += value.item()
        for number in np.unique(rows.documents[rows.is_token]):
            is_own = rows.documents == number
            text = Text(
                torch.from_numpy(rows.tokens[is_own])[None],
                segment_BT=torch.from_numpy(rows.segments[is_own])[None],
            )
            logits = model(text)
            asked = torch.from_numpy(rows.targets[is_own])
            is_asked = asked != NOTHING
            expected[PIECES] += F.cross_entropy(
                logits.language_BTV[0][is_asked], asked[is_asked], reduction="sum"
            ).item()
            wanted = torch.tensor([int(rows.follows[is_own][0])])
            expected[NEXT] += F.cross_entropy(logits.next_sentence_B2, wanted).item()
            num_right += int(logits.next_sentence_B2.argmax() == wanted)
            num_pairs += 1
            num_pieces += int(is_asked.sum())
    assert seen == pytest.approx(expected, rel=1e-5)
    scores = score_language(model, batches, pieces_per_byte=1.0)
    assert (scores.num_pairs, scores.num_pieces) == (num_pairs, num_pieces)
    assert scores.next_accuracy == num_right / num_pairs
    assert scores.next_loss == pytest.approx(expected[NEXT] / num_pairs, rel=1e-5)
    assert scores.loss == pytest.approx(expected[PIECES] / num_pieces, rel=1e-5)


@torch.no_grad()
def test_loss_perplexity_and_bits_for_each_byte_equal_a_sum_over_the_text(toy):
    documents = toy.documents(10)
    store, model = toy.store(documents), toy.model("causal")
    nats, count = 0.0, -1  # the very first piece is not asked for
    for number, text in enumerate(documents):
        pieces = [*toy.tokenizer.encode(text).tolist(), 2]
        context = [START_ID] if number else [pieces[0]]
        for piece in pieces[0 if number else 1 :]:
            nats += next_piece_nats(model, context, piece)
            context.append(piece)
        count += len(pieces)
    rows = toy.objective("causal").held_out_rows(
        # One row for the whole text, so that every piece has all of its document before it.
        store,
        StepRows(length=store.num_tokens - 1, sequences=1, seed=0),
    )
    batches = (to_batch(row, "cpu") for row in rows)
    scores = score_language(model, batches, store.num_tokens / store.num_bytes)
    num_bytes = sum(len(text.encode()) for text in documents)
    assert store.num_bytes == num_bytes
    assert scores.num_pieces == count
    assert scores.loss == pytest.approx(nats / count, rel=1e-5)
    assert scores.perplexity == pytest.approx(math.exp(nats / count), rel=1e-4)
    bits = nats / math.log(2) / num_bytes
    assert scores.bits_per_byte == pytest.approx(bits * (count + 1) / count, rel=1e-5)


@torch.no_grad()
def test_bits_for_each_byte_are_of_the_same_bytes_whatever_the_tokenizer(toy):
    documents = toy.documents(40)
    other = learn_tokenizer(toy.documents(300), TokenizerConfig(size=289))
    seen = {}
    for name, tokenizer in (("large", toy.tokenizer), ("small", other)):
        mine = replace(toy, tokenizer=tokenizer)
        store, model = mine.store(documents), mine.model("causal")
        # Every piece as likely as any other: the text then costs its pieces times log2 of all.
        model.head.weight.zero_()
        step = StepRows(length=48, sequences=2, seed=0)
        rows = mine.objective("causal").held_out_rows(store, step)
        batches = (to_batch(row, "cpu") for row in rows)
        scores = score_language(model, batches, store.num_tokens / store.num_bytes)
        assert scores.perplexity == pytest.approx(tokenizer.size, rel=1e-4)
        num_bytes = sum(len(text.encode()) for text in documents)
        bits = store.num_tokens * math.log2(tokenizer.size) / num_bytes
        assert scores.bits_per_byte == pytest.approx(bits, rel=1e-4)
        seen[name] = store.num_tokens, store.num_bytes, scores.bits_per_byte
    assert seen["large"][0] < seen["small"][0]
    assert seen["large"][1] == seen["small"][1]
    assert seen["large"][2] < seen["small"][2]
