"""docs/compare.md describes results.json as it is: a real one, key by key, none left out."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from planted import HASTY, planted

from headstart.files import CACHE_VARIABLE

PAGE = Path(__file__).parents[2] / "docs" / "compare.md"
HEADING = re.compile(r"^### `(\w+)`$", re.MULTILINE)
NAME = re.compile(r"`([^`]+)`")
# What stands below these is named by systems and trunks.
NAMED_BY_USERS = {"settings", "shares", "ledger"}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The results of a comparison in which nothing was learned, as quick as one can be."""
    from headstart.pipeline import compare, training_run

    folder = tmp_path_factory.mktemp("compared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, str(folder / "cache"))
        patch.setattr(training_run, "write_curves", lambda _folder: None)
        patch.setattr(compare, "write_report", lambda _results, _folder: None)
        world = planted(folder, num_steps=1)
        # With all that can be asked, so that every key is there.
        wanted = world.comparison(
            sizes=(20, 40), num_seeds=1, settings=HASTY, unlabelled=(str(world.files.corpus),)
        )
        return compare.compare(wanted, folder / "out")


def keys_of(value: object, parent: str) -> Iterator[str]:
    """Yields the keys of an object and of all in it, but for names that users gave."""
    if isinstance(value, list):
        for item in value:
            yield from keys_of(item, parent)
    elif isinstance(value, dict):
        for key, item in value.items():
            if parent not in NAMED_BY_USERS:
                yield key
            yield from keys_of(item, "" if parent in NAMED_BY_USERS else key)


def described() -> dict[str, set[str]]:
    """Returns the keys that each part's table describes, by the part's name."""
    _, *pieces = HEADING.split(PAGE.read_text(encoding="utf-8"))
    found = dict(zip(pieces[::2], pieces[1::2], strict=True))
    return {
        part: {key for row in rows(text) for key in NAME.findall(row)}
        for part, text in found.items()
    }


def rows(text: str) -> list[str]:
    """Returns the first column of a table."""
    return [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")]


def test_every_part_is_described(results):
    assert set(described()) | {"version"} == set(results)


@pytest.mark.parametrize("part", described())
def test_every_key_is_described_and_every_description_is_of_a_key(results, part):
    assert described()[part] == set(keys_of(results[part], part))
