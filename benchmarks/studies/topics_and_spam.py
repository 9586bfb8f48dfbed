"""Does a trunk of another domain help, and is it said truthfully where it does not?

film-en has read film reviews. It learns the topics of news (four, balanced) and to tell spam from
ham (unbalanced; look at macro-F1).
"""

from study import Study, options_of

ASKED = "Does a trunk that has read film reviews help with topics of news and with spam?"
# Of 6,000 items of news and 4,104 messages; of both 15 % are held out to choose by.
FOLDERS = {"topics": "agnews-test7600-en", "spam": "sms-spam-en"}
SIZES, SEEDS = "100,400,1600", 3


def main() -> None:
    study = Study("topics-and-spam", ASKED, options_of("topics-and-spam", __doc__))
    for name, folder in FOLDERS.items():
        study.compare(
            f"headstart compare --from film-en --train DATA/classify/{folder}/train.csv "
            f"--test DATA/classify/{folder}/test.csv --sizes {study.sizes(SIZES)} "
            f"--seeds {study.seeds(SEEDS)} --out WORK/{name}"
        )
    study.keep()


if __name__ == "__main__":
    main()
