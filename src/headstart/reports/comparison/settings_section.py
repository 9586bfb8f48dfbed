"""What it takes to do it again: the command, the settings, the files and what ran it."""

from collections.abc import Iterator, Mapping

from headstart.reports.comparison.leak_section import listed
from headstart.reports.comparison.plain_values import pairs_of, show_value, side_by_side
from headstart.reports.comparison.record import Comparison
from headstart.reports.numbers import show_duration
from headstart.reports.page.document import Section
from headstart.reports.page.html import NOTHING, Html, element, escape, join, paragraph, user_text
from headstart.reports.page.tables import table_html

SPLITS = ("train", "valid", "test")
TRUNK_KEYS = ("name", "recipe", "objective", "folder")


def ledger_section(comparison: Comparison) -> Section:
    """Returns what each trunk costs: parameters, operations, memory."""
    body = NOTHING
    if comparison.ledger:
        body = table_html(side_by_side("What it costs", comparison.ledger))
    return Section(title="Ledger", body=body)


def settings_section(comparison: Comparison) -> Section:
    """Returns all that is needed to make the same numbers again."""
    settings = comparison.question.get("settings")
    return Section(
        title="To do it again",
        body=join(
            command(comparison.made),
            table_html(side_by_side("Settings of each system", settings))
            if isinstance(settings, Mapping) and settings
            else NOTHING,
            files(comparison.question),
            circumstances(comparison),
        ),
    )


def command(made: Mapping[str, object]) -> Html:
    """Returns the command that made the comparison."""
    typed = made.get("command")
    if not isinstance(typed, str):
        return NOTHING
    return element("pre", element("code", escape(typed)))


def files(question: Mapping[str, object]) -> Html:
    """Returns every file and trunk that went in, with its SHA-256."""
    items = []
    for split in SPLITS:
        file = question.get(split)
        if isinstance(file, Mapping):
            count = file.get("num_examples")
            of_them = "" if count is None else f", {show_value(count)} examples"
            items.append(file_html(split, f"{show_value(file.get('path'))}{of_them}", file))
    unlabelled = question.get("unlabelled")
    if isinstance(unlabelled, Mapping):
        items += [
            file_html("without labels", show_value(file.get("path")), file)
            for file in listed(unlabelled.get("files"))
        ]
    for trunk in listed(question.get("trunks")):
        known = [show_value(trunk[key]) for key in TRUNK_KEYS if key in trunk]
        items.append(file_html("trunk", ", ".join(known), trunk))
    if not items:
        return NOTHING
    return join(element("h3", escape("What went in")), element("dl", items))


def file_html(what: str, said: str, file: Mapping[str, object]) -> Html:
    """Returns a file or trunk, its SHA-256 below."""
    digest = file.get("sha256")
    inside = [user_text(said)]
    if digest is not None:
        inside += [element("br"), element("code", escape(show_value(digest)))]
    return join(element("dt", escape(what)), element("dd", inside))


def circumstances(comparison: Comparison) -> Html:
    """Returns seeds, versions, the machine and the time it took, a line each."""
    items = [
        join(element("dt", escape(name)), element("dd", escape(value)))
        for name, value in circumstance_pairs(comparison)
    ]
    heading = element("h3", escape("How and where"))
    return join(heading, element("dl", items)) if items else NOTHING


def circumstance_pairs(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Yields the name and the value of each circumstance."""
    names = {"labels": "labels", "sizes": "numbers of labels", "seeds": "seed numbers"}
    for key, name in names.items():
        if key in comparison.question:
            yield name, show_value(comparison.question[key])
    made = comparison.made
    if "headstart" in made:
        yield "Headstart", show_value(made["headstart"])
    if "date" in made:
        yield "made on", show_value(made["date"])
    seconds = made.get("seconds")
    if isinstance(seconds, int | float) and not isinstance(seconds, bool):
        # A job for all seeds has a row for each of them, and one folder.
        num_jobs = len({show_value(job.get("folder")) for job in comparison.jobs})
        count = f", {num_jobs:,} {'job' if num_jobs == 1 else 'jobs'}" if num_jobs else ""
        yield "time of all jobs together", f"{show_duration(seconds)}{count}"
    yield from pairs_of(made.get("environment") or {})


def footer(comparison: Comparison) -> Html:
    """Returns where the numbers of the page stand."""
    made = comparison.made
    said = (
        f"Headstart {show_value(made.get('headstart', ''))}. Every number on this page is drawn "
        "from results.json beside it."
    )
    return paragraph(escape(said))
