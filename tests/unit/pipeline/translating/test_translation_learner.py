"""What a translator learns with: steps by their number, looks that are oracles' own, ends."""

from dataclasses import replace

import pytest
import torch
from sacrebleu.metrics import BLEU
from tiny_runs import translation_learner_of
from tiny_translators import begun_translator, translating, write_pairs

from headstart.batches.pair_shapes import MOST_SHAPES
from headstart.models.inputs import SourceAndTarget, Text
from headstart.objectives.translation import source_text
from headstart.pipeline import training_run
from headstart.pipeline.learner import ScoringStopped
from headstart.pipeline.run_files import read_results
from headstart.pipeline.run_folder import load_run
from headstart.pipeline.train_translator import train_translator
from headstart.pipeline.translating.greedy_translations import greedy_translations
from headstart.pipeline.translating.translation_learner import AT_THE_END, TranslationLook
from headstart.tokenizers.pieces import END_ID, START_ID
from headstart.training.config import PlanConfig
from headstart.training.recorded import key_of

LOOK = TranslationLook(epoch=1.0, loss=2.0, num_pieces=10, bleu=30.0, num_sentences=5)


@pytest.fixture(scope="module")
def learner(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learner")
    write_pairs(folder / "pairs")
    return translation_learner_of(begun_translator(folder / "run", translating(folder / "pairs")))


@pytest.fixture(scope="module")
def model(learner):
    """A model that writes something: its weights are shaken."""
    made = learner.new_model().eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weights in made.parameters():
            weights += 0.3 * torch.randn(weights.shape, generator=generator)
    return made


def test_more_bleu_is_better_and_of_equals_the_lower_loss():
    looks = [
        replace(LOOK, bleu=31.0, loss=900.0),
        LOOK,
        replace(LOOK, loss=2.1),
        replace(LOOK, bleu=29.99, loss=0.1),
    ]
    assert sorted(looks, key=lambda look: look.total) == looks
    assert replace(LOOK, loss=float("inf")).total == float("inf")


def test_a_step_is_a_function_of_its_number(learner):
    later = learner.batches(7)
    for step in range(7):
        learner.batches(step)
    again = learner.batches(7)
    assert [batch.names for batch in later] == [batch.names for batch in again]
    assert all(
        torch.equal(one.target_M, other.target_M) for one, other in zip(later, again, strict=True)
    )


def test_an_epoch_reads_each_pair_once_and_its_pieces_are_counted(learner):
    names, num_tokens = [], 0
    for step in range(learner.steps_per_epoch):
        for batch in learner.batches(step):
            names += batch.names
            num_tokens += batch.num_tokens
    assert sorted(names) == sorted(str(place) for place in learner.pairs.train.places)
    assert learner.num_tokens(learner.steps_per_epoch) == num_tokens
    end = learner.steps_per_epoch
    two_more = [batch.num_tokens for step in (end, end + 1) for batch in learner.batches(step)]
    assert learner.num_tokens(end + 2) == num_tokens + sum(two_more)


def test_where_steps_are_recorded_an_epoch_has_few_shapes_and_each_pair_once(learner, monkeypatch):
    monkeypatch.setattr(PlanConfig, "can_record", True)
    assert not learner.is_recorded, "a step in parts is not one launch"
    recipe = learner.recipe
    whole = replace(recipe, learning=replace(recipe.learning, accumulation=1))
    shaped, again = (replace(learner, recipe=whole) for _ in range(2))
    batches = [shaped.batches(step) for step in range(shaped.steps_per_epoch)]
    assert {len(parts) for parts in batches} == {1}
    assert len({key_of(batch) for (batch,) in batches}) <= MOST_SHAPES
    names = [name for (batch,) in batches for name in batch.names]
    assert sorted(names) == sorted(str(place) for place in shaped.pairs.train.places)
    num_tokens = sum(batch.num_tokens for (batch,) in batches)
    assert shaped.num_tokens(shaped.steps_per_epoch) == num_tokens
    assert shaped.trainer(lambda *_: False).is_always_alike
    later = len(batches) + 3
    assert again.batches(later)[0].names == shaped.batches(later)[0].names


def test_on_a_processor_steps_are_as_they_come(learner):
    assert not learner.trainer(lambda *_: False).is_always_alike
    assert all(batch.share_M is None for batch in learner.batches(0))


def test_greedy_translations_are_those_of_a_plain_loop(learner, model):
    sources = learner.pairs.valid.sources
    seen = greedy_translations(model, sources, learner.tokenizers.target, "cpu")
    for source, text in zip(sources, seen, strict=True):
        ids: list[int] = []
        while len(ids) < 2 * max(map(len, sources)) + 16:
            written = Text(torch.tensor([[START_ID, *ids]]))
            pair = SourceAndTarget(source_text([source], "cpu"), written)
            with torch.no_grad():
                logits_V = model(pair)[0, -1]
            logits_V[[0, 1, 3]] = -torch.inf
            ids.append(int(logits_V.argmax()))
            if ids[-1] == END_ID:
                ids.pop()
                break
        assert text == learner.tokenizers.target.decode(ids)
    assert any(seen)


def test_a_processor_learns_to_translate_in_single_precision(learner):
    assert (learner.plan.device, learner.plan.precision) == ("cpu", "fp32")


def test_the_scores_are_sacrebleus_and_a_plain_mean_over_all_pieces(learner, model):
    look = learner.score(model, 1.0, "cpu")
    hypotheses = greedy_translations(
        model, learner.pairs.valid.sources, learner.tokenizers.target, "cpu"
    )
    expected = BLEU().corpus_score(hypotheses, [learner.pairs.references]).score
    assert look.bleu == pytest.approx(expected)
    nats, num_pieces = 0.0, 0
    for number in range(len(learner.pairs.valid.places)):
        batch = learner.to_batch(learner.pairs.valid, [number])
        with torch.no_grad():
            logits_TV = model(batch.pair)[0].log_softmax(-1)
        nats -= float(logits_TV[torch.arange(len(logits_TV)), batch.target_M].sum())
        num_pieces += len(batch.target_M)
    assert look.loss == pytest.approx(nats / num_pieces, rel=1e-5)
    assert look.num_pieces == num_pieces
    assert not model.training


def test_a_look_ends_when_nobody_wants_to_wait(learner, model):
    with pytest.raises(ScoringStopped):
        learner.score(model, 1.0, "cpu", lambda: True)


def test_a_run_ends_with_the_better_of_best_and_averaged_weights_and_keeps_both(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(training_run, "write_curves", lambda _folder: None)
    write_pairs(tmp_path / "pairs")
    run = train_translator(translating(tmp_path / "pairs"), tmp_path / "run")
    results = read_results(tmp_path / "run")
    other = {"best": "averaged", "averaged": "best"}[results["weights"]]
    assert (tmp_path / "run" / f"{other}.safetensors").is_file()
    assert not (tmp_path / "run" / f"{results['weights']}.safetensors").exists()
    assert run.target_tokenizer is run.tokenizer
    assert results["pairs"] == {"train": 150, "valid": 12}
    assert results["tokens"] > 0
    assert {"steps", "epochs", "best_step", "seconds", "tokens_per_second"} <= results.keys()
    again = load_run(tmp_path / "run", "cpu")
    look = translation_learner_of(tmp_path / "run").score(again.model, 0.0, AT_THE_END)
    assert look.bleu == pytest.approx(results["valid"]["bleu"])
    assert look.loss == pytest.approx(results["valid"]["loss"])
