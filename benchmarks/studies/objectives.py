"""Which objective transfers best at equal minutes: causal, masked, or masked+next?

For `compact` and `strong`, each with and without adaptation to reviews, on the French book reviews.
With `--side-by-side` all pretrainings share the machine, and then all adaptations: as equal, and
sooner done, since small models leave a GPU waiting.
"""

from collections.abc import Sequence
from itertools import product

from study import Study, options_of

ASKED = "Which objective transfers best at equal minutes, and does adaptation help each?"
BOOKS = "DATA/cls-books"
REVIEWS, GENERAL = "DATA/french-reviews.txt.xz", "DATA/french-general.txt.xz"
KEPT_OUT = f"--keep-out {BOOKS}/valid.review.spm --keep-out {BOOKS}/test.review.spm"
# Each recipe with the pieces of its vocabulary; one tokenizer serves all objectives. The first of
# all is asked about in the verdict.
PIECES = {"strong": 16_000, "compact": 8_000}
OBJECTIVES = ("masked", "causal", "masked+next")
MINUTES, ADAPTED_SHARE, SIZES, SEEDS = 4, 0.25, "1600", 3
# Half of the usual epochs: there are more than a hundred networks to fine-tune.
SYSTEMS, EPOCHS = "warm,frozen,gradual,tfidf", 5

Trunk = tuple[str, str]


def main() -> None:
    study = Study("objectives", ASKED, options_of("objectives", __doc__))
    for pieces in PIECES.values():
        study.prepare(
            f"headstart tokenizer {GENERAL} {REVIEWS} --size {pieces} --out WORK/pieces-{pieces}"
        )
    all_of_them = list(product(PIECES, OBJECTIVES))
    study.pretrain(*(pretraining(study, *each) for each in all_of_them))
    study.pretrain(*(adaptation(study, *each) for each in all_of_them))
    study.compare(comparison(study, all_of_them, f"--systems {SYSTEMS} --out WORK/compared"))
    # They are judged by the first piece unless one asks for the mean, as the others are.
    pairs = [(recipe, objective) for recipe, objective in all_of_them if "next" in objective]
    by_mean = "--systems warm,tfidf --pooling mean --out WORK/by-the-mean"
    study.compare(comparison(study, pairs, by_mean))
    study.keep()


def comparison(study: Study, trunks: Sequence[Trunk], how: str) -> str:
    """Returns the line that compares trunks, each as it is and adapted, in one way."""
    starts = " ".join(
        f"--from WORK/{trunk_name(*each)}{ending}" for each in trunks for ending in ("", "-adapted")
    )
    return (
        f"headstart compare {starts} --train {BOOKS}/train.review.spm "
        f"--valid {BOOKS}/valid.review.spm --test {BOOKS}/test.review.spm "
        f"--epochs {EPOCHS} --sizes {study.sizes(SIZES)} --seeds {study.seeds(SEEDS)} {how}"
    )


def trunk_name(recipe: str, objective: str) -> str:
    """Returns what a trunk is called."""
    return f"{recipe}-{objective.replace('+', '-and-')}"


def pretraining(study: Study, recipe: str, objective: str) -> str:
    """Returns the line that pretrains one recipe under one objective."""
    # What suits a laptop leaves a GPU idle.
    size = "--sequences 128 " if recipe == "compact" else ""
    return (
        f"headstart pretrain {GENERAL} {REVIEWS} --recipe {recipe} --objective {objective} "
        f"--tokenizer WORK/pieces-{PIECES[recipe]} {size}{KEPT_OUT} --compile "
        f"--minutes {study.minutes(MINUTES)} --out WORK/{trunk_name(recipe, objective)}"
    )


def adaptation(study: Study, recipe: str, objective: str) -> str:
    """Returns the line that goes on with a trunk on reviews and on the training texts."""
    name = trunk_name(recipe, objective)
    # Some training texts are copies of test texts, which are left out of the clean test instead.
    return (
        f"headstart pretrain {REVIEWS} {BOOKS}/train.review.spm --from WORK/{name} "
        f"--rate 0.001 --compile --minutes {study.minutes(MINUTES, ADAPTED_SHARE)} "
        f"--out WORK/{name}-adapted"
    )


if __name__ == "__main__":
    main()
