"""How good do `compact` and `strong` become on IMDb, having read its training reviews alone?

`compact` is the trunk in the box, film-en, which was pretrained on the same reviews. `--trunk
strong=RUN` takes a trunk that was pretrained elsewhere.
"""

from study import Study, options_of

ASKED = "How good do compact and strong become on IMDb, having read its training reviews alone?"
REVIEWS = "DATA/classify/imdb-en"
# Without a file of its own, validation takes 1,000 of the 25,000; these are all that are left.
SIZES = "100,500,2500,24000"
MINUTES, SEEDS = 8, 3


def main() -> None:
    study = Study("imdb", ASKED, options_of("imdb", __doc__))
    study.prepare(f"headstart tokenizer {REVIEWS}/train.csv.xz --size 16000 --out WORK/tokenizer")
    # 123 training reviews are copies of test reviews, which are left out of the clean test instead.
    study.pretrain(
        f"headstart pretrain {REVIEWS}/train.csv.xz --recipe strong --tokenizer WORK/tokenizer "
        f"--compile --minutes {study.minutes(MINUTES)} --out WORK/strong"
    )
    study.compare(
        f"headstart compare --from WORK/strong --from film-en --train {REVIEWS}/train.csv.xz "
        f"--test {REVIEWS}/test.csv.xz --systems warm,tfidf --epochs 4 --length 512 "
        f"--sizes {study.sizes(SIZES)} --seeds {study.seeds(SEEDS)} --out WORK/compared"
    )
    study.keep()


if __name__ == "__main__":
    main()
