"""The leak guard's findings for programs; the keys are documented in docs/check.md."""

from headstart.corpora.leaks.prepared import Item
from headstart.corpora.leaks.report import LeakReport

Json = dict[str, object]


def leak_json(report: LeakReport) -> Json:
    """Returns a report as JSON values."""
    return {
        "items": dict(report.num_items),
        "corpus_documents": report.num_corpus_documents,
        "clean": {split: kept.num_clean for split, kept in report.cleaned.items()},
        "strict": {split: kept.num_strict for split, kept in report.cleaned.items()},
        "copies": copies_json(report),
        "conflicts": {
            "texts": report.conflicts.num_texts,
            "items": report.conflicts.num_items,
            "inside": dict(report.conflicts.num_texts_inside),
            "across": report.conflicts.num_texts_across,
        },
        "labels": {
            balance.split: {
                "counts": dict(balance.num_items_of),
                "largest_share": balance.largest_share,
                "unseen": list(balance.unseen_labels),
                "missing": list(balance.missing_labels),
            }
            for balance in report.balances
        },
        "odd": [
            {"split": odd.split, "kind": odd.kind, "rule": odd.rule, "items": list(odd.indices)}
            for odd in report.oddities
        ],
    }


def copies_json(report: LeakReport) -> list[Json]:
    """Returns every comparison with all that it found."""
    exact: list[Json] = [
        {
            "kind": "exact",
            "split": copies.split,
            "source": copies.source,
            "items": copies.num_items,
            "found": [pair_json(copy.item, str(copy.of.place), 1.0) for copy in copies.copies],
        }
        for copies in report.exact
    ]
    near: list[Json] = [
        {
            "kind": "near",
            "split": copies.split,
            "source": copies.source,
            "items": copies.num_items,
            "found": [
                pair_json(pair.item, str(pair.of.place), pair.similarity) for pair in copies.pairs
            ],
        }
        for copies in report.near
    ]
    return exact + near + corpus_json(report)


def corpus_json(report: LeakReport) -> list[Json]:
    """Returns the comparisons with the pretraining text."""
    exact: list[Json] = [
        {
            "kind": "exact",
            "split": copies.split,
            "source": "corpus",
            "items": copies.num_items,
            "found": [pair_json(copy.item, str(copy.first), 1.0) for copy in copies.copies],
        }
        for copies in report.corpus_exact
    ]
    near: list[Json] = [
        {
            "kind": "near",
            "split": copies.split,
            "source": "corpus",
            "items": copies.num_items,
            "found": [
                pair_json(copy.item, str(copy.best), copy.similarity) for copy in copies.copies
            ],
        }
        for copies in report.corpus_near
    ]
    return exact + near


def pair_json(item: Item, of: str, similarity: float) -> Json:
    """Returns one copy: which item, where it stands, and what it copies."""
    return {"item": item.index, "place": str(item.place), "of": of, "similarity": similarity}
