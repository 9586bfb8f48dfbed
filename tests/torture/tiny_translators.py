"""Translators so small that a step takes a millisecond, of made-up pairs that are turned around."""

from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path

from tiny_runs import NUM_STEPS, look_often, tiny_recipe

from headstart.apps.recipes.small import small
from headstart.corpora.generated_pairs import (
    GeneratedPairFiles,
    GeneratedPairsConfig,
    generated_pairs,
    write_generated_pairs,
)
from headstart.models.config import EncoderDecoderConfig
from headstart.models.heads.config import LanguageHeadConfig, ModelConfig
from headstart.objectives.translation_config import TranslationConfig
from headstart.pipeline.planning import Budget, Place
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.train_translator import Translating, begin_translator
from headstart.pipeline.translating.pairs import PairsConfig
from headstart.pipeline.watch import Watch
from headstart.tokenizers.folder import save_tokenizer
from headstart.tokenizers.learning import TokenizerConfig, learn_tokenizer
from headstart.tokenizers.tokenizer import Tokenizer

PAIRS = GeneratedPairsConfig(num_train=150, num_valid=12, most_words=5)


def translator_recipe() -> Recipe:
    """Returns a translator with all that has a state or draws of its own: both averages, parts."""
    trunk = tiny_recipe("masked").model.trunk
    encoder = replace(trunk, vocabulary_size=290)
    decoder = replace(encoder, direction="causal", attends_to_source=True)
    return replace(
        small(),
        name="tiny",
        model=ModelConfig(
            trunk=EncoderDecoderConfig(encoder=encoder, decoder=decoder, shares_embedding=True),
            head=LanguageHeadConfig(is_tied=True, has_bias=False),
        ),
        length=16,
        sequences_per_step=8,
        learning=replace(small().learning, average_decay=0.9, accumulation=2, peak_rate=1e-2),
        translation=TranslationConfig(num_averaged=4, averaged_share=0.5),
    )


@cache
def pair_tokenizer() -> Tokenizer:
    lines = [source for source, _ in islice(generated_pairs(PAIRS), 400)]
    return learn_tokenizer(lines, TokenizerConfig(size=290))


def write_pairs(folder: Path, config: GeneratedPairsConfig = PAIRS) -> PairsConfig:
    """Writes pairs to learn from and to choose by, and the tokenizer that cuts them."""
    folder.mkdir(parents=True, exist_ok=True)
    save_tokenizer(pair_tokenizer(), folder / "tokenizer")
    return config_of(write_generated_pairs(folder, config))


def config_of(files: GeneratedPairFiles) -> PairsConfig:
    return PairsConfig(
        source=str(files.source),
        target=str(files.target),
        valid_source=str(files.valid_source),
        valid_target=str(files.valid_target),
    )


def pairs_in(folder: Path) -> PairsConfig:
    names = ("train.source", "train.target", "valid.source", "valid.target")
    source, target, valid_source, valid_target = (folder / f"{name}.txt" for name in names)
    return config_of(
        GeneratedPairFiles(
            source=source, target=target, valid_source=valid_source, valid_target=valid_target
        )
    )


def translating(folder: Path, num_steps: int = NUM_STEPS) -> Translating:
    """Returns what a tiny translator is asked to do with the pairs of a folder."""
    return Translating(
        recipe=translator_recipe(),
        pairs=pairs_in(folder),
        budget=Budget(num_steps=num_steps),
        place=Place(device="cpu", num_threads=1),
        tokenizer=folder / "tokenizer",
    )


def begun_translator(folder: Path, wanted: Translating) -> Path:
    """Makes the folder of a translator that has done no step, and looks often."""
    begin_translator(wanted, folder, Watch())
    look_often(folder)
    return folder
