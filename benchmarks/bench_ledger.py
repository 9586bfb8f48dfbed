"""Does the ledger predict what a step takes? Real steps of `lab` and `compact`, beside it."""

import sys

from record import keep

from headstart import Question, anatomy, find_recipe, this_machine
from headstart.models.accounting.ledger import Anatomy
from headstart.pipeline.anatomy import verify
from headstart.reports.ledger_json import anatomy_json

CASES = {
    "lab": Question(),
    "lab, labels": Question(num_labels=2),
    "compact": Question(),
    "compact, labels": Question(num_labels=2),
}


def main() -> None:
    rows = {}
    for name, question in CASES.items():
        print(name, file=sys.stderr)
        ledger = anatomy(find_recipe(name.split(",")[0]), question, this_machine("cpu"))
        rehearsed = verify(ledger, "cpu", seed=0, on_step=lambda: None)
        rows[name] = anatomy_json(Anatomy(ledger=ledger, rehearsed=rehearsed))["verified"]
    keep("ledger", {"work": "predicted against seen, 5 steps each", "cases": rows})


if __name__ == "__main__":
    main()
