"""Pairs are aligned by their keys, each source stands once, and on one side."""

import json
import re

import pytest

from headstart.corpora.leaks.normalisation import normalised
from headstart.corpora.named.home import HOME_EN_DE, HOME_EN_FR, SIDES, side_of
from headstart.errors import DamagedFileError

NUM_COMPONENTS = 80


def texts(component, language):
    """Invents the texts of a component, with all that has to be left out."""
    return {
        "title": f"Title {language} {component}",
        "config": {
            "step": {"user": {"data": {"host": f"{language} host", "name": "Bluetooth"}}},
            "error": {"failed": f"Failed {language}:\n  {{error}} in {component}", "empty": ""},
        },
        "same": {"first": "Open the door" if language == "en" else f"{language} {component % 3}"},
        f"only_{language}": f"only {language}",
        "number": 3,
        "list": ["not a text of its own"],
    }


def members(languages=("en", "fr", "de")):
    return {
        f"homeassistant/components/part{component}/translations/{language}.json": json.dumps(
            texts(component, language)
        )
        for component in range(NUM_COMPONENTS)
        for language in languages
    }


def read(folder):
    return {
        side: list(
            zip(
                (folder / f"{side}.src").read_text().splitlines(),
                (folder / f"{side}.tgt").read_text().splitlines(),
                strict=True,
            )
        )
        for side in SIDES
    }


@pytest.fixture
def found(opened, tmp_path):
    others = {
        "homeassistant/components/part0/strings.json": "{",
        "homeassistant/components/../../evil/translations/en.json": "{",
        "homeassistant/components/part0/translations/en-GB.json": "{",
        "homeassistant/components/untranslated/translations/en.json": '{"a": "b"}',
    }
    HOME_EN_FR.prepare(opened(members() | others), tmp_path)
    return read(tmp_path)


def test_the_same_keys_in_two_languages_are_a_pair_with_its_placeholders(found):
    pairs = {pair for side in SIDES for pair in found[side]}
    for component in range(NUM_COMPONENTS):
        assert (f"Title en {component}", f"Title fr {component}") in pairs
        assert (
            f"Failed en: {{error}} in {component}",
            f"Failed fr: {{error}} in {component}",
        ) in pairs


def test_what_is_empty_untranslated_or_on_one_side_only_is_left_out(found):
    sources = {source for side in SIDES for source, _ in found[side]}
    assert sources.isdisjoint({"", "Bluetooth", "only en", "b"})
    assert not any("not a text" in source for source in sources)


def test_each_source_stands_once_and_on_one_side(found):
    keys = [normalised(source) for side in SIDES for source, _ in found[side]]
    assert len(set(keys)) == len(keys)


def test_a_source_has_its_most_common_translation(found):
    assert ("Open the door", "fr 0") in found["train"]


def test_what_training_has_seen_is_left_to_it(found):
    assert ("en host", "fr host") in found["train"]


def test_a_component_is_on_the_side_that_its_name_says(found):
    for side in SIDES:
        titles = [source for source, _ in found[side] if source.startswith("Title")]
        assert titles
        assert all(side_of("part" + re.findall(r"\d+", title)[0]) == side for title in titles)


def test_another_language_is_split_the_same_way(opened, tmp_path, found):
    (tmp_path / "de").mkdir()
    HOME_EN_DE.prepare(opened(members()), tmp_path / "de")
    german = read(tmp_path / "de")
    for side in SIDES:
        assert [source for source, _ in german[side]] == [source for source, _ in found[side]]
        assert all("fr" not in target.split() for _, target in german[side])


@pytest.mark.parametrize("content", ["{", "[" * 100_000, " " * (2 << 20), b"\xff"])
def test_a_translation_that_cannot_be_read_is_refused(opened, tmp_path, content):
    name = "homeassistant/components/part0/translations/fr.json"
    with pytest.raises(DamagedFileError, match=r"part0/translations/fr\.json"):
        HOME_EN_FR.prepare(opened(members() | {name: content}), tmp_path)
