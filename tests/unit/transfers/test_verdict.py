"""The verdict: what is said, on what grounds, and how often falsely."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.errors import DataError
from headstart.evaluation.label_worth import LabelWorth
from headstart.evaluation.simulation import World, draw_results
from headstart.transfers.difference import Difference, Pairing, corrected, paired_difference
from headstart.transfers.verdict import Evidence, telling, verdict
from headstart.transfers.verdict_words import ONE_SEED, times

HELPING = Difference(
    of="warm",
    to="cold",
    size=1_000,
    test="clean",
    is_primary=True,
    difference=0.118,
    low=0.099,
    high=0.137,
    p=1e-6,
    p_corrected=1e-6,
    num_seeds=3,
    num_items=2_081,
)
RIVAL = replace(HELPING, to="tfidf", is_primary=False)


def said(difference, low, high, p_corrected=0.001, **changes):
    """A difference with these numbers."""
    changed = replace(HELPING, difference=difference, low=low, high=high, p_corrected=p_corrected)
    return replace(changed, **changes)


def test_it_helps_where_the_interval_is_above_0():
    seen = verdict(Evidence(primary=HELPING))
    assert (seen.answer, seen.better_line) == ("helps", None)
    assert (seen.test, seen.size) == ("clean", 1_000)
    assert seen.sentences == (
        "Pretraining helps by 11.8 points (9.9 to 13.7) at 1,000 labels, on the clean test, over 3 "
        "seeds.",
    )


def test_it_hurts_where_the_interval_is_below_0():
    seen = verdict(Evidence(primary=said(-0.021, -0.033, -0.009, test="full", size=250)))
    assert seen.answer == "hurts"
    assert seen.sentences == (
        "Pretraining hurts: it costs 2.1 points (0.9 to 3.3) at 250 labels, on the full test, over "
        "3 seeds.",
    )


@pytest.mark.parametrize(("low", "high"), [(-0.012, 0.02), (0.0, 0.02), (-0.02, 0.0)])
def test_an_interval_that_holds_0_is_no_evidence(low, high):
    seen = verdict(Evidence(primary=said(0.004, low, high, num_seeds=5)))
    assert seen.answer == "no evidence"
    assert seen.sentences[0].startswith("There is no evidence that pretraining helps here: ")
    assert f"0.4 points ({100 * low:.1f} to {100 * high:.1f})" in seen.sentences[0]


def test_the_primary_answer_needs_no_correction():
    assert verdict(Evidence(primary=said(0.02, 0.001, 0.039, p_corrected=0.9))).answer == "helps"


def test_one_seed_is_said_to_tell_nothing_of_others():
    seen = verdict(Evidence(primary=replace(HELPING, num_seeds=1)))
    assert "over 1 seed." in seen.sentences[0]
    assert seen.sentences[-1] == ONE_SEED
    assert ONE_SEED not in verdict(Evidence(primary=replace(HELPING, num_seeds=2))).sentences


def test_tfidf_is_said_to_be_the_better_choice_when_it_is():
    rival = said(-0.021, -0.033, -0.009, to="tfidf", is_primary=False)
    seen = verdict(Evidence(primary=HELPING, others=[rival]))
    assert (seen.answer, seen.better_line) == ("helps", "tfidf")
    assert seen.sentences[1] == (
        "TF-IDF with logistic regression is the better choice here: it scores 2.1 points (0.9 to "
        "3.3) more than the warm trunk."
    )


def test_tfidf_that_is_worse_is_said_to_be():
    seen = verdict(Evidence(primary=HELPING, others=[RIVAL]))
    assert seen.better_line is None
    assert seen.sentences[1] == (
        "The warm trunk scores 11.8 points (9.9 to 13.7) more than TF-IDF with logistic regression."
    )


@pytest.mark.parametrize(
    ("difference", "low", "high", "p_corrected", "words"),
    [
        (-0.004, -0.019, 0.011, 0.6, "-0.4 points (-1.9 to 1.1). TF-IDF is the simpler choice."),
        (-0.015, -0.029, -0.001, 0.08, "does not stand among so many questions (p = 0.08)"),
        (0.015, 0.001, 0.029, 0.08, "does not stand among so many questions (p = 0.08)"),
    ],
)
def test_tfidf_that_cannot_be_told_apart_is_said_to_be_so(
    difference, low, high, p_corrected, words
):
    rival = said(difference, low, high, p_corrected, to="tfidf", is_primary=False)
    seen = verdict(Evidence(primary=HELPING, others=[rival]))
    assert seen.better_line is None
    assert "cannot be told apart here" in seen.sentences[1]
    assert words in seen.sentences[1]


def test_other_sizes_are_told_most_labels_first():
    others = [
        said(0.13, 0.1, 0.16, size=250, is_primary=False),
        said(-0.03, -0.05, -0.01, size=500, is_primary=False),
        said(0.01, -0.01, 0.03, 0.7, size=100, is_primary=False),
        said(0.02, 0.001, 0.039, 0.06, size=50, is_primary=False),
        replace(RIVAL, size=250),
        said(-0.03, -0.05, -0.01, size=500, to="tfidf", is_primary=False),
        said(-0.03, -0.05, 0.01, 0.5, size=100, to="tfidf", is_primary=False),
    ]
    seen = verdict(Evidence(primary=HELPING, others=others))
    assert seen.sentences[1:] == (
        "At 500 labels it costs 3.0 points (1.0 to 5.0).",
        "At 250 labels it helps by 13.0 points (10.0 to 16.0).",
        "At 100 labels there is no evidence that it helps: 1.0 points (-1.0 to 3.0).",
        "At 50 labels there is no evidence that it helps: 2.0 points (0.1 to 3.9), which does not "
        "stand among so many questions (p = 0.06).",
        "At 500 labels TF-IDF scores 3.0 points (1.0 to 5.0) more than the warm trunk.",
        "At 250 labels the warm trunk scores 11.8 points (9.9 to 13.7) more than TF-IDF.",
    )
    assert seen.better_line is None


def test_what_was_asked_of_another_test_or_system_is_left_out():
    others = [
        replace(HELPING, test="full", is_primary=False),
        replace(RIVAL, test="full"),
        replace(RIVAL, of="frozen"),
        replace(HELPING, of="frozen", is_primary=False),
    ]
    assert len(verdict(Evidence(primary=HELPING, others=others)).sentences) == 1


def worth(at_size, factor, low=None, high=None, **bound):
    return LabelWorth(at_size=at_size, factor=factor, low=low, high=high, **bound)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            worth(250, 3.24, 2.5, 3.9),
            "At 250 labels pretraining is worth 3.2 times the labels (2.5 to 3.9): a cold start "
            "needs about 810 to score as much.",
        ),
        (
            worth(250, 3.24, 2.5),
            "At 250 labels pretraining is worth 3.2 times the labels (2.5 or more): a cold start "
            "needs about 810 to score as much.",
        ),
        (
            worth(1_000, 0.6, None, 0.9),
            "At 1,000 labels pretraining is worth 0.6 times the labels (0.9 or less): a cold start "
            "needs about 600 to score as much.",
        ),
        (
            worth(250, 4.0, 4.0, is_at_least=True),
            "At 250 labels pretraining is worth at least 4 times the labels: a cold start does not "
            "score as much with 1,000.",
        ),
        (
            worth(250, 4.0, 3.1, is_at_least=True),
            "At 250 labels pretraining is worth at least 4 times the labels (3.1 or more): a cold "
            "start does not score as much with 1,000.",
        ),
        (
            worth(1_000, 0.25, None, 0.25, is_at_most=True),
            "At 1,000 labels pretraining is worth at most 0.25 times the labels: a cold start "
            "scores more with 250 already.",
        ),
        (
            worth(1_000, 0.25, None, 0.4, is_at_most=True),
            "At 1,000 labels pretraining is worth at most 0.25 times the labels (0.4 or less): a "
            "cold start scores more with 250 already.",
        ),
    ],
)
def test_the_worth_in_labels_is_said_with_what_the_curve_can_tell(found, sentence):
    assert verdict(Evidence(primary=HELPING, worths={"cold": [found]})).sentences[1] == sentence


def test_a_worth_of_which_no_end_is_known_is_not_said():
    flat = verdict(Evidence(primary=HELPING, worths={"cold": [worth(250, 1.5)]}))
    assert flat.sentences == verdict(Evidence(primary=HELPING)).sentences


def test_a_worth_is_said_only_where_the_two_can_be_told_apart():
    worths = {"cold": [worth(100, 4.0, 2.4, is_at_least=True), worth(250, 3.0, 2.0, 5.0)]}
    doubtful = said(0.02, 0.004, 0.04, p_corrected=0.12, size=100, is_primary=False)
    sure = said(0.05, 0.01, 0.09, p_corrected=0.01, size=250, is_primary=False)

    def told(*others: Difference) -> list[str]:
        found = verdict(Evidence(primary=HELPING, others=others, worths=worths))
        return [sentence for sentence in found.sentences if "is worth" in sentence]

    assert len(told(doubtful, sure)) == 1
    assert told(doubtful, sure)[0].startswith("At 250 labels")
    assert not told(doubtful, replace(sure, p_corrected=0.2))


def test_the_worth_is_told_of_each_curve_and_of_none_that_was_not_asked():
    worths = {
        "cold:film-en": [worth(250, 2.0, 1.0, 3.0)],
        "tfidf": [worth(250, 12.4, 11, 14)],
        "x": [],
    }
    sentences = verdict(Evidence(primary=HELPING, worths=worths)).sentences
    assert len(sentences) == 3
    assert "a cold start needs about 500" in sentences[1]
    start, rest = sentences[2].split(": ")
    assert start == "At 250 labels the warm trunk is worth 12 times the labels (11 to 14)"
    assert rest.startswith("TF-IDF with logistic regression needs")


@pytest.mark.parametrize(
    ("difference", "start"),
    [
        (0.1, "The pretraining of film-en helps by 10.0 points"),
        (-0.1, "The pretraining of film-en hurts: it costs 10.0 points"),
        (0.0, "There is no evidence that the pretraining of film-en helps here: "),
    ],
)
@pytest.mark.parametrize("rival", [-0.1, 0.0, 0.1])
def test_of_several_trunks_the_first_is_named(difference, start, rival):
    def numbers(middle):
        return {"difference": middle, "low": middle - 0.05, "high": middle + 0.05}

    changes = {"of": "warm:film-en", **numbers(rival)}
    seen = verdict(
        Evidence(
            primary=replace(HELPING, of="warm:film-en", to="cold:film-en", **numbers(difference)),
            others=[replace(RIVAL, **changes), replace(RIVAL, **changes, size=250)],
            worths={"tfidf": [worth(250, 2.0, 1.0, 3.0)]},
        )
    )
    first, *rest = seen.sentences
    assert first.startswith(start)
    if rival:
        assert rest.pop(0).startswith("At 250 labels the warm trunk film-en is worth 2 ")
    assert len(rest) == (2 if rival else 1)
    assert all("warm trunk film-en" in line for line in map(str.lower, rest))


def test_the_worth_told_is_that_at_the_most_labels_at_which_the_curve_tells_it():
    bound, small, large = (
        worth(1_600, 1.0, 1.0, is_at_least=True),
        worth(100, 8.0, 7.0, 9.0),
        worth(400, 3.0, 2.0, 4.0),
    )
    assert telling([small, bound, large]) == large
    lower = worth(100, 16.0, 12.0, is_at_least=True)
    assert telling([bound, lower]) == lower


@pytest.mark.parametrize(
    ("factor", "shown"), [(4, "4"), (0.25, "0.25"), (9.94, "9.9"), (9.96, "10"), (1_234, "1,234")]
)
def test_factors_have_no_more_digits_than_they_mean(factor, shown):
    assert times(factor) == shown


def numbers_in(sentences):
    return [
        float(number.replace(",", ""))
        for number in re.findall(r"-?\d[\d,]*\.?\d*", " ".join(sentences))
    ]


@given(
    st.floats(-0.5, 0.5),
    st.floats(0.001, 0.1),
    st.floats(0, 1),
    st.integers(1, 9),
    st.sampled_from([50, 1_000, 20_000]),
)
def test_every_number_said_is_one_of_those_found(middle, half, p, num_seeds, size):
    numbers = {"difference": middle, "low": middle - half, "high": middle + half, "p_corrected": p}
    primary = replace(HELPING, **numbers, num_seeds=num_seeds, size=size)
    rival = replace(RIVAL, **numbers, num_seeds=num_seeds, size=size)
    seen = numbers_in(verdict(Evidence(primary=primary, others=[rival])).sentences)
    points = [round(100 * value, 1) for value in (middle, middle - half, middle + half)]
    allowed = {*map(abs, points), round(p, 2), float(num_seeds), float(size), 3.0}
    assert all(abs(number) in allowed for number in seen)


@pytest.mark.parametrize(
    ("numbers", "sentence", "better"),
    [
        (
            (0.03, 0.01, 0.05),
            "The warm trunk scores 3.0 points (1.0 to 5.0) more than TF-IDF",
            None,
        ),
        ((-0.03, -0.05, -0.01), "TF-IDF with logistic regression is the better choice", "tfidf"),
        ((0.0, -0.02, 0.02), "The warm trunk and TF-IDF with logistic regression cannot be", None),
    ],
)
def test_without_a_cold_start_it_is_told_of_tfidf_alone(numbers, sentence, better):
    middle, low, high = numbers
    asked = replace(RIVAL, difference=middle, low=low, high=high, p_corrected=0.01, is_primary=True)
    smaller = replace(asked, size=250, is_primary=False)
    seen = verdict(Evidence(primary=asked, others=[smaller]))
    assert (seen.answer, seen.better_line) == ("not asked", better)
    assert seen.sentences[0].startswith(sentence)
    assert f"at 1,000 labels, on the clean test, over {RIVAL.num_seeds} seeds" in seen.sentences[0]
    assert all("At 250 labels" in text for text in seen.sentences[1:])
    assert not any("retraining" in text for text in seen.sentences)


def test_a_verdict_without_its_question_is_refused():
    with pytest.raises(DataError, match="warm to tfidf at 1,000 labels is not the primary one"):
        verdict(Evidence(primary=RIVAL))


def simulated_verdict(world, seed):
    warm, cold, tfidf, *small = draw_results(world, np.random.default_rng(seed))
    pairing = Pairing(of="warm", to="cold", size=1_000, test="clean", is_primary=True)
    asked = [
        paired_difference(pairing, warm, cold),
        paired_difference(replace(pairing, to="tfidf", is_primary=False), warm, tfidf),
        paired_difference(replace(pairing, size=250, is_primary=False), *small),
    ]
    primary, *others = corrected(asked)
    return verdict(Evidence(primary=primary, others=others))


@pytest.mark.parametrize("num_seeds", [5, 3])
def test_where_nothing_differs_it_is_seldom_said_to(num_seeds):
    worlds = [
        World(
            accuracies=(0.7,) * 5,
            num_seeds=num_seeds,
            num_items=1_000,
            seed_deviation=deviation,
            difficulty=difficulty,
            shared_difficulty=0.6,
        )
        for deviation, difficulty in itertools.product((0, 0.005, 0.01, 0.02, 0.03), (0.5, 1.5))
    ]
    seen = [simulated_verdict(worlds[number % 10], [9, number]) for number in range(1_000)]
    # Half of the 5 % each; a thousand tables tell that to within a point.
    assert np.mean([one.answer == "helps" for one in seen]) <= 0.05
    assert np.mean([one.answer == "hurts" for one in seen]) <= 0.05
    assert np.mean([one.better_line == "tfidf" for one in seen]) <= 0.05


def test_where_much_differs_it_is_said_to():
    better = World(accuracies=(0.78, 0.66, 0.71, 0.73, 0.6), num_seeds=3, seed_deviation=0.01)
    worse = replace(better, accuracies=(0.66, 0.78, 0.78, 0.7, 0.7))
    seen = [simulated_verdict(better, [7, number]) for number in range(40)]
    assert np.mean([one.answer == "helps" for one in seen]) > 0.95
    seen = [simulated_verdict(worse, [8, number]) for number in range(40)]
    assert np.mean([one.answer == "hurts" for one in seen]) > 0.95
    assert np.mean([one.better_line == "tfidf" for one in seen]) > 0.95
