"""Short texts of a home automation program in two languages: buttons, states, errors, hints.

Each component has translations/LANGUAGE.json: objects in objects, with a text at the end of every
path of keys. The same path in two languages is a pair. Placeholders such as {name} are kept.
"""

import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from headstart.corpora.leaks.normalisation import normalised
from headstart.corpora.named.copies import one_line
from headstart.corpora.named.data_set import DataSet
from headstart.corpora.named.members import open_member
from headstart.corpora.named.wheels import Wheel
from headstart.corpora.named.writing import write_lines
from headstart.randomness import derive_seed

SOURCE_FILE = re.compile(r"homeassistant/components/([^/]+)/translations/en\.json")
NUM_MOST_BYTES = 1 << 20

SIDES = ("train", "valid", "test")
TEST_PERCENT = 10
VALID_PERCENT = 5


@dataclass
class Translations:
    """The ways in which one source text was translated, and the sides on which it was met."""

    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    sides: set[str] = field(default_factory=set)


def prepare(wheel: zipfile.ZipFile, folder: Path, *, language: str) -> None:
    """Writes the pairs of each side as two files of as many lines."""
    for side, pairs in split_by_component(wheel, language).items():
        write_lines(folder / f"{side}.src", (source for source, _ in pairs))
        write_lines(folder / f"{side}.tgt", (target for _, target in pairs))


def split_by_component(wheel: zipfile.ZipFile, language: str) -> dict[str, list[tuple[str, str]]]:
    """Returns the pairs of each side: each source text once, with its most common translation.

    Components share many texts. What training has seen anywhere is left to it, so that the test
    holds only what is new.
    """
    known: dict[str, Translations] = {}
    for component, source, target in read_pairs(wheel, language):
        translations = known.setdefault(normalised(source), Translations())
        translations.pairs[source, target] += 1
        translations.sides.add(side_of(component))
    split: dict[str, list[tuple[str, str]]] = {side: [] for side in SIDES}
    for translations in known.values():
        side = next(side for side in SIDES if side in translations.sides)
        split[side].append(translations.pairs.most_common(1)[0][0])
    return split


def side_of(component: str) -> str:
    """Returns the side of a component, whatever other components there are."""
    percent = derive_seed(0, "home", component) % 100
    if percent < TEST_PERCENT:
        return "test"
    return "valid" if percent < TEST_PERCENT + VALID_PERCENT else "train"


def read_pairs(wheel: zipfile.ZipFile, language: str) -> Iterator[tuple[str, str, str]]:
    """Yields component, source and target wherever both have words, and not the same ones."""
    names = set(wheel.namelist())
    for name in sorted(filter(SOURCE_FILE.fullmatch, names)):
        translated = name.removesuffix("en.json") + f"{language}.json"
        if translated not in names:
            continue
        component = name.split("/")[2]
        targets = dict(read_texts(wheel, translated))
        for keys, source in read_texts(wheel, name):
            target = targets.get(keys, "")
            # A name, such as Bluetooth, is the same in both and teaches nothing.
            if normalised(target) not in {"", normalised(source)} and normalised(source):
                yield component, source, target


def read_texts(wheel: zipfile.ZipFile, name: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yields the texts of a file, each as one line, with the path of keys that leads to it."""
    with open_member(wheel, name, NUM_MOST_BYTES) as stream:
        yield from texts_below(json.load(stream), ())


def texts_below(value: object, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yields the texts inside a JSON value."""
    if isinstance(value, str):
        yield keys, one_line(value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from texts_below(inner, (*keys, key))


def home(language: str, language_name: str) -> DataSet:
    """Returns the data set of pairs from English into one language."""
    return DataSet(
        name=f"home-en-{language}",
        purpose=f"Short texts of a program in English and {language_name}, to translate.",
        licence="Apache-2.0",
        wheel=Wheel(
            distribution="homeassistant",
            version="2026.10.4",
            sha256="71843060980a763187d856a8ff170640f1e287a7b741334cd838c81404f1f452",
            num_bytes=62_697_538,
            ignores_python=True,
        ),
        file_names=tuple(f"{side}.{end}" for side in SIDES for end in ("src", "tgt")),
        prepare=partial(prepare, language=language),
    )


HOME_EN_DE = home("de", "German")
HOME_EN_FR = home("fr", "French")
