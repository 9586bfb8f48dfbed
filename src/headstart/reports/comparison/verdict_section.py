"""What must be read first: the answer, what supports it, and the numbers behind it."""

from collections.abc import Iterator, Mapping

from headstart.reports.comparison.plain_values import show_value
from headstart.reports.comparison.record import Comparison, System
from headstart.reports.comparison.wording import (
    LENGTH_OF_NAME,
    headline,
    name_of,
    show_labels,
    show_percent,
)
from headstart.reports.figures.looks import looks
from headstart.reports.page.html import Html, element, escape, join, paragraph, user_text
from headstart.reports.shortening import shortened


def verdict_lead(comparison: Comparison) -> Html:
    """Returns the verdict, big, then its sentences, then every system's accuracy."""
    sentences = [
        paragraph(escape(text), "lead" if number == 0 else "")
        for number, text in enumerate(comparison.verdict.sentences)
    ]
    warnings = [paragraph(escape(text), "warning") for text in cautions(comparison)]
    return join(
        paragraph(escape(headline(comparison)), "verdict"),
        *sentences,
        *warnings,
        numbers(comparison),
        paragraph(escape(what_was_asked(comparison)), "note"),
    )


def numbers(comparison: Comparison) -> Html:
    """Returns the accuracy of every system with the most labels, and what each one is."""
    test, size = comparison.verdict.test, comparison.verdict.size
    look, items = looks(comparison), []
    for system in comparison.systems:
        score = comparison.score(system.key, size, test)
        if score is None:
            continue
        name = element("dt", user_text(name_of(comparison, system.key)))
        share = element("dd", escape(show_percent(score.mean)), {"class": "share"})
        what = element("dd", escape(explanation(system)), {"class": "soft"})
        items.append(
            element("div", [name, share, what], {"class": f"in-{look[system.key].colour_name}"})
        )
    if not items:
        return Html("")
    said = f"Right answers on the {test} test after learning from {show_labels(size)}:"
    return join(paragraph(escape(said)), element("dl", items, {"class": "numbers"}))


def explanation(system: System) -> str:
    """Returns what a kind of system is, in a few words."""
    trunk = shortened(system.trunk or "the trunk", LENGTH_OF_NAME)
    return {
        "warm": f"starts from {trunk}, all of it learns",
        "cold": "the same network, from nothing",
        "frozen": f"{trunk} as it is, only a head learns",
        "gradual": f"starts from {trunk}, which learns layer by layer from the top",
        "taught": f"starts from {trunk}, and learns from texts without labels too",
        "tfidf": "words and characters, logistic regression",
        "majority": "always the most frequent label",
    }[system.kind]


def cautions(comparison: Comparison) -> Iterator[str]:
    """Yields what a reader must know before believing any of it."""
    note = comparison.question.get("note")
    if isinstance(note, str) and note:
        yield note
    is_said = any("one seed" in text for text in comparison.verdict.sentences)
    if max((score.num_seeds for score in comparison.scores), default=0) == 1 and not is_said:
        yield "Only one seed was run: nothing here says how far another would have come."
    states = [job.get("state") for job in comparison.jobs]
    if unfinished := sum(state != "finished" for state in states):
        yield f"{unfinished:,} of {len(states):,} jobs had not finished when this was written."


def what_was_asked(comparison: Comparison) -> str:
    """Returns one line on the data: how many labels, seeds and test items."""
    labels, seeds = (comparison.question.get(key) for key in ("labels", "seeds"))
    parts = []
    if isinstance(labels, list):
        shown = ", ".join(shortened(str(label), LENGTH_OF_NAME) for label in labels[:8])
        parts.append(f"{len(labels):,} labels ({shown}{', …' if len(labels) > 8 else ''})")
    if isinstance(seeds, list):
        parts.append("1 seed" if len(seeds) == 1 else f"{len(seeds):,} seeds")
    test = comparison.question.get("test")
    if isinstance(test, Mapping) and isinstance(test.get("num_examples"), int):
        clean = test.get("num_clean")
        count = "all" if clean == test["num_examples"] else show_value(clean)
        of_them = "" if clean is None else f", {count} of them clean"
        parts.append(f"{test['num_examples']:,} test items{of_them}")
    return "; ".join(parts) + ("." if parts else "")
