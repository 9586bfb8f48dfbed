"""Numbers and names of a comparison as people read them."""

from headstart.reports.comparison.record import Comparison, Difference, LabelWorth, Score
from headstart.reports.numbers import show_count
from headstart.reports.shortening import shortened

MINUS = "\N{MINUS SIGN}"
LENGTH_OF_NAME = 60
NOTHING_SHOWN = "\N{EM DASH}"
KIND_NAMES = {
    "warm": "warm",
    "cold": "cold",
    "frozen": "frozen",
    "gradual": "gradual",
    "taught": "taught",
    "tfidf": "TF-IDF",
    "majority": "majority",
}
ANSWER_WORDS = {
    "helps": "Pretraining helps here",
    "no evidence": "No evidence that pretraining helps here",
    "hurts": "Pretraining hurts here",
    "not asked": "What pretraining does is not known, for no cold start was compared",
}


def headline(comparison: Comparison) -> str:
    """Returns the answer in one sentence, which also says when another line is the better one."""
    verdict = comparison.verdict
    said = ANSWER_WORDS[verdict.answer]
    if verdict.better_line is None:
        return f"{said}."
    keys = [system.key for system in comparison.systems]
    better = verdict.better_line
    name = name_of(comparison, better) if better in keys else KIND_NAMES.get(better, better)
    return f"{said}, {'but' if verdict.answer == 'helps' else 'and'} {name} is the better choice."


def name_of(comparison: Comparison, key: str) -> str:
    """Returns what a system is called: by its kind, and its trunk where there are several."""
    system = comparison.system(key)
    name = KIND_NAMES[system.kind]
    if len(comparison.of_kind(system.kind)) > 1:
        return f"{name}, {shortened(system.trunk or system.name, LENGTH_OF_NAME)}"
    return name


def show_percent(share: float) -> str:
    """Returns a share such as "73.1 %", to the same digits however small it is."""
    return f"{100 * share:.1f} %".replace("-", MINUS)


def show_points(share: float) -> str:
    """Returns a difference of shares in points, with its sign, such as "+2.4"."""
    points = f"{100 * share:+.1f}"
    return ("0.0" if float(points) == 0 else points).replace("-", MINUS)


def show_score(score: Score | None) -> str:
    """Returns a share with its interval, such as "73.1 % (70.9 to 75.2)"."""
    if score is None:
        return NOTHING_SHOWN
    if score.low is None or score.high is None:
        return show_percent(score.mean)
    return f"{show_percent(score.mean)} ({100 * score.low:.1f} to {100 * score.high:.1f})"


def show_difference(row: Difference) -> str:
    """Returns a difference in points, such as "+12.4"."""
    return show_points(row.difference)


def show_interval(row: Difference) -> str:
    """Returns the interval of a difference in points, such as "+9.8 to +15.0"."""
    if row.low is None or row.high is None:
        return NOTHING_SHOWN
    return f"{show_points(row.low)} to {show_points(row.high)}"


def show_p(p: float | None) -> str:
    """Returns a p value to the digits that mean something."""
    if p is None:
        return NOTHING_SHOWN
    if p < 0.001:
        return "< 0.001"
    return f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def show_pair(comparison: Comparison, row: Difference) -> str:
    """Returns which two systems a difference is between."""
    return f"{name_of(comparison, row.of)} {MINUS} {name_of(comparison, row.to)}"


def show_labels(size: int) -> str:
    """Returns a number of labels in words."""
    return "1 label" if size == 1 else f"{show_count(size)} labels"


def show_worth(row: LabelWorth) -> str:
    """Returns how many times the labels, such as "4 (3.1 to 5.2)" or "at least 4"."""
    if row.factor is None:
        return NOTHING_SHOWN
    bound = "at least " if row.is_at_least else "at most " if row.is_at_most else ""
    # An end of the interval that is the bound itself adds nothing.
    low = None if row.is_at_least and row.low == row.factor else row.low
    high = None if row.is_at_most and row.high == row.factor else row.high
    shown = f"{bound}{show_times(row.factor)}"
    if low is not None and high is not None:
        return f"{shown} ({show_times(low)} to {show_times(high)})"
    if low is not None:
        return f"{shown} ({show_times(low)} or more)"
    return shown if high is None else f"{shown} ({show_times(high)} or less)"


def show_times(factor: float) -> str:
    """Returns a factor to two digits, whole from ten up."""
    return f"{factor:,.0f}" if factor >= 9.95 else f"{factor:.2g}"
