"""Numbers as people read them: the largest unit that fits, and three digits."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.reports.numbers import (
    BYTE_UNITS,
    DURATION_UNITS,
    OPERATION_UNITS,
    show_bytes,
    show_count,
    show_duration,
    show_operations,
)

SIZES = {
    show_bytes: {unit: size for size, unit in BYTE_UNITS} | {"byte": 1},
    show_operations: {f"{unit}FLOP": size for size, unit in OPERATION_UNITS},
    show_duration: {unit: size for size, unit in DURATION_UNITS}
    | {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1},
}

every_unit = pytest.mark.parametrize("show", SIZES, ids=lambda show: show.__name__)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (402, "402 bytes"),
        (1_023, "1,023 bytes"),
        (1_024, "1 KiB"),
        (84_073_604, "80.2 MiB"),
        (4 << 30, "4 GiB"),
        (2_831_111_564, "2.64 GiB"),
        (5 << 40, "5,120 GiB"),
    ],
)
def test_bytes_are_shown_in_powers_of_1024(count, text):
    assert show_bytes(count) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 FLOP"),
        (3.125, "3.12 FLOP"),
        (819_200, "819 kFLOP"),
        (1_280_000, "1.28 MFLOP"),
        (2.1e12, "2.1 TFLOP"),
        (9.61e12, "9.61 TFLOP"),
        (2e15, "2 PFLOP"),
    ],
)
def test_operations_are_shown_in_powers_of_1000(count, text):
    assert show_operations(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2e-6, "2 µs"),
        (0.0424, "42.4 ms"),
        (4.58, "4.58 seconds"),
        (60, "1 minute"),
        (90, "1.5 minutes"),
        (5_400, "1.5 hours"),
        (457_760, "5.3 days"),
        (86_400_000, "1,000 days"),
    ],
)
def test_durations_are_shown_in_the_unit_that_people_use(seconds, text):
    assert show_duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (402, "402"), (21_018_401, "21,018,401"), (2.5e9, "2,500,000,000")],
)
def test_counts_are_whole_with_their_thousands_apart(count, text):
    assert show_count(count) == text


@given(count=st.integers(0, 10**18))
def test_a_count_loses_nothing(count):
    assert int(show_count(count).replace(",", "")) == count


@every_unit
@given(value=st.floats(1e-6, 1e20))
def test_what_is_shown_is_the_value_to_three_digits(show, value):
    number, unit = show(value).split(" ")
    assert float(number.replace(",", "")) * SIZES[show][unit] == pytest.approx(value, rel=6e-3)


@every_unit
@given(value=st.floats(0.01, 1e20))
def test_no_number_is_written_in_powers_of_ten(show, value):
    assert re.fullmatch(r"[\d,]+(\.\d+)?", show(value).split(" ")[0])


@every_unit
@given(value=st.floats(1, 1e20))
def test_the_unit_is_the_largest_of_which_there_is_at_least_one(show, value):
    unit = show(value).split(" ")[1]
    larger = [size for size in SIZES[show].values() if size > SIZES[show][unit]]
    assert SIZES[show][unit] <= value
    assert all(size > value for size in larger)
