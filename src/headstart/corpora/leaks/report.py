"""The leak guard as a whole: every comparison and every check, in one record."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from headstart.corpora.examples import Example
from headstart.corpora.leaks.balance import Balance, balances
from headstart.corpora.leaks.cleaning import Cleaned, cleaned
from headstart.corpora.leaks.conflicts import Conflicts, find_conflicts
from headstart.corpora.leaks.corpus_copies import CorpusCopies, CorpusCopyFinder
from headstart.corpora.leaks.corpus_near_copies import CorpusNearCopies, CorpusNearCopyFinder
from headstart.corpora.leaks.exact_copies import Copies, exact_copies
from headstart.corpora.leaks.languages import odd_languages
from headstart.corpora.leaks.lengths import empty_items, long_items
from headstart.corpora.leaks.near_copies import NearCopies, near_copies
from headstart.corpora.leaks.normalisation import words
from headstart.corpora.leaks.oddities import Oddity
from headstart.corpora.leaks.prepared import PreparedSplit, prepare
from headstart.corpora.leaks.scripts import odd_scripts
from headstart.corpora.places import Place

OnCount = Callable[[int], None]
# Often enough for a bar to move, seldom enough to cost nothing.
NUM_DOCUMENTS_BETWEEN_CALLS = 1_000


@dataclass(frozen=True)
class LeakReport:
    """All that the leak guard found; splits stand in the order train, valid, test."""

    num_items: Mapping[str, int]
    num_corpus_documents: int
    exact: tuple[Copies, ...]
    near: tuple[NearCopies, ...]
    corpus_exact: tuple[CorpusCopies, ...]
    """A record a split, or none where there is no corpus."""
    corpus_near: tuple[CorpusNearCopies, ...]
    conflicts: Conflicts
    balances: tuple[Balance, ...]
    oddities: tuple[Oddity, ...]
    cleaned: Mapping[str, Cleaned]
    """For every split but the first, which is the one trained on."""

    def num_copies(self, split: str, source: str) -> int:
        """Returns how many items of a split are exact copies of a source's."""
        return next(
            copies.num_items
            for copies in self.exact
            if (copies.split, copies.source) == (split, source)
        )


def check(
    splits: Mapping[str, Sequence[Example]],
    corpus: Iterable[tuple[Place, str]] | None = None,
    *,
    on_item: OnCount | None = None,
    on_document: OnCount | None = None,
) -> LeakReport:
    """Runs every comparison and check; the corpus is read once and never held.

    The splits come in the order in which they are used, such as train, valid, test: each is held
    against those before it. The callables are told how many items and documents were read so far.
    """
    prepared = prepare(splits, on_item)
    exact, near = exact_copies(prepared), near_copies(prepared)
    num_documents, corpus_exact, corpus_near = against(prepared, corpus, on_document)
    return LeakReport(
        num_items={split.name: split.num_items for split in prepared},
        num_corpus_documents=num_documents,
        exact=exact,
        near=near,
        corpus_exact=corpus_exact,
        corpus_near=corpus_near,
        conflicts=find_conflicts(splits, prepared),
        balances=balances(splits),
        oddities=tuple(found for split in prepared for found in oddities_of(split, splits)),
        cleaned={
            split.name: cleaned(
                split.name, split.num_items, (*exact, *corpus_exact), (*near, *corpus_near)
            )
            for split in prepared[1:]
        },
    )


def against(
    splits: Sequence[PreparedSplit],
    corpus: Iterable[tuple[Place, str]] | None,
    on_document: OnCount | None,
) -> tuple[int, tuple[CorpusCopies, ...], tuple[CorpusNearCopies, ...]]:
    """Streams a corpus past both comparisons, and counts its documents."""
    if corpus is None:
        return 0, (), ()
    exact, near = CorpusCopyFinder(splits), CorpusNearCopyFinder(splits)
    num_documents = 0
    for num_documents, (place, text) in enumerate(corpus, start=1):
        found = words(text)
        exact.see(place, found)
        near.see(place, found)
        if on_document and num_documents % NUM_DOCUMENTS_BETWEEN_CALLS == 0:
            on_document(num_documents)
    if on_document:
        on_document(num_documents)
    return num_documents, exact.found(), near.found()


def oddities_of(
    split: PreparedSplit, splits: Mapping[str, Sequence[Example]]
) -> tuple[Oddity, ...]:
    """Looks for each kind of odd item in a split."""
    examples = splits[split.name]
    return (
        empty_items(split),
        long_items(split, examples),
        odd_scripts(split, examples),
        odd_languages(split),
    )
