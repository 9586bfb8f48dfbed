"""How good each system is on the test: by labels, in tables, and against one another."""

from headstart.reports.comparison.record import Comparison
from headstart.reports.comparison.wording import name_of, show_labels, show_pair, show_score
from headstart.reports.comparison_tables import (
    beyond_table,
    difference_table,
    is_all_clean,
    score_table,
    telling_worths,
    which_tests,
    worth_table,
)
from headstart.reports.figures import accuracy_by_labels, differences
from headstart.reports.page.document import Section
from headstart.reports.page.html import NOTHING, Html, element, escape, join, paragraph
from headstart.reports.page.inline_figure import figure_html, inline_svg
from headstart.reports.page.tables import table_html
from headstart.reports.table import Table

INTERVALS = (
    "In brackets: 95 % intervals of the mean over seeds, which count both seeds and test items. "
    "Macro-F1 and calibration error are means on the first test named."
)
SAME_TESTS = "No test item was taken out: the full and the clean test are the same."


def labels_section(comparison: Comparison) -> Section:
    """Returns accuracy by the number of labels, and what a warm start is worth in labels."""
    drawn = accuracy_by_labels.draw(comparison)
    body = NOTHING
    if drawn is not None:
        test, most = comparison.verdict.test, comparison.verdict.size
        ends = [
            f"{name_of(comparison, system.key)} {show_score(score)}"
            for system in comparison.systems
            if (score := comparison.score(system.key, most, test)) is not None
        ]
        described = f"With {show_labels(most)}: {'; '.join(ends)}."
        title = f"Accuracy on the {test} test by the number of labels"
        worth = table_html(worth_table(comparison)) if telling_worths(comparison) else NOTHING
        body = join(figure_html(inline_svg(drawn, title, described)), worth)
    return Section(title="Accuracy by labels", body=body)


def scores_section(comparison: Comparison) -> Section:
    """Returns a table of scores for each number of labels, the most first."""
    tests = which_tests(comparison)
    tables = [
        table_html(score_table(comparison, size, tests)) for size in reversed(comparison.sizes)
    ]
    if comparison.all_sizes != comparison.sizes:
        tables.append(table_html(beyond_table(comparison)))
    notes = [paragraph(escape(INTERVALS), "note")] if tables else []
    if tables and is_all_clean(comparison):
        notes.append(paragraph(escape(SAME_TESTS), "note"))
    return Section(title="Scores", body=join(*tables, *notes))


def difference_section(comparison: Comparison) -> Section:
    """Returns the paired differences on the verdict's test, and those on another folded up."""
    title = "Differences"
    test, *others = which_tests(comparison)
    drawn, rows = differences.draw(comparison), comparison.differences_on(test)
    if drawn is None:
        return Section(title=title, body=NOTHING)
    described = f"The first row is {show_pair(comparison, rows[0])}; all are in the table below."
    what = f"Differences in accuracy on the {test} test, with 95 % intervals"
    body = join(
        figure_html(inline_svg(drawn, what, described)),
        table_html(difference_table(comparison, test)),
        *(
            folded(difference_table(comparison, other))
            for other in others
            if comparison.differences_on(other)
        ),
    )
    return Section(title=title, body=body)


def folded(table: Table) -> Html:
    """Returns a table that opens when it is asked for."""
    return element("details", [element("summary", escape(table.title)), table_html(table)])
