"""Pretrain a small Transformer, swap its head, transfer it, and prove whether that helped."""

from importlib import import_module

__version__ = "0.1.0"

# Each public name and the module it comes from, with its name there where that is another;
# imported when first used, since most need torch.
_SOURCES = {
    "Budget": "headstart.pipeline.planning",
    "Comparison": "headstart.pipeline.comparing.config",
    "CorpusConfig": "headstart.pipeline.corpus_stores",
    "ExamplesConfig": "headstart.pipeline.examples",
    "HeadstartError": "headstart.errors",
    "LabelHead": "headstart.models.heads.label",
    "LanguageHead": "headstart.models.heads.language",
    "Model": "headstart.models.model",
    "PairsConfig": "headstart.pipeline.translating.pairs",
    "Place": "headstart.pipeline.planning",
    "Pretraining": "headstart.pipeline.pretrain",
    "Question": "headstart.pipeline.question",
    "Recipe": "headstart.pipeline.recipe",
    "SourceAndTarget": "headstart.models.inputs",
    "Text": "headstart.models.inputs",
    "TextClassifier": "headstart.apps.estimator",
    "TransferSettings": "headstart.transfers.settings",
    "Transferring": "headstart.pipeline.transfer",
    "Translating": "headstart.pipeline.train_translator",
    "TranslationSettings": "headstart.pipeline.translating.translation_settings",
    "Trunk": "headstart.models.trunks",
    "anatomy": "headstart.pipeline.anatomy",
    "compare": "headstart.pipeline.compare",
    "find_recipe": "headstart.apps.recipes.finding",
    "find_run": "headstart.apps.trunks.finding",
    "initialise": "headstart.models.initialisation",
    "load": "headstart.apps.trunks.loading",
    "new_head": "headstart.models.model",
    "new_model": "headstart.models.model",
    "pretrain": "headstart.pipeline.pretrain",
    "this_machine": "headstart.pipeline.this_machine",
    "train_translator": "headstart.pipeline.train_translator",
    "transfer": "headstart.pipeline.transfer",
    "translate": "headstart.pipeline.translate:translate_texts",
}
__all__ = ["__version__", *_SOURCES]


def __getattr__(name: str) -> object:
    """Imports a public name when it is first asked for."""
    if name not in _SOURCES:
        raise AttributeError(f"module 'headstart' has no attribute {name!r}")
    module, _, inner_name = _SOURCES[name].partition(":")
    return getattr(import_module(module), inner_name or name)


def __dir__() -> list[str]:
    """Lists the public names."""
    return __all__
