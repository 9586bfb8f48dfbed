"""A transferred trunk as a scikit-learn classifier of texts."""

import contextlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from headstart.apps.recipes.finding import find_recipe
from headstart.apps.trunks.finding import find_run
from headstart.corpora.lines import is_whole
from headstart.errors import DataError, RecipeError
from headstart.files import write_bytes
from headstart.pipeline.classifier import Classifier, load_classifier, probabilities
from headstart.pipeline.examples import ExamplesConfig
from headstart.pipeline.free_folder import beginning
from headstart.pipeline.planning import Place
from headstart.pipeline.recipe import Recipe
from headstart.pipeline.run_files import (
    EXAMPLES_TABLE,
    MANIFEST_FILE,
    RECIPE_FILE,
    RESULTS_FILE,
    TOKENIZER_FOLDER,
    WEIGHTS_FILE,
    read_start_recipe,
)
from headstart.pipeline.this_machine import choose_device
from headstart.pipeline.transfer import Transferring, transfer
from headstart.transfers.config import Mode
from headstart.transfers.settings import TransferSettings, default_settings

COLD_RECIPE = "compact"
# All that a run's answers depend on; an estimator that was fitted carries it along.
KEPT_FILES = (RECIPE_FILE, WEIGHTS_FILE, RESULTS_FILE, MANIFEST_FILE)
# What an estimator makes again when it needs it.
LOADED = "_loaded"
# What parameters may be that others would take anything for; they are checked when it is fitted.
KINDS: Mapping[str, tuple[Any, str]] = {
    "pretrained": (
        str | PathLike | None,
        "the folder of a run, the name of a trunk in the box, or None for a cold start",
    ),
    "recipe": (str | Recipe | None, "a recipe, its name or file, or None for the usual one"),
    "rate": (Real | None, "a number, or None for the usual one"),
    "seed": (Integral, "a whole number, so that the same can be learned again"),
    "num_threads": (Integral | None, "a whole number, or None for the usual one"),
    "folder": (str | PathLike | None, "the folder to keep the run in, or None to keep none"),
}


class TextClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # they have no types
    """Learns labels of texts on a pretrained trunk, or from nothing, as scikit-learn expects it."""

    def __init__(  # noqa: PLR0913 - scikit-learn wants every parameter by its name
        self,
        pretrained: str | Path | None = "film-en",
        *,
        recipe: str | Recipe | None = None,
        mode: Mode = "full",
        epochs: int | None = None,
        rate: float | None = None,
        seed: int = 0,
        num_threads: int | None = None,
        device: str = "auto",
        folder: str | Path | None = None,
    ) -> None:
        self.pretrained = pretrained
        self.recipe = recipe
        self.mode = mode
        self.epochs = epochs
        self.rate = rate
        self.seed = seed
        self.num_threads = num_threads
        self.device = device
        self.folder = folder

    def fit(self, X: Sequence[str], y: Sequence[Any]) -> "TextClassifier":  # noqa: N803 - its name
        """Transfers the trunk to the labels of texts; a part of them chooses the best epoch."""
        self._check_kinds()
        texts = checked_texts(X)
        classes, codes = classes_and_codes(y, len(texts))
        names = names_of(classes)
        start = None if self.pretrained is None else find_run(self.pretrained)
        # Before anything is written: the examples of an earlier fit belong to its run.
        with place_of_run(self.folder) as folder, beginning(folder):
            table = folder / EXAMPLES_TABLE
            write_bytes(table, json_lines(texts, [names[code] for code in codes]))
            wanted = Transferring(
                recipe=self._trunk_recipe(start),
                examples=ExamplesConfig(train=str(table), draw=int(self.seed)),
                settings=self._settings(is_warm=start is not None),
                place=Place(
                    device=choose_device(self.device),
                    num_threads=plain(self.num_threads),
                    seed=int(self.seed),
                ),
                start=start,
            )
            transfer(wanted, folder)
            self.files_ = kept_files(folder)
        self.classes_ = classes
        self.__dict__.pop(LOADED, None)
        return self

    def predict(self, X: Sequence[str]) -> NDArray[Any]:  # noqa: N803 - its name
        """Returns the likeliest label of each text."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[likeliest]
        return labels

    def predict_proba(self, X: Sequence[str]) -> NDArray[np.float32]:  # noqa: N803 - its name
        """Returns the probability of each of `classes_` for each text, calibrated."""
        check_is_fitted(self, "files_")
        texts = checked_texts(X)
        classifier = self._classifier()
        columns = [classifier.labels.index(name) for name in names_of(self.classes_)]
        rows = list(probabilities(classifier, texts))
        found: NDArray[np.float32] = np.array(rows, dtype=np.float32).reshape(-1, len(columns))
        return found[:, columns]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != LOADED}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def _check_kinds(self) -> None:
        """Raises an error for a parameter that is nothing it may be."""
        for name, (kinds, allowed) in KINDS.items():
            value = getattr(self, name)
            if not isinstance(value, kinds) or isinstance(value, bool):
                raise RecipeError(f"{name} is {value!r}; it must be {allowed}.")

    def _trunk_recipe(self, start: Path | None) -> Recipe:
        """Returns the recipe of the trunk."""
        if start is not None:
            if self.recipe is not None:
                raise RecipeError(
                    f"recipe is {self.recipe!r}, but pretrained={str(self.pretrained)!r} brings "
                    "its own. Leave one out."
                )
            return replace(read_start_recipe(start), plan=None)
        chosen = COLD_RECIPE if self.recipe is None else self.recipe
        return chosen if isinstance(chosen, Recipe) else find_recipe(chosen)

    def _settings(self, *, is_warm: bool) -> TransferSettings:
        """Returns the usual settings with what was given put in its place."""
        settings = default_settings(self.mode, is_warm=is_warm)
        # Said again, so that a mode that does not exist is told.
        settings = replace(settings, transfer=replace(settings.transfer, mode=self.mode))
        if self.epochs is not None:
            # Whoever names a number of epochs means it, however short they are.
            settings = replace(settings, epochs=plain(self.epochs), fewest_steps=0)
        if self.rate is not None:
            learning = replace(settings.learning, peak_rate=plain(self.rate))
            settings = replace(settings, learning=learning)
        return settings

    def _classifier(self) -> Classifier:
        """Returns the classifier in memory, loaded once from the files that were kept."""
        if not hasattr(self, LOADED):
            with tempfile.TemporaryDirectory() as folder:
                for name, data in self.files_.items():
                    write_bytes(Path(folder, name), data)
                setattr(self, LOADED, load_classifier(Path(folder), choose_device(self.device)))
        loaded: Classifier = getattr(self, LOADED)
        return loaded


def plain(value: Any) -> Any:
    """Returns a number of numpy, as a grid of settings has them, as one of Python's."""
    return value.item() if isinstance(value, np.generic) else value


def checked_texts(given: Sequence[str]) -> list[str]:
    """Returns texts as a list, or says which of them is none."""
    if isinstance(given, str | bytes):
        raise DataError("X is one text. Give a list of texts, even of a single one.")
    texts = list(given)
    for index, text in enumerate(texts):
        # A string of numpy is one of Python's too.
        if not isinstance(text, str):
            raise DataError(
                f"X[{index}] is a {type(text).__name__}, and no text. Give a list, an array or a "
                "column of texts."
            )
        if "\0" in text or not is_whole(text):
            raise DataError(f"X[{index}] holds a NUL or half a letter: {text[:40]!r}. Mend it.")
    return [str(text) for text in texts]


def classes_and_codes(
    given: Sequence[Any], num_texts: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Returns the different labels in order, and the number of each text's label among them."""
    labels = np.asarray(given)
    if labels.ndim != 1 or len(labels) != num_texts:
        raise DataError(
            f"y has the shape {labels.shape} for {num_texts:,} texts. Give one label a text."
        )
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise DataError(
            f"The labels in y cannot be sorted ({error}). Give labels of one kind."
        ) from error
    if len(classes) < 2:
        raise DataError(
            f"y has {len(classes)} different labels; at least two are needed to tell apart."
        )
    if any(label != label for label in classes.tolist()):
        raise DataError("y holds a label that is no number (NaN). Leave out texts without labels.")
    return classes, codes


def names_of(classes: NDArray[Any]) -> list[str]:
    """Returns what the run calls the labels: as they are, where that can be told apart."""
    names = [str(label) for label in classes.tolist()]
    are_plain = all(name == name.strip() and name and is_whole(name) for name in names)
    is_told_apart = len(set(names)) == len(names) and not any("\0" in name for name in names)
    return names if are_plain and is_told_apart else list(map(str, range(len(names))))


def json_lines(texts: Sequence[str], labels: Sequence[str]) -> bytes:
    """Returns examples as a table with one JSON object a line, whatever letters they hold."""
    rows = ({"text": text, "label": label} for text, label in zip(texts, labels, strict=True))
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@contextlib.contextmanager
def place_of_run(folder: str | Path | None) -> Iterator[Path]:
    """Yields where the run is kept: in its folder, or nowhere for longer than it takes."""
    if folder is not None:
        yield Path(folder)
        return
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def kept_files(folder: Path) -> dict[str, bytes]:
    """Returns the files on which a run's answers depend, by their paths in it."""
    tokenizer = [path.relative_to(folder) for path in (folder / TOKENIZER_FOLDER).iterdir()]
    paths = [*map(Path, KEPT_FILES), *sorted(tokenizer)]
    return {path.as_posix(): (folder / path).read_bytes() for path in paths}
