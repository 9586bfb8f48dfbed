"""The sentences of a verdict; every number in them is one that was found."""

from collections.abc import Mapping

from headstart.evaluation.crossed import CrossedMean
from headstart.evaluation.label_worth import LabelWorth
from headstart.transfers.difference import Difference

TFIDF = "tfidf"
NAMES: Mapping[str, str] = {"cold": "a cold start", TFIDF: "TF-IDF with logistic regression"}
ONE_SEED = (
    "From one seed nothing can be said about other seeds: these intervals count test items alone. "
    "Ask again with at least 3 seeds."
)


def primary_sentence(difference: Difference) -> str:
    """Says the answer to the question asked beforehand, and on what it was asked."""
    what, where = pretraining(difference.of), where_asked(difference)
    if difference.side == "above":
        return f"{what[0].upper()}{what[1:]} helps by {points(difference)} {where}."
    if difference.side == "below":
        return f"{what[0].upper()}{what[1:]} hurts: it costs {points_less(difference)} {where}."
    return (
        f"There is no evidence that {what} helps here: it changes accuracy by "
        f"{points(difference)} {where}."
    )


def where_asked(difference: Difference) -> str:
    """Returns with how many labels, on which test and over how many seeds."""
    return told_on(difference.size, difference.test, difference.num_seeds)


def told_on(size: int, test: str, num_seeds: int) -> str:
    """Returns the same of anything that was measured."""
    seeds = f"{num_seeds} {'seed' if num_seeds == 1 else 'seeds'}"
    return f"at {size:,} labels, on the {test} test, over {seeds}"


def score_sentence(name: str, score: CrossedMean, test: str, size: int) -> str:
    """Says how often a system is right, where it is held against nothing."""
    low, high = (f"{100 * end:.1f}" for end in (score.low, score.high))
    right = f"{100 * score.mean:.1f} % ({low} to {high})"
    return f"{name} is right in {right} {told_on(size, test, score.num_seeds)}."


def size_sentence(difference: Difference) -> str:
    """Says what pretraining does with another number of labels."""
    at = f"At {difference.size:,} labels"
    if difference.side_among_several == "above":
        return f"{at} it helps by {points(difference)}."
    if difference.side_among_several == "below":
        return f"{at} it costs {points_less(difference)}."
    return f"{at} there is no evidence that it helps: {points(difference)}{doubt(difference)}."


def rival_sentence(difference: Difference, where: str = "") -> str:
    """Says which is the better choice, the warm trunk or TF-IDF."""
    name, trunk = NAMES[TFIDF], warm_trunk(difference.of)
    if difference.side_among_several == "below":
        return (
            f"{name} is the better choice here: it scores {points_less(difference)} more than the "
            f"{trunk}{where}."
        )
    if difference.side_among_several == "above":
        return f"The {trunk} scores {points(difference)} more than {name}{where}."
    return (
        f"The {trunk} and {name} cannot be told apart here: warm minus TF-IDF is "
        f"{points(difference)}{doubt(difference)}{where}. TF-IDF is the simpler choice."
    )


def short_rival_sentence(difference: Difference) -> str:
    """Says the same of another number of labels, where it could be told."""
    at, trunk = f"At {difference.size:,} labels", warm_trunk(difference.of)
    if difference.side_among_several == "below":
        return f"{at} TF-IDF scores {points_less(difference)} more than the {trunk}."
    return f"{at} the {trunk} scores {points(difference)} more than TF-IDF."


def worth_sentence(worth: LabelWorth, of: str, against: str) -> str:
    """Says how many times the labels, or the number beyond which the curve cannot tell."""
    kind = against.partition(":")[0]
    name = NAMES.get(kind, against)
    # TF-IDF is another kind of classifier: a cold start may do better than it, too.
    what = f"the {warm_trunk(of)}" if kind == TFIDF else pretraining(of)
    start = f"At {worth.at_size:,} labels {what} is worth"
    needed = f"{worth.factor * worth.at_size:,.0f}"
    if worth.is_at_least:
        sure = "" if worth.low == worth.factor else f" ({worth_interval(worth)})"
        return (
            f"{start} at least {times(worth.factor)} times the labels{sure}: {name} does not score "
            f"as much with {needed}."
        )
    if worth.is_at_most:
        sure = "" if worth.high == worth.factor else f" ({worth_interval(worth)})"
        return (
            f"{start} at most {times(worth.factor)} times the labels{sure}: {name} scores more "
            f"with {needed} already."
        )
    return (
        f"{start} {times(worth.factor)} times the labels ({worth_interval(worth)}): {name} needs "
        f"about {needed} to score as much."
    )


def pretraining(of: str) -> str:
    """Returns what a warm system is the outcome of, by its trunk where the key names one."""
    trunk = of.partition(":")[2]
    return f"the pretraining of {trunk}" if trunk else "pretraining"


def warm_trunk(of: str) -> str:
    """Returns what a warm system is called, by its trunk where the key names one."""
    return f"warm trunk {of.partition(':')[2]}".rstrip()


def worth_interval(worth: LabelWorth) -> str:
    """Returns the interval of a worth, with an end open where the curve does not tell it."""
    if worth.low is not None and worth.high is not None:
        return f"{times(worth.low)} to {times(worth.high)}"
    if worth.low is not None:
        return f"{times(worth.low)} or more"
    assert worth.high is not None
    return f"{times(worth.high)} or less"


def times(factor: float) -> str:
    """Returns a factor to two digits, whole from ten up."""
    return f"{factor:,.0f}" if factor >= 9.95 else f"{factor:.2g}"


def points(difference: Difference) -> str:
    """Returns a difference in points with its interval, such as "11.8 points (9.9 to 13.7)"."""
    return in_points(difference.difference, difference.low, difference.high)


def points_less(difference: Difference) -> str:
    """Returns the same of a difference that is told the other way round."""
    return in_points(-difference.difference, -difference.high, -difference.low)


def in_points(middle: float, low: float, high: float) -> str:
    """Returns fractions as points of a hundred, to one decimal."""
    # Adding 0 makes -0.0 a plain 0.
    middle, low, high = (round(100 * number, 1) + 0.0 for number in (middle, low, high))
    return f"{middle:.1f} points ({low:.1f} to {high:.1f})"


def doubt(difference: Difference) -> str:
    """Says why a difference does not stand although its own interval leaves out 0."""
    if difference.side == "unclear":
        return ""
    return f", which does not stand among so many questions (p = {difference.p_corrected:.2f})"
