"""Which objective transfers best at equal minutes: causal, masked, or masked+next?

For `compact` and `strong`, each with and without adaptation to reviews, on the French book reviews.
With `--side-by-side` the pretrainings of one recipe share the machine, which is as equal.
"""

from study import Study, options_of

ASKED = "Which objective transfers best at equal minutes, and does adaptation help each?"
BOOKS = "DATA/cls-books"
REVIEWS, GENERAL = "DATA/french-reviews.txt.xz", "DATA/french-general.txt.xz"
KEPT_OUT = f"--keep-out {BOOKS}/valid.review.spm --keep-out {BOOKS}/test.review.spm"
# Each recipe with the pieces of its vocabulary; one tokenizer serves all objectives.
PIECES = {"compact": 8_000, "strong": 16_000}
OBJECTIVES = ("causal", "masked", "masked+next")
MINUTES, ADAPTED_SHARE, SIZES, SEEDS = 4, 0.25, "1600", 3
SYSTEMS = "warm,frozen,gradual,tfidf"


def main() -> None:
    study = Study("objectives", ASKED, options_of("objectives", __doc__))
    for recipe, pieces in PIECES.items():
        study.prepare(
            f"headstart tokenizer {GENERAL} {REVIEWS} --size {pieces} --out WORK/pieces-{pieces}"
        )
        study.pretrain(*(pretraining(study, recipe, objective) for objective in OBJECTIVES))
        study.pretrain(*(adaptation(study, recipe, objective) for objective in OBJECTIVES))
    trunks = " ".join(
        f"--from WORK/{trunk_name(recipe, objective)}{ending}"
        for recipe in PIECES
        for objective in OBJECTIVES
        for ending in ("", "-adapted")
    )
    study.compare(
        f"headstart compare {trunks} --train {BOOKS}/train.review.spm "
        f"--valid {BOOKS}/valid.review.spm --test {BOOKS}/test.review.spm "
        f"--systems {SYSTEMS} --sizes {study.sizes(SIZES)} --seeds {study.seeds(SEEDS)} "
        "--out WORK/compared"
    )
    study.keep()


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
