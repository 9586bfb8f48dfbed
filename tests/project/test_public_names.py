"""The public surface: what `import headstart` offers, and what it costs."""

import subprocess
import sys

import headstart

PUBLIC_NAMES = [
    "Budget",
    "Comparison",
    "CorpusConfig",
    "ExamplesConfig",
    "HeadstartError",
    "LabelHead",
    "LanguageHead",
    "Model",
    "PairsConfig",
    "Place",
    "Pretraining",
    "Question",
    "Recipe",
    "SourceAndTarget",
    "Text",
    "TextClassifier",
    "TransferSettings",
    "Transferring",
    "Translating",
    "TranslationSettings",
    "Trunk",
    "__version__",
    "anatomy",
    "compare",
    "find_recipe",
    "find_run",
    "initialise",
    "load",
    "new_head",
    "new_model",
    "pretrain",
    "this_machine",
    "train_translator",
    "transfer",
    "translate",
]


def test_the_public_names_are_these():
    assert sorted(headstart.__all__) == PUBLIC_NAMES
    assert sorted(dir(headstart)) == PUBLIC_NAMES


def test_every_public_name_can_be_had_and_is_documented():
    for name in PUBLIC_NAMES:
        value = getattr(headstart, name)
        assert name == "__version__" or value.__doc__, name


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(headstart, "no_such_name")


def test_importing_headstart_imports_no_torch():
    code = "import headstart, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
