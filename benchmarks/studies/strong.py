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
# Both together take what a budget allows.
MINUTES, ADAPTED_SHARE, SIZES, SEEDS = 8, 0.4, "100,200,400,800,1600", 5
SYSTEMS, RATES = "warm,cold,frozen,tfidf,majority", "0.3,1"
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
        "--rate 0.001 --compile "
        f"--minutes {study.minutes(MINUTES, ADAPTED_SHARE)} --out WORK/adapted"
    )
    study.compare(
        f"headstart compare --from WORK/adapted {EXAMPLES} "
        f"--systems {SYSTEMS} --rates {RATES} "
        f"--sizes {study.sizes(SIZES)} --seeds {study.seeds(SEEDS)} --out WORK/compared"
    )
    study.compare(
        f"headstart compare --from WORK/adapted {EXAMPLES} "
        f"--systems warm,taught,tfidf --unlabelled {REVIEWS} --rates {RATES} "
        f"--sizes {study.sizes(SIZES).rpartition(',')[2]} --seeds {study.seeds(SEEDS)} "
        "--out WORK/taught"
    )
    study.keep()


if __name__ == "__main__":
    main()
