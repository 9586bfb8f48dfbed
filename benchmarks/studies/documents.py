"""Their model on their data: how soon is a pretrained `lab` as good as one that begins cold?

The documents' causal model with their own tokenizer, pretrained on French text, then fine-tuned on
their 1,600 book reviews, whole and with the trunk frozen. `--trunk lab=RUN` takes a trunk that was
pretrained elsewhere.
"""

from study import Study, options_of

ASKED = "How many epochs does a pretrained lab need to be as good as a cold one ever becomes?"
BOOKS = "DATA/cls-books"
# In steps, so that another machine makes the same trunk; two to three minutes of a large GPU.
SEQUENCES, STEPS, SIZES, SEEDS = 128, 15_000, "1600", 5
# As they did it a review is judged by its last piece, in fifteen epochs. There dropout does a cold
# start most good on validation and a warm one no harm; of warm rates 1 and 3 end equally well, and
# 3 is sooner there, above all where it has risen within the first epoch.
# As usual it is judged by the mean of its pieces.
WAYS = {
    "as-they-did": "--pooling last --dropout 0.2 --warm-up 0.02 --rates 0.3,3 --epochs 15",
    "as-usual": "--rates 0.3,1 --epochs 10",
}


def main() -> None:
    study = Study("documents", ASKED, options_of("documents", __doc__))
    study.prepare(
        f"headstart tokenizer --import {BOOKS}/sentencepiece.french.model "
        f"--dictionary {BOOKS}/dict.txt --out WORK/tokenizer"
    )
    study.pretrain(
        "headstart pretrain DATA/french-general.txt.xz DATA/french-reviews.txt.xz --recipe lab "
        f"--tokenizer WORK/tokenizer --sequences {SEQUENCES} --rate 0.004 --compile "
        f"--keep-out {BOOKS}/valid.review.spm --keep-out {BOOKS}/test.review.spm "
        f"{study.steps_or_minutes(STEPS)} --out WORK/lab"
    )
    for name, how in WAYS.items():
        study.compare(
            f"headstart compare --from WORK/lab --train {BOOKS}/train.review.spm "
            f"--valid {BOOKS}/valid.review.spm --test {BOOKS}/test.review.spm {how} "
            f"--sizes {study.sizes(SIZES)} --seeds {study.seeds(SEEDS)} --out WORK/{name}"
        )
    study.keep()


if __name__ == "__main__":
    main()
