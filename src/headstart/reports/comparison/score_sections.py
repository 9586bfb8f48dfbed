"""How good each system is on the test: by labels, in tables, and against one another."""

from headstart.reports.comparison.record import Comparison
from headstart.reports.comparison.wording import name_of, show_labels, show_pair, show_score
from headstart.reports.comparison_tables import (
    difference_table,
    is_all_clean,
    score_table,
    tests_shown,
    worth_table,
)
from headstart.reports.figures import accuracy_by_labels, differences
from headstart.reports.page.document import Section
from headstart.reports.page.html import NOTHING, Html, escape, join, paragraph
from headstart.reports.page.inline_figure import figure_html, inline_svg
from headstart.reports.page.tables import table_html

INTERVALS = (
    "In brackets: 95 % intervals of the mean over seeds, which count both seeds and test items. "
    "Macro-F1 and calibration error are means on the first test named."
)
SAME_TESTS = "No test item was taken out: the full and the clean test are the same."


def labels_section(comparison: Comparison) -> Section:
    """Returns accuracy by the number of labels, and what pretraining is worth in labels."""
    drawn = accuracy_by_labels.draw(comparison)
    body = NOTHING
    if drawn is not None:
        test, most = comparison.verdict.test, comparison.sizes[-1]
        ends = [
            f"{name_of(comparison, system.key)} {show_score(score)}"
            for system in comparison.systems
            if (score := comparison.score(system.key, most, test)) is not None
        ]
        described = f"With {show_labels(most)}: {'; '.join(ends)}."
        title = f"Accuracy on the {test} test by the number of labels"
        worth = table_html(worth_table(comparison)) if comparison.label_worth else NOTHING
        body = join(figure_html(inline_svg(drawn, title, described)), worth)
    return Section(title="Accuracy by labels", body=body)


def scores_section(comparison: Comparison) -> Section:
    """Returns a table of scores for each number of labels, the most first."""
    tests = tests_shown(comparison)
    tables = [
        table_html(score_table(comparison, size, tests)) for size in reversed(comparison.sizes)
    ]
    notes = [paragraph(escape(INTERVALS), "note")] if tables else []
    if tables and is_all_clean(comparison):
        notes.append(paragraph(escape(SAME_TESTS), "note"))
    return Section(title="Scores", body=join(*tables, *notes))


def difference_section(comparison: Comparison) -> Section:
    """Returns the paired differences, drawn and in tables."""
    tables: list[Html] = [
        table_html(difference_table(comparison, test))
        for test in tests_shown(comparison)
        if comparison.differences_on(test)
    ]
    drawn = differences.draw(comparison)
    figure = NOTHING
    if drawn is not None:
        test = comparison.verdict.test
        first = comparison.differences_on(test)[0]
        described = f"The first row is {show_pair(comparison, first)}; all are in the table below."
        title = f"Differences in accuracy on the {test} test, with 95 % intervals"
        figure = figure_html(inline_svg(drawn, title, described))
    return Section(title="Differences", body=join(figure, *tables))
