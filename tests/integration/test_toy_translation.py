"""A translator learns to copy sequences and to turn them around, without a single mistake."""

from dataclasses import replace

import pytest

from headstart.apps.recipes.small import small
from headstart.corpora.generated_pairs import GeneratedPairsConfig, write_generated_pairs
from headstart.pipeline import training_run
from headstart.pipeline.planning import Budget, Place
from headstart.pipeline.recipe import Recipe, with_vocabulary
from headstart.pipeline.run_files import read_results
from headstart.pipeline.train_translator import Translating, train_translator
from headstart.pipeline.translating.greedy_translations import greedy_translations
from headstart.pipeline.translating.pairs import PairsConfig


def toy_recipe() -> Recipe:
    """Returns `small` with one layer a side, and norms where they need no long warm-up."""
    recipe = with_vocabulary(small(), 300)
    trunk = recipe.model.trunk
    layer = replace(
        trunk.encoder.layer, width=64, feed_forward_width=128, dropout=0.0, norm_place="pre"
    )
    encoder, decoder = (
        replace(stack, layer=layer, num_layers=1, max_length=64)
        for stack in (trunk.encoder, trunk.decoder)
    )
    return replace(
        recipe,
        model=replace(recipe.model, trunk=replace(trunk, encoder=encoder, decoder=decoder)),
        length=16,
        sequences_per_step=32,
        learning=replace(recipe.learning, peak_rate=5e-3),
    )


@pytest.mark.parametrize("rule", ["reverse", "copy"])
def test_every_sequence_that_was_held_out_is_translated_exactly(rule, tmp_path, monkeypatch):
    monkeypatch.setattr(training_run, "write_curves", lambda _folder: None)
    config = GeneratedPairsConfig(
        rule=rule, num_train=3_000, num_valid=300, num_words=10, most_words=5
    )
    files = write_generated_pairs(tmp_path, config)
    wanted = Translating(
        recipe=toy_recipe(),
        pairs=PairsConfig(
            source=str(files.source),
            target=str(files.target),
            valid_source=str(files.valid_source),
            valid_target=str(files.valid_target),
        ),
        budget=Budget(num_steps=600 if rule == "reverse" else 400),
        place=Place(device="cpu", num_threads=1),
    )
    run = train_translator(wanted, tmp_path / "run")
    assert read_results(tmp_path / "run")["valid"]["bleu"] == pytest.approx(100)
    sources, targets = (
        path.read_text().splitlines() for path in (files.valid_source, files.valid_target)
    )
    learned = set(files.source.read_text().splitlines())
    assert not learned & set(sources)
    ids = [run.tokenizer.encode(text) for text in sources]
    assert greedy_translations(run.model, ids, run.target_tokenizer, "cpu") == targets
