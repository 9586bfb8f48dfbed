"""The formula that is shown is the formula that was used."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.models.accounting.quantity import Quantity, as_quantity, symbol, total

NAMES = "VdfLsC"
DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
COUNTS = st.integers(0, 10**7)


def evaluate(text: str, values: dict[str, float] | None = None) -> float:
    """Returns what a reader gets who computes the text by the rules of school."""
    text = text.replace(",", "").replace("·", "*")
    text = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda power: f"**{power[0].translate(DIGITS)}", text)
    assert re.fullmatch(r"[\w\s.()+*-]+", text)
    return eval(text, {"__builtins__": {}}, values or {})  # noqa: S307 -- our own text, in a test


@st.composite
def expressions(draw, values: dict[str, float], depth: int = 4) -> Quantity | float:
    """Draws an expression as the ledger may write it: powers are of symbols or of sums."""
    kinds = ["symbol", "number"] + (["sum", "product", "power", "power of a sum"] if depth else [])
    kind = draw(st.sampled_from(kinds))
    inner = expressions(values, depth - 1)
    if kind == "number":
        return draw(COUNTS)
    if kind == "sum":
        return draw(inner) + draw(inner)
    if kind == "product":
        return draw(inner) * draw(inner)
    name = draw(st.sampled_from(NAMES))
    base = symbol(name, values[name])
    if kind == "power of a sum":
        base = base + draw(COUNTS)
    return base if kind == "symbol" else base ** draw(st.integers(0, 3))


@st.composite
def symbols_and_expressions(draw) -> tuple[dict[str, float], Quantity]:
    values = {name: draw(COUNTS) for name in NAMES}
    return values, as_quantity(draw(expressions(values)))


@given(drawn=symbols_and_expressions())
def test_the_numbers_shown_compute_to_the_value(drawn):
    _, quantity = drawn
    assert evaluate(quantity.numbers) == quantity.value


@given(drawn=symbols_and_expressions())
def test_the_formula_shown_computes_to_the_value(drawn):
    values, quantity = drawn
    assert evaluate(quantity.formula, values) == quantity.value


@given(drawn=symbols_and_expressions())
def test_whole_numbers_stay_whole(drawn):
    assert isinstance(drawn[1].value, int)


@given(count=COUNTS, share=st.floats(0, 10))
def test_shares_are_shown_in_full(count, share):
    quantity = share * symbol("V", count) + 3
    assert evaluate(quantity.numbers) == pytest.approx(quantity.value)


@pytest.mark.parametrize(
    ("quantity", "value", "formula", "numbers"),
    [
        (symbol("d", 200), 200, "d", "200"),
        (as_quantity(50_001), 50_001, "50,001", "50,001"),
        (as_quantity(0.15), 0.15, "0.15", "0.15"),
        (symbol("V", 50_001) * symbol("d", 200), 10_000_200, "V·d", "50,001·200"),
        (
            4 * (symbol("d", 200) ** 2 + symbol("d", 200)),
            160_800,
            "4·(d² + d)",
            "4·(200² + 200)",
        ),
        (2 + symbol("d", 3), 5, "d + 2", "3 + 2"),
        (symbol("d", 2) ** 10, 1_024, "d¹⁰", "2¹⁰"),
    ],
)
def test_a_quantity_is_written_as_a_person_would(quantity, value, formula, numbers):
    assert (quantity.value, quantity.formula, quantity.numbers) == (value, formula, numbers)


@pytest.mark.parametrize("nothing", [0, 0.0, as_quantity(0), symbol("s", 0)])
def test_adding_nothing_leaves_no_trace(nothing):
    width = symbol("d", 8)
    assert width + nothing == nothing + width == width


def test_multiplying_by_one_leaves_no_trace():
    assert 1 * symbol("d", 8) == symbol("d", 8) * 1 == symbol("d", 8)


def test_a_sum_multiplied_by_one_is_still_a_sum():
    shape = 1 * (symbol("d", 8) + 2)
    assert (3 * shape).formula == "3·(d + 2)"


def test_a_sum_is_put_in_brackets_on_either_side_of_a_product():
    shape = symbol("d", 8) + 2
    assert (shape * shape).formula == "(d + 2)·(d + 2)"


def test_a_power_of_a_product_raises_the_whole_product():
    area = symbol("d", 3) * symbol("f", 2)
    assert evaluate((area**2).numbers) == (area**2).value == 36


def test_a_power_of_a_power_raises_the_whole_power():
    cube = (symbol("d", 2) ** 2) ** 3
    assert evaluate(cube.numbers) == cube.value == 64


def test_the_total_of_nothing_is_zero():
    assert total([]).value == 0
    assert total([]).formula == "0"


@given(counts=st.lists(COUNTS, max_size=6))
def test_a_total_is_the_sum(counts):
    seen = total([as_quantity(count) for count in counts])
    assert seen.value == sum(counts) == evaluate(seen.numbers)


def test_quantities_are_frozen():
    with pytest.raises(AttributeError, match="value"):
        symbol("d", 8).value = 9
