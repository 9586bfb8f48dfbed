"""Was pretraining worth it? The answer, decided by one interval, and what else must be said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from headstart.errors import DataError
from headstart.evaluation.crossed import CrossedMean
from headstart.evaluation.label_worth import LabelWorth
from headstart.transfers.difference import Difference, Side, TestKind
from headstart.transfers.verdict_words import (
    ONE_SEED,
    TFIDF,
    primary_sentence,
    rival_sentence,
    score_sentence,
    short_rival_sentence,
    size_sentence,
    where_asked,
    worth_sentence,
)

# Without a cold start nothing is known of what pretraining itself does.
Answer = Literal["helps", "no evidence", "hurts", "not asked"]
ANSWERS: Mapping[Side, Answer] = {"above": "helps", "unclear": "no evidence", "below": "hurts"}


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a comparison found."""

    primary: Difference
    """Warm minus cold at the largest size, on the test that counts; without cold minus TF-IDF."""
    others: Sequence[Difference] = ()
    """Every other difference, their p corrected together."""
    worths: Mapping[str, Sequence[LabelWorth]] = field(default_factory=dict)
    """What the warm system is worth at its sizes, by the system whose curve was asked."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The answer, why, and which simpler system is the better choice, if one is."""

    answer: Answer
    sentences: tuple[str, ...]
    better_line: str | None
    test: TestKind
    size: int


def verdict(evidence: Evidence) -> Verdict:
    """Returns what can be said: the primary interval decides, the rest is told beside it."""
    primary = evidence.primary
    if not primary.is_primary:
        raise DataError(
            f"The difference of {primary.of} to {primary.to} at {primary.size:,} labels is not the "
            "primary one; a verdict needs the question that was asked beforehand."
        )
    is_about_cold = primary.to != TFIDF
    rivals = asked_like(primary, TFIDF, (primary, *evidence.others))
    at_size = [one for one in rivals if one.size == primary.size]
    sizes = asked_like(primary, primary.to, evidence.others) if is_about_cold else []
    return Verdict(
        answer=ANSWERS[primary.side] if is_about_cold else "not asked",
        sentences=(
            primary_sentence(primary)
            if is_about_cold
            else rival_sentence(primary, f" {where_asked(primary)}"),
            *(size_sentence(one) for one in sizes),
            *(
                worth_sentence(worth, primary.of, against)
                for against, worths in evidence.worths.items()
                if (found := beyond_chance(worths, evidence, against))
                and (worth := telling(found)).is_known
            ),
            *(rival_sentence(one) for one in at_size if is_about_cold),
            *(
                short_rival_sentence(one)
                for one in rivals
                if one.size != primary.size and one.side_among_several != "unclear"
            ),
            *([ONE_SEED] if primary.num_seeds == 1 else []),
        ),
        better_line=TFIDF if any(one.side_among_several == "below" for one in at_size) else None,
        test=primary.test,
        size=primary.size,
    )


def unasked_verdict(scores: Mapping[str, CrossedMean], test: TestKind, size: int) -> Verdict:
    """Returns the scores alone, where there was nothing to hold a warm start against."""
    num_seeds = max(score.num_seeds for score in scores.values())
    return Verdict(
        answer="not asked",
        sentences=(
            *(score_sentence(name, score, test, size) for name, score in scores.items()),
            *([ONE_SEED] if num_seeds == 1 else []),
        ),
        better_line=None,
        test=test,
        size=size,
    )


def asked_like(primary: Difference, to: str, others: Sequence[Difference]) -> list[Difference]:
    """Returns how the primary system compares to another on the same test, most labels first."""
    wanted = (primary.of, to, primary.test, primary.metric)
    found = [one for one in others if (one.of, one.to, one.test, one.metric) == wanted]
    return sorted(found, key=lambda one: one.size, reverse=True)


def beyond_chance(
    worths: Sequence[LabelWorth], evidence: Evidence, against: str
) -> list[LabelWorth]:
    """Returns the worths at sizes at which the two were not found to be as good as each other."""
    asked = asked_like(evidence.primary, against, (evidence.primary, *evidence.others))
    unclear = {
        one.size
        for one in asked
        if (one.side if one.is_primary else one.side_among_several) == "unclear"
    }
    return [worth for worth in worths if worth.at_size not in unclear]


def telling(worths: Sequence[LabelWorth]) -> LabelWorth:
    """Returns the worth at the largest size at which the curve tells it, else at the smallest."""
    falling = sorted(worths, key=lambda one: one.at_size, reverse=True)
    return next((one for one in falling if not one.is_at_least), falling[-1])
