"""What unit tests share: made-up comparisons, a reader of pages, the compiled kernels."""

import random
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from typing import Any

import pytest
import torch

from headstart.models.kernels.library import compiled_kernels, load_kernels, paths_for

# How good each kind is: at 100 labels, and how much more for each tenfold of labels.
WORTH = {
    "warm": (0.66, 0.10),
    "frozen": (0.64, 0.06),
    "tfidf": (0.60, 0.08),
    "cold": (0.53, 0.09),
    "majority": (0.505, 0.0),
}
SPREAD = {"warm": 0.010, "frozen": 0.006, "tfidf": 0.004, "cold": 0.022, "majority": 0.0}
NUM_TEST, NUM_CLEAN = 2_134, 2_081
# Elements of HTML that have no end.
ENDLESS = {"meta", "br", "hr", "col", "img", "link", "input", "wbr"}


def comparison_results(
    sizes: Sequence[int] = (250, 1_000),
    seeds: int = 3,
    kinds: Sequence[str] = tuple(WORTH),
    trunks: Sequence[str] = ("film-en",),
    labels: Sequence[str] = ("fresh", "rotten"),
    num_errors: int = 4,
    beyond: Sequence[int] = (),
) -> dict[str, Any]:
    """Returns a results.json as `compare` writes it; `beyond` are sizes for TF-IDF alone."""
    draw = random.Random(7)
    systems = system_rows(kinds, trunks)
    by_seed = {
        (system["key"], size): [accuracy(draw, system, size, trunks) for _ in range(seeds)]
        for system in systems
        for size in (*sizes, *(beyond if system["kind"] == "tfidf" else ()))
    }
    differences = difference_rows(systems, sizes, by_seed)
    return {
        "version": 1,
        "made": made(),
        "question": question(sizes, seeds, trunks, labels),
        "systems": systems,
        "scores": score_rows(by_seed),
        "differences": differences,
        "curves": curve_rows(draw, systems, sizes, by_seed),
        "epochs_to_cold_best": reaching_rows(systems, sizes, by_seed, seeds),
        "label_worth": worth_rows(systems, kinds, sizes),
        "verdict": verdict(differences, sizes),
        "leaks": leaks(trunks),
        "ledger": ledger(trunks),
        "errors": [
            error_row(number, systems, labels, sizes, seeds) for number in range(num_errors)
        ],
        "jobs": [
            {
                "system": system["key"],
                "size": size,
                "seed": seed,
                "folder": f"jobs/{system['key']}-{size}-{seed}",
                "seconds": 9.5,
                "state": "finished",
            }
            for system in systems
            for size in sizes
            for seed in range(seeds)
        ],
    }


def system_rows(kinds, trunks):
    rows = []
    for kind in kinds:
        of_trunks = trunks if kind in {"warm", "frozen"} else [None]
        for trunk in of_trunks:
            key = f"{kind}:{trunk}" if trunk and len(trunks) > 1 else kind
            rows.append({"key": key, "name": key, "kind": kind, "trunk": trunk})
    return rows


def accuracy(draw, system, size, trunks):
    start, slope = WORTH[system["kind"]]
    tenfolds = len(str(size)) - 3 + size / 10 ** len(str(size))
    trunk = trunks.index(system["trunk"]) if system["trunk"] else 0
    return start + slope * tenfolds - 0.02 * trunk + draw.gauss(0, SPREAD[system["kind"]])


def around(values, width=None):
    mean = sum(values) / len(values)
    half = width if width is not None else 0.018 + 0.8 * (max(values) - min(values))
    return {"mean": mean, "low": max(0.0, mean - half), "high": min(1.0, mean + half)}


def score_rows(by_seed):
    rows = []
    for (key, size), values in by_seed.items():
        for test, shift, num_items in (("full", 0.004, NUM_TEST), ("clean", 0.0, NUM_CLEAN)):
            for metric, worth in (
                ("accuracy", [value + shift for value in values]),
                ("macro_f1", [value + shift - 0.012 for value in values]),
                ("calibration_error", [(1 - value) / 9 for value in values]),
            ):
                rows.append(
                    {"system": key, "size": size, "test": test, "metric": metric}
                    | around(worth)
                    | {"num_seeds": len(values), "num_items": num_items, "by_seed": worth}
                )
    return rows


def difference_rows(systems, sizes, by_seed):
    warm = [system["key"] for system in systems if system["kind"] == "warm"]
    others = [system["key"] for system in systems if system["key"] not in warm[:1]]
    rows = []
    for size in sizes:
        for other in others:
            for test, num_items in (("clean", NUM_CLEAN), ("full", NUM_TEST)):
                of, to = by_seed[warm[0], size], by_seed[other, size]
                seen = around([a - b for a, b in zip(of, to, strict=True)], 0.024)
                low = seen["mean"] - 0.024
                p = 0.0004 if abs(seen["mean"]) > 0.05 else 0.04 if seen["mean"] > 0.02 else 0.31
                is_primary = other == "cold" and size == max(sizes) and test == "clean"
                rows.append(
                    {"of": warm[0], "to": other, "size": size, "test": test, "metric": "accuracy"}
                    | {"difference": seen["mean"], "low": low, "high": seen["high"], "p": p}
                    | {"p_corrected": None if is_primary else min(1.0, 4 * p)}
                    | {"is_primary": is_primary, "num_seeds": len(of), "num_items": num_items}
                )
    return rows


def curve_rows(draw, systems, sizes, by_seed):
    rows = []
    for system in systems:
        for size in sizes:
            ends = by_seed[system["key"], size]
            is_flat = system["kind"] in {"tfidf", "majority"}
            if system["kind"] == "majority":
                continue
            # A frozen trunk's epochs are cheap, so that it has more of them.
            num_epochs = 1 if is_flat else 30 if system["kind"] == "frozen" else 12
            epochs = list(range(1, num_epochs + 1))
            rate = {"warm": 0.9, "frozen": 0.5}.get(system["kind"], 0.22)
            each = [
                [
                    end if is_flat
                    else 0.5 + (end - 0.5) * (1 - 2.7 ** (-rate * epoch)) + draw.gauss(0, 0.004)
                    for epoch in epochs
                ]
                for end in ends
            ]  # fmt: skip
            points = [around([curve[at] for curve in each], 0.02) for at in range(len(epochs))]
            rows.append(
                {"system": system["key"], "size": size, "epochs": epochs, "by_seed": each}
                | {side: [point[side] for point in points] for side in ("mean", "low", "high")}
            )
    return rows


def reaching_rows(systems, sizes, by_seed, seeds):
    rows = []
    for system in systems:
        for size in sizes:
            if system["kind"] in {"warm", "frozen"} and ("cold", size) in by_seed:
                best = sum(by_seed["cold", size]) / seeds
                rows.append(
                    {"system": system["key"], "size": size, "cold_best": best, "cold_epoch": 10.3}
                    | {"epochs": 1.0 if system["kind"] == "warm" else None}
                    | {"num_seeds_reaching": seeds if system["kind"] == "warm" else 0}
                )
    return rows


def worth_rows(systems, kinds, sizes):
    return [
        {"system": systems[0]["key"], "against": against, "at_size": min(sizes)}
        | {"factor": 4.0, "low": 3.1, "high": None, "is_at_least": True}
        for against in ("cold", "tfidf")
        if against in kinds and len(sizes) > 1
    ]


def verdict(differences, sizes):
    primary = next((row for row in differences if row["is_primary"]), None)
    said = "Nothing was there to compare with."
    if primary is not None:
        points = [f"{100 * primary[key]:.1f}" for key in ("difference", "low", "high")]
        said = "Pretraining helps by {} points ({} to {}).".format(*points)
    return {
        "answer": "helps" if primary is not None else "no evidence",
        "sentences": [said, "It is worth at least 4 times the labels (3.1 or more)."],
        "better_line": None,
        "test": "clean",
        "size": max(sizes),
    }


def made():
    return {
        "date": "2026-11-15",
        "headstart": "0.1.0",
        "environment": {"python": "3.12.3", "torch": "2.13.0", "threads": 2, "cpu": "x86-64"},
        "command": "headstart compare --from film-en --train train.csv --test test.csv --out out",
        "seconds": 312.0,
    }


def question(sizes, seeds, trunks, labels):
    named = [
        {"name": trunk, "folder": f"runs/{trunk}", "recipe": "compact", "objective": "masked"}
        | {"parameters": 4_195_200, "sha256": f"{number:x}" * 64}
        for number, trunk in enumerate(trunks, 10)
    ]
    files = {
        split: {"path": f"{split}.csv", "sha256": sign * 64, "num_examples": count}
        for split, sign, count in (("train", "1", 8_530), ("valid", "2", 400), ("test", "3", 2_134))
    }
    settings = {"recipe": "compact", "length": 64, "sequences_per_step": 16, "epochs": 12}
    return {
        "trunks": named,
        **files,
        "test": files["test"] | {"num_clean": NUM_CLEAN},
        "labels": list(labels),
        "sizes": list(sizes),
        "seeds": list(range(seeds)),
        "settings": {
            "warm": settings | {"peak_rate": 0.0005},
            "cold": settings | {"peak_rate": 0.001},
            "frozen": settings | {"peak_rate": 0.01},
            "tfidf": {"words": [1, 2], "characters": [2, 5], "strengths": [0.1, 1.0, 10.0]},
        },
    }


def leaks(trunks):
    return {
        "findings": [
            {"kind": "exact", "split": "test", "source": "train", "items": 41, "found": []},
            {"kind": "near", "split": "test", "source": "train", "items": 12, "found": []},
        ],
        "sketches": [
            {"trunk": trunk, "split": split, "share": share, "known": known, "unjudged": 1_800}
            for trunk in trunks
            for split, share, known in (("train", 0.0003, 2), ("test", 0.0, 0))
        ],
        "num_clean": NUM_CLEAN,
        "num_test": NUM_TEST,
    }


def ledger(trunks):
    return {
        trunk: {
            "parameters": 4_195_200,
            "learning": {"warm": 4_195_586, "frozen": 386},
            "flops_per_text": 5.4e8,
            "peak_bytes": 412_000_000,
        }
        for trunk in trunks
    }


def error_row(number, systems, labels, sizes, seeds):
    text = f"A film that number {number} calls a triumph of dullness; I could not look away."
    return {
        "index": 17 * number,
        "text": text,
        "label": labels[number % len(labels)],
        "predicted": labels[(number + 1) % len(labels)],
        "probability": 0.99 - 0.01 * number,
        "system": systems[0]["key"],
        "size": max(sizes),
        "num_seeds_wrong": seeds,
        "num_seeds": seeds,
    }


@pytest.fixture(name="comparison_results")
def fixture() -> Callable[..., dict[str, Any]]:
    """The function that makes results up."""
    return comparison_results


class Reader(HTMLParser):
    """Keeps what a page says, and fails where its tags do not balance."""

    def __init__(self):
        super().__init__()
        self.open, self.texts, self.seen = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ENDLESS:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return "".join(self.texts)


def read_page(page: str) -> Reader:
    """Returns what a page says; its tags must balance."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(name="read_page")
def reader_fixture() -> Callable[[str], Reader]:
    """The function that reads pages."""
    return read_page


@pytest.fixture(scope="session")
def every_kernel() -> list[Any]:
    """The kernels for this processor, and for those that know less than it does."""
    if compiled_kernels() is None:
        pytest.skip("no code was built for this machine")
    return list(map(load_kernels, paths_for(torch.backends.cpu.get_cpu_capability())))
