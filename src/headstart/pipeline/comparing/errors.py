"""Errors worth reading: what the primary system gets wrong with every seed, and is sure of."""

from collections.abc import Sequence

import numpy as np

from headstart.corpora.examples import Example
from headstart.pipeline.comparing.answers import Answers, Place

MOST_ERRORS, MOST_LETTERS = 20, 600
Json = dict[str, object]


def errors_worth_reading(
    answers: Answers, place: Place, test: Sequence[Example], labels: Sequence[str]
) -> list[Json]:
    """Returns the surest wrong answers on the clean test that all seeds agree to be wrong on."""
    probability_SNC = answers.probabilities[place]
    num_seeds = len(probability_SNC)
    is_wrong_SN = ~answers.right(place, "full")
    mean_NC = probability_SNC.mean(axis=0)
    is_worth_N = is_wrong_SN.all(axis=0) & answers.is_clean_N
    # Seeds may be wrong in different ways; what they answer together must be wrong as well.
    is_worth_N &= mean_NC.argmax(axis=1) != answers.target_N
    order = np.argsort(-mean_NC.max(axis=1), kind="stable")
    chosen = [int(index) for index in order if is_worth_N[index]][:MOST_ERRORS]
    return [
        {
            "index": index,
            "text": test[index].text[:MOST_LETTERS],
            "label": test[index].label,
            "predicted": labels[int(mean_NC[index].argmax())],
            "probability": float(mean_NC[index].max()),
            "system": place[0],
            "size": place[1],
            "num_seeds_wrong": int(is_wrong_SN[:, index].sum()),
            "num_seeds": num_seeds,
        }
        for index in chosen
    ]
