"""`headstart anatomy`, as a person or a program runs it: figures, forms, evidence."""

import json
import math
import re

import matplotlib.image
import pytest
from click.testing import CliRunner

from headstart.apps.cli.main import main
from headstart.apps.recipes import RECIPES
from headstart.errors import LedgerError
from headstart.models.accounting import census, layer_timing
from headstart.models.accounting.duration import Machine
from headstart.models.accounting.parameters import attention_parameters
from headstart.pipeline import this_machine
from headstart.training import rehearsal

SEEN = Machine(name="a desk", matrix_rate=1e11, pass_rate=5e9, memory_bytes=8 << 30)
TINY = """
from dataclasses import replace
from headstart.apps.recipes.lab import lab

def recipe():
    made = lab()
    layer = replace(made.model.trunk.layer, width=16, num_heads=2, feed_forward_width=16)
    trunk = replace(made.model.trunk, vocabulary_size=64, num_layers=1, layer=layer, max_length=32)
    model = replace(made.model, trunk=trunk)
    return replace(made, name="tiny", model=model, length=16, sequences_per_step=2)
"""


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch, tmp_path):
    """Keeps the user's cache untouched, and gives a machine without measuring one."""
    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(this_machine, "measure_machine", lambda _device: SEEN)
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def tiny(tmp_path) -> str:
    path = tmp_path / "tiny.py"
    path.write_text(TINY)
    return str(path)


def run(*arguments: str):
    result = CliRunner().invoke(main, ["anatomy", *arguments])
    assert result.exit_code == 0, result.output
    return result


def as_json(*arguments: str):
    return json.loads(run(*arguments, "--json").stdout)


def counts(value) -> dict[str, int]:
    return {part["name"]: part["count"] for part in value["parameters"]["parts"]}


def test_lab_has_the_documents_parameters():
    value = as_json("lab", "--vocabulary", "50001")
    layers = next(part for part in value["parameters"]["parts"] if part["name"] == "layers")
    assert value["parameters"]["total"] == value["parameters"]["trainable"] == 21_018_401
    assert counts(value)["embedding"] == 10_000_200
    assert counts(value)["language head"] == 10_050_201
    assert (layers["each"], layers["copies"], layers["count"]) == (242_000, 4, 968_000)


@pytest.mark.parametrize("task", [(), ("--task", "classification")], ids=["implied", "named"])
def test_lab_with_two_labels_has_the_documents_parameters(task):
    value = as_json("lab", "--vocabulary", "50001", *task, "--labels", "2")
    assert value["task"] == "classification"
    assert value["parameters"]["total"] == value["parameters"]["trainable"] == 10_968_602
    assert counts(value)["label head"] == 402


def test_on_a_frozen_lab_only_the_head_learns():
    value = as_json(
        "lab", "--vocabulary", "50001", "--task", "classification", "--labels", "2", "--frozen"
    )
    assert value["parameters"]["total"] == 10_968_602
    assert value["parameters"]["trainable"] == 402
    assert value["step"]["frozen"] is True


def test_base_has_its_exact_count_beside_the_quoted_one():
    value = as_json("base")
    assert value["parameters"]["total"] == 63_082_496
    assert value["parameters"]["quoted"]["count"] == 65_000_000
    text = run("base").stdout
    assert "63,082,496" in text
    assert "65 M is usually quoted" in text


def test_pocket_is_as_small_as_it_says():
    embedding, attention = 4_000 * 128, 4 * (128 * 128 + 128)
    layer = attention + (2 * 128 * 512 + 512 + 128) + 2 * 2 * 128
    to_source, last_norms = attention + 2 * 128, 2 * 2 * 128
    expected = embedding + 2 * layer + 2 * (layer + to_source) + last_norms
    assert as_json("pocket")["parameters"]["total"] == expected == 1_438_208


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_works_in_both_forms_and_they_agree(name):
    total = as_json(name)["parameters"]["total"]
    text = run(name).stdout
    assert text.startswith(f"{name} as a ")
    assert re.search(rf"^total +{total:,}$", text, re.MULTILINE)


def test_every_part_is_shown_with_its_formula_and_its_value():
    text = run("lab").stdout
    for row in (
        r"embedding +V·d +50,001·200 +10,000,200",
        r"layers +4 × one layer +4 × 242,000 +968,000",
        r"language head +V·d \+ V +50,001·200 \+ 50,001 +10,050,201",
    ):
        assert re.search(rf"^{row}$", text, re.MULTILINE), row


def test_the_shorthands_are_shown_with_their_errors():
    text = run("lab").stdout
    for formula, error in (("5·d²", "-42,000"), ("3·N·d² + d²", "-123,200"), ("12·d²", "+238,000")):
        line = next(line for line in text.splitlines() if line.startswith(formula))
        assert line.endswith(f" {error}")


def test_the_length_changes_the_operations_and_the_complexity():
    short, long = as_json("lab", "--length", "64"), as_json("lab", "--length", "1024")
    # Attention's two products forward and five backward, over 960 more positions.
    more = 4 * 4 * (1_024 - 64) * 200 * 3.5
    assert long["flops"]["per_token"] - short["flops"]["per_token"] == more
    assert [value["complexity"]["length"] for value in (short, long)] == [64, 1_024]
    assert short["step"]["tokens"] == long["step"]["tokens"]


def test_the_kernel_changes_the_convolution_alone():
    three, nine = as_json("lab")["complexity"], as_json("lab", "--kernel", "9")["complexity"]
    assert nine["layers"][2]["operations"] == 3 * three["layers"][2]["operations"]
    assert nine["layers"][:2] == three["layers"][:2]
    assert nine["convolution_is_cheaper_from"] == 9 * 200 + 1


def test_whether_a_gtx_1050_ti_could_have_trained_the_65_m_model_is_answered():
    text = run("base", "--tokens", "2.5e9", "--rate", "2.1", "--memory", "4").stdout
    days = re.search(r"^2,500,000,000 tokens +([\d.]+) days$", text, re.MULTILINE)
    assert 5 < float(days[1]) < 7
    assert re.search(r"^does it fit\? +yes, in parts: ", text, re.MULTILINE)


def test_a_memory_that_holds_the_weights_but_no_sequence_is_not_blamed_on_the_weights():
    text = run("base", "--rate", "2.1", "--memory", "1", "--length", "2048").stdout
    answer = re.search(r"^does it fit\? +(.*)$", text, re.MULTILINE)[1]
    assert answer.startswith("no")
    assert "not even its weights" not in answer


def test_tokens_may_be_written_in_several_ways():
    minutes = {
        as_json("lab", "--tokens", text)["projection"]["minutes"]
        for text in ("300000000", "300M", "3e8", "300_000_000", "300,000,000")
    }
    assert len(minutes) == 1


def test_figures_are_written_as_png_and_svg_and_listed(tmp_path):
    folder = tmp_path / "new" / "figures"
    text = run("lab", "--figures", str(folder)).stdout
    written = {path.name for path in folder.iterdir()}
    subjects = {"mask", "positions", "position-similarity", "parameters", "complexity"}
    assert written == {f"{name}.{ending}" for name in subjects for ending in ("png", "svg")}
    assert {line.split("/")[-1] for line in text.splitlines() if "Wrote" in line} == written
    for path in folder.glob("*.png"):
        assert matplotlib.image.imread(path).size


def test_figures_are_listed_in_json(tmp_path):
    value = as_json("bert", "--figures", str(tmp_path / "figures"))
    assert sorted(value["figures"]) == sorted(
        str(path) for path in (tmp_path / "figures").iterdir()
    )


def test_measure_times_three_layers_and_draws_them(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(layer_timing, "LENGTHS", (8, 16, 32, 64))
    monkeypatch.setattr(layer_timing, "SECONDS_PER_POINT", 1e-4)
    result = run(tiny, "--measure", "--figures", str(tmp_path / "figures"))
    table = result.stdout[result.stdout.index("Measured, one sequence forward") :]
    assert re.search(r"^length n +self-attention +recurrent +convolutional$", table, re.MULTILINE)
    for row in ("grows as", "expected"):
        assert re.search(rf"^ *{row}( +n\^-?[\d.]+){{3}}$", table, re.MULTILINE)
    assert (tmp_path / "figures" / "complexity-measured.svg").exists()


def test_verify_prints_predicted_against_seen(tiny, monkeypatch):
    monkeypatch.setattr(rehearsal, "SECONDS_PER_MEASUREMENT", 1e-3)
    text = run(tiny, "--verify").stdout
    table = text[text.index("Verified by real steps") :].split("\n\n")[0]
    assert re.search(r"^what +predicted +seen +difference$", table, re.MULTILINE)
    assert re.search(r"^a step, at the rates seen beside it .* [+-]\d+ %$", table, re.MULTILINE)
    assert re.search(r"^peak memory .* [+-]\d+ %$", table, re.MULTILINE)


def test_a_formula_that_disagrees_with_the_modules_exits_1_in_one_line(monkeypatch):
    wrong = LedgerError("The formula V·d gives 1 parameters for head, but the built model has 2.")

    def disagree(*_):
        raise wrong

    monkeypatch.setattr(census, "check_parts", disagree)
    result = CliRunner().invoke(main, ["anatomy", "lab"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"headstart: {wrong}\n"


def test_a_formula_that_is_wrong_by_one_parameter_exits_1(monkeypatch):
    wrong = "headstart.models.accounting.parameters.attention_parameters"
    monkeypatch.setattr(wrong, lambda layer: attention_parameters(layer) + 1)
    result = CliRunner().invoke(main, ["anatomy", "lab"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert len(result.stderr.splitlines()) == 1
    assert "968,004" in result.stderr


def test_a_second_run_measures_nothing(monkeypatch):
    as_json("lab")
    monkeypatch.setattr(this_machine, "measure_machine", None)
    first = as_json("lab")["projection"]
    assert as_json("lab")["projection"] == first
    assert math.isfinite(first["step_seconds"])
