"""How good does `strong` become on the French book reviews, with 100 to 1,600 labels?

Masked pretraining on all French text, adaptation to reviews and to the training texts, then labels
beside TF-IDF. Trunks that were made elsewhere are given by
`--trunk strong=RUN --trunk adapted=RUN`.
"""

from study import Study, options_of

ASKED = "How good does strong become with 100 to 1,600 labels, and is it better than TF-IDF?"
BOOKS = "DATA/cls-books"
REVIEWS, GENERAL = "DATA/french-reviews.txt.xz", "DATA/french-general.txt.xz"
KEPT_OUT = f"--keep-out {BOOKS}/valid.review.spm --keep-out {BOOKS}/test.review.spm"
# 414 and 82 M tokens, about five minutes and one more on the card of the record.
STEPS, ADAPTED_STEPS = 12_644, 2_500
SIZES, SEEDS, RATES = "100,200,400,800,1600", 5, "0.3,1"
EXAMPLES = " ".join(f"--{split} {BOOKS}/{split}.review.spm" for split in ("train", "valid", "test"))


def main() -> None:
    study = Study("strong", ASKED, options_of("strong", __doc__))
    make_adapted_trunk(study)
    study.compare(
        f"headstart compare --from WORK/adapted {EXAMPLES} --systems warm,tfidf,majority "
        f"--rates {RATES} --sizes {study.sizes(SIZES)} --seeds {study.seeds(SEEDS)} "
        "--out WORK/by-labels"
    )
    study.keep()


def make_adapted_trunk(study: Study) -> None:
    """Pretrains `strong` on all French text, and goes on with reviews and training texts."""
    study.prepare(f"headstart tokenizer {GENERAL} {REVIEWS} --size 16000 --out WORK/tokenizer")
    pretrain_and_adapt(study, "--recipe strong", "strong", "adapted")


def pretrain_and_adapt(study: Study, how: str, pretrained: str, adapted: str) -> None:
    """Makes two trunks by their names, the second of the first."""
    study.pretrain(
        f"headstart pretrain {GENERAL} {REVIEWS} {how} --tokenizer WORK/tokenizer "
        f"{KEPT_OUT} --compile {study.steps_or_minutes(STEPS)} --out WORK/{pretrained}"
    )
    # Some training texts are copies of test texts, which are left out of the clean test instead.
    study.pretrain(
        f"headstart pretrain {REVIEWS} {BOOKS}/train.review.spm --from WORK/{pretrained} "
        f"--rate 0.001 --compile --steps {ADAPTED_STEPS} --out WORK/{adapted}"
    )


if __name__ == "__main__":
    main()
