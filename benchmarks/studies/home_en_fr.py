"""What does the translator of the tutorial reach in its five minutes on this machine?

The lines are those of docs/translation.md. `headstart data get home-en-fr` fetches the pairs, and
--data is the folder that holds home-en-fr then.
"""

import json
import shlex
import subprocess
import sys

from study import Study, options_of

from headstart.errors import RunError

ASKED = "What does the translator of the tutorial reach in its five minutes?"
PAIRS = "DATA/home-en-fr"
MINUTES = 5


def main() -> None:
    study = Study("home-en-fr", ASKED, options_of("home-en-fr", __doc__))
    study.pretrain(
        f"headstart train-translator --source {PAIRS}/train.src --target {PAIRS}/train.tgt "
        f"--valid-source {PAIRS}/valid.src --valid-target {PAIRS}/valid.tgt "
        f"--minutes {study.minutes(MINUTES)} --out WORK/en-fr"
    )
    if study.options.makes_trunks_only:
        return
    line = f"headstart evaluate WORK/en-fr --source {PAIRS}/test.src --target {PAIRS}/test.tgt"
    line = study.placed(line, ("--device", "--threads"))
    study.commands.append(line)
    study.keep_answer(
        {"scores": evaluated(study, line)["scores"], "runs": {"en-fr": study.run_facts("en-fr")}}
    )


def evaluated(study: Study, line: str) -> dict[str, object]:
    """Returns what an evaluation prints for programs."""
    words = [*map(study.real, shlex.split(line)), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", *words], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise RunError(f"The evaluation ended with {done.returncode}.")
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


if __name__ == "__main__":
    main()
