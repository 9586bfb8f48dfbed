"""Is causal pretraining the better start for `strong`, if it has as long as masked pretraining?

Both trunks are made as in the study `strong`, whose own is found again where `--work` is the same.
"""

from strong import EXAMPLES, RATES, make_adapted_trunk, pretrain_and_adapt
from study import Study, options_of

ASKED = "Is causal pretraining the better start for strong, if it has as long as masked has?"
SIZES, SEEDS = "1600", 5


def main() -> None:
    study = Study("strong-causal", ASKED, options_of("strong-causal", __doc__))
    make_adapted_trunk(study)
    pretrain_and_adapt(study, "--recipe strong --objective causal", "causal", "causal-adapted")
    study.compare(
        f"headstart compare --from WORK/causal-adapted --from WORK/adapted {EXAMPLES} "
        f"--systems warm,tfidf --rates {RATES} --sizes {study.sizes(SIZES)} "
        f"--seeds {study.seeds(SEEDS)} --out WORK/objectives"
    )
    study.keep()


if __name__ == "__main__":
    main()
