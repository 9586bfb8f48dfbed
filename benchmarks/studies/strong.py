"""How good does `strong` become on the French book reviews, with 100 to 1,600 labels?

Masked pretraining on all French text, adaptation to reviews and to the training texts, then every
way to learn labels beside TF-IDF. Trunks that were made elsewhere are given by
`--trunk strong=RUN --trunk adapted=RUN`.
"""

from study import Study, options_of

ASKED = "How good does strong become with 100 to 1,600 labels, and is it better than TF-IDF?"
BOOKS = "DATA/cls-books"
REVIEWS, GENERAL = "DATA/french-reviews.txt.xz", "DATA/french-general.txt.xz"
KEPT_OUT = f"--keep-out {BOOKS}/valid.review.spm --keep-out {BOOKS}/test.review.spm"
# 82 M tokens, a minute on the card of the record.
MINUTES, ADAPTED_STEPS = 8, 2_500
SIZES, SEEDS, RATES = "100,200,400,800,1600", 5, "0.3,1"
EXAMPLES = " ".join(f"--{split} {BOOKS}/{split}.review.spm" for split in ("train", "valid", "test"))


def main() -> None:
    study = Study("strong", ASKED, options_of("strong", __doc__))
    study.prepare(f"headstart tokenizer {GENERAL} {REVIEWS} --size 16000 --out WORK/tokenizer")
    study.pretrain(
        f"headstart pretrain {GENERAL} {REVIEWS} --recipe strong --tokenizer WORK/tokenizer "
        f"{KEPT_OUT} --compile --minutes {study.minutes(MINUTES)} --out WORK/strong"
    )
    # Some training texts are copies of test texts, which are left out of the clean test instead.
    study.pretrain(
        f"headstart pretrain {REVIEWS} {BOOKS}/train.review.spm --from WORK/strong "
        f"--rate 0.001 --compile --steps {ADAPTED_STEPS} --out WORK/adapted"
    )
    sizes = study.sizes(SIZES)
    study.compare(
        f"headstart compare --from WORK/adapted {EXAMPLES} --systems warm,tfidf,majority "
        f"--rates {RATES} --sizes {sizes} --seeds {study.seeds(SEEDS)} --out WORK/by-labels"
    )
    study.compare(
        f"headstart compare --from WORK/adapted {EXAMPLES} "
        f"--systems warm,cold,frozen,taught,tfidf --unlabelled {REVIEWS} "
        f"--rates {RATES} --sizes {sizes.rpartition(',')[2]} --seeds {study.seeds(SEEDS)} "
        "--out WORK/every-way"
    )
    study.keep()


if __name__ == "__main__":
    main()
