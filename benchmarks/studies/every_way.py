"""Which way to learn 1,600 labels is best for an adapted `strong`, and does teaching help?

Warm, cold, frozen, gradual, and taught on reviews without labels: by the warm and gradual networks
of all seeds and by TF-IDF. The trunk is
that of the study `strong`: `--trunk strong=RUN --trunk adapted=RUN` takes it from there.
"""

from strong import EXAMPLES, RATES, REVIEWS, make_adapted_trunk
from study import Study, options_of

ASKED = "Which way to learn 1,600 labels is best for strong, and does teaching help?"
SYSTEMS, SIZES, SEEDS = "warm,cold,frozen,gradual,taught,tfidf", "1600", 5


def main() -> None:
    study = Study("every-way", ASKED, options_of("every-way", __doc__))
    make_adapted_trunk(study)
    study.compare(
        f"headstart compare --from WORK/adapted {EXAMPLES} --systems {SYSTEMS} "
        f"--unlabelled {REVIEWS} --rates {RATES} --sizes {study.sizes(SIZES)} "
        f"--seeds {study.seeds(SEEDS)} --out WORK/compared"
    )
    study.keep()


if __name__ == "__main__":
    main()
