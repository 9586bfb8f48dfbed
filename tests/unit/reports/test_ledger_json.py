"""The ledger as JSON: the documented keys, strict values, and the same figures as the record."""

import json
from pathlib import Path

import pytest

from headstart.apps.recipes import RECIPES
from headstart.models.accounting.complexity import LayerTiming, LayerTimings
from headstart.models.accounting.ledger import Anatomy, Rehearsed
from headstart.pipeline.anatomy import anatomy
from headstart.pipeline.question import Question
from headstart.pipeline.this_machine import described_machine
from headstart.reports.ledger_json import anatomy_json

MACHINE = described_machine(2.1, 4)
QUESTIONS = {name: (name, Question()) for name in RECIPES} | {
    "frozen lab": ("lab", Question(num_labels=2, is_frozen=True)),
    "asked about tokens": ("base", Question(num_tokens=2_500_000_000, length=10, kernel=7)),
}
TIMINGS = LayerTimings(
    lengths=(128, 256),
    width=8,
    kernel=3,
    layers=(
        LayerTiming(kind="recurrent", seconds=(0.1, 0.2), seen_exponent=1.0, expected_exponent=1.0),
    ),
)
REHEARSED = Rehearsed(
    machine=MACHINE,
    promised_seconds=0.9,
    predicted_seconds=1.0,
    seen_seconds=1.1,
    predicted_bytes=1_000,
    seen_bytes=None,
)
DOCUMENT = Path(__file__).parents[3] / "docs" / "ledger.md"


def ledger(name: str, question: Question):
    return anatomy(RECIPES[name](), question, MACHINE)


def as_json(name: str, question: Question = Question(), **seen):  # noqa: B008
    return anatomy_json(Anatomy(ledger=ledger(name, question), **seen))


def at(value, path: str):
    for key in path.split("."):
        value = value[key]
    return value


every_question = pytest.mark.parametrize(
    ("name", "question"), QUESTIONS.values(), ids=list(QUESTIONS)
)


@every_question
@pytest.mark.parametrize(
    "path",
    [
        "parameters.total",
        "parameters.trainable",
        "parameters.parts",
        "flops.per_token",
        "bytes",
        "complexity",
    ],
)
def test_every_promised_key_is_there(name, question, path):
    assert at(as_json(name, question), path)


@every_question
def test_the_json_is_strict_and_survives_a_round(name, question):
    value = as_json(name, question, rehearsed=REHEARSED, timings=TIMINGS)
    assert json.loads(json.dumps(value, allow_nan=False)) == value


@every_question
def test_the_parts_sum_to_the_total_and_each_inside_to_its_part(name, question):
    parameters = as_json(name, question)["parameters"]
    assert sum(part["count"] for part in parameters["parts"]) == parameters["total"]
    for part in parameters["parts"]:
        assert part["each"] * part["copies"] == part["count"]
        if part["inside"]:
            assert sum(row["count"] for row in part["inside"]) == part["count"]


def test_the_figures_of_lab_are_the_documents():
    parameters = as_json("lab")["parameters"]
    counts = {part["name"]: (part["each"], part["count"]) for part in parameters["parts"]}
    assert parameters["total"] == parameters["trainable"] == 21_018_401
    assert counts["embedding"] == (10_000_200, 10_000_200)
    assert counts["layers"] == (242_000, 968_000)
    assert counts["language head"] == (10_050_201, 10_050_201)


@every_question
def test_operations_by_part_sum_to_those_of_a_token(name, question):
    flops = as_json(name, question)["flops"]
    forward = sum(part["forward"] for part in flops["parts"])
    backward = sum(part["backward"] for part in flops["parts"])
    assert flops["forward_per_token"] == pytest.approx(forward, abs=1)
    assert flops["backward_per_token"] == pytest.approx(backward, abs=1)
    assert flops["per_token"] == pytest.approx(forward + backward, abs=1)


@every_question
def test_a_step_takes_the_operations_of_its_tokens(name, question):
    value = as_json(name, question)
    per_step = value["flops"]["per_token"] * value["step"]["tokens"]
    assert value["flops"]["per_step"] == pytest.approx(per_step, rel=1e-5)


def test_what_was_not_asked_for_is_null():
    value = as_json("lab")
    assert value["verified"] is None
    assert value["measured"] is None
    assert value["parameters"]["quoted"] is None
    assert value["projection"]["minutes"] is None


def test_a_run_is_answered_in_minutes():
    value = as_json("base", Question(num_tokens=2_500_000_000))
    projection = value["projection"]
    steps = 2_500_000_000 / value["step"]["tokens"]
    assert projection["minutes"] == pytest.approx(steps * projection["step_seconds"] / 60)
    assert projection["fits"] == "in parts"


def test_what_was_seen_stands_beside_what_was_predicted():
    value = as_json("lab", rehearsed=REHEARSED, timings=TIMINGS)
    assert value["verified"]["step_seconds"] == {
        "promised": 0.9,
        "predicted": 1.0,
        "seen": 1.1,
    }
    assert value["verified"]["peak_bytes"] == {"predicted": 1_000, "seen": None}
    assert value["measured"]["lengths"] == [128, 256]


def keys_within(value) -> set[str]:
    """Returns the keys of objects at any depth, but for those that are names of things."""
    if isinstance(value, list):
        return {key for row in value for key in keys_within(row)}
    if not isinstance(value, dict):
        return set()
    inner = (
        keys_within(row) for key, row in value.items() if key not in {"leaves_out", "readings"}
    )
    return set(value).union(*inner)


def documented_keys(top: str) -> set[str]:
    """Returns what the document's table names, in backticks, in the rows of a key."""
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    rows = "".join(line for line in lines if line.startswith("|") and f"`{top}" in line)
    return {text.rpartition(".")[2] for text in rows.split("`")[1::2]}


@pytest.mark.parametrize("top", as_json("base"))
def test_the_document_names_every_key_in_its_row_of_the_table(top):
    value = as_json("base", rehearsed=REHEARSED, timings=TIMINGS)
    assert keys_within(value[top]) - documented_keys(top) == set()
    assert documented_keys(top)
