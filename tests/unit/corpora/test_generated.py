"""Made-up text: what was planted can be counted, and nothing else tells the labels apart."""

import csv
from collections import Counter

import pytest

from headstart.corpora.generated import (
    LABELS,
    GeneratedConfig,
    Language,
    generated_documents,
    generated_examples,
    write_generated,
)
from headstart.errors import DataError

CONFIG = GeneratedConfig(num_documents=300, purity=0.9)


def feelings(text: str, language: Language) -> Counter:
    """Returns how many words of each feeling a text has."""
    feeling_of = {word: index for index, words in enumerate(language.felt) for word in words}
    return Counter(feeling_of[w] for w in text.replace(".", "").split() if w in feeling_of)


def test_every_word_is_of_one_kind():
    language = Language(CONFIG)
    kinds = [*language.felt, language.neutral]
    assert [len(kind) for kind in kinds] == [100, 100, 40]
    assert len({word for kind in kinds for word in kind}) == 240


def test_documents_keep_to_one_feeling_as_often_as_they_were_told_to():
    language = Language(CONFIG)
    counts = [feelings(document, language) for document in generated_documents(CONFIG)]
    main = sum(max(count.values()) for count in counts)
    # 4,800 words: a deviation is less than half a point.
    assert main / sum(count.total() for count in counts) == pytest.approx(0.9, abs=0.02)
    num_praise = sum(count[1] > count[0] for count in counts)
    assert 100 < num_praise < 200


def test_a_label_says_which_words_prevail():
    language = Language(CONFIG)
    examples = list(generated_examples(CONFIG, "test", 1_000))
    assert Counter(label for _, label in examples) == {"blame": 500, "praise": 500}
    agreeing = sum(feelings(text, language)[LABELS.index(label)] for text, label in examples)
    assert agreeing / 2_000 == pytest.approx(0.9, abs=0.03)


def test_training_examples_use_no_word_that_is_not_shown():
    config = GeneratedConfig(shown_share=0.05)
    language = Language(config)
    shown = {word for words in language.felt for word in words[:5]} | set(language.neutral)
    used = {
        split: {
            word
            for text, _ in generated_examples(config, split, 400)
            for word in text.replace(".", "").split()
        }
        for split in ("train", "valid")
    }
    assert used["train"] == shown
    assert len(used["valid"]) > 200


def test_the_same_config_gives_the_same_text_and_splits_differ(tmp_path):
    first, second = (write_generated(tmp_path / name, CONFIG) for name in "ab")
    for split in ("corpus", "train", "valid", "test"):
        assert getattr(first, split).read_bytes() == getattr(second, split).read_bytes()
    rows = {
        split: list(csv.DictReader(getattr(first, split).read_text().splitlines()))
        for split in ("train", "valid", "test")
    }
    assert {split: len(found) for split, found in rows.items()} == {
        "train": 200,
        "valid": 100,
        "test": 400,
    }
    assert rows["train"][:10] != rows["valid"][:10] != rows["test"][:10]
    assert next(generated_documents(CONFIG)) != next(generated_documents(GeneratedConfig(seed=1)))


@pytest.mark.parametrize("wrong", [{"purity": 0.2}, {"shown_share": 0.0}, {"num_words": 0}])
def test_what_cannot_be_made_is_refused(wrong):
    with pytest.raises(DataError, match=r"is 0\.2;|is 0\.0;|\(0, "):
        GeneratedConfig(**wrong)
