"""On text where it can be told, a run learns which sentence followed which."""

import random
from dataclasses import replace

from headstart import Budget, CorpusConfig, Place, Pretraining, pretrain
from headstart.apps.recipes.bert import bert
from headstart.evaluation.intervals import share_interval
from headstart.pipeline.run_files import read_results
from headstart.training.config import LearningConfig

TOPICS = ("mer", "feu", "bois", "ciel", "pain", "nuit")
NUM_DOCUMENTS = 1_500


def document(generator: random.Random) -> str:
    """Returns four sentences in the words of one topic."""
    topic = generator.choice(TOPICS)
    words = [f"{topic}{letter}" for letter in "abcdefgh"]
    sentences = [" ".join(generator.choices(words, k=5)).capitalize() + "." for _ in range(4)]
    return " ".join(sentences)


def tiny_bert():
    recipe = bert()
    trunk = recipe.model.trunk
    layer = replace(trunk.layer, width=32, num_heads=2, feed_forward_width=64, dropout=0.0)
    trunk = replace(trunk, vocabulary_size=320, num_layers=2, layer=layer)
    return replace(
        recipe,
        model=replace(recipe.model, trunk=trunk),
        length=64,
        sequences_per_step=16,
        learning=LearningConfig(peak_rate=5e-3),
    )


def test_next_sentence_is_told_better_than_by_a_coin(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path / "cache"))
    generator = random.Random(0)
    text = tmp_path / "topics.txt"
    text.write_text("\n".join(document(generator) for _ in range(NUM_DOCUMENTS)))
    wanted = Pretraining(
        recipe=tiny_bert(),
        corpus=CorpusConfig(corpus=(str(text),)),
        budget=Budget(num_steps=200),
        place=Place(device="cpu", num_threads=1),
    )
    pretrain(wanted, tmp_path / "run")
    scores = read_results(tmp_path / "run")["held_out"]
    num_right = round(scores["next_accuracy"] * scores["num_pairs"])
    low, _ = share_interval(num_right, scores["num_pairs"])
    assert scores["num_pairs"] >= 100
    assert low > 0.5
