"""Numbers as people read them: with units, and no more digits than they mean."""

from collections.abc import Sequence

Units = Sequence[tuple[float, str]]

BYTE_UNITS: Units = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes"))
OPERATION_UNITS: Units = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))
DURATION_UNITS: Units = (
    (86_400, "days"),
    (3_600, "hours"),
    (60, "minutes"),
    (1, "seconds"),
    (1e-3, "ms"),
    (1e-6, "µs"),
)


PLURALS = frozenset({"bytes", "days", "hours", "minutes", "seconds"})


def with_unit(value: float, units: Units) -> str:
    """Returns a value in the largest unit of which it has at least one, to three digits."""
    # What rounds up to a whole unit is shown in that unit.
    size, unit = next((row for row in units if float(f"{abs(value) / row[0]:.3g}") >= 1), units[-1])
    scaled = value / size
    digits = f"{scaled:,.0f}" if abs(scaled) >= 99.95 or scaled == int(scaled) else f"{scaled:.3g}"
    if digits == "1" and unit in PLURALS:
        unit = unit.removesuffix("s")
    return f"{digits} {unit}".strip()


def show_bytes(count: float) -> str:
    """Returns a number of bytes, such as "2.64 GiB"."""
    return with_unit(count, BYTE_UNITS)


def show_operations(count: float) -> str:
    """Returns a number of floating-point operations, such as "126 MFLOP"."""
    number, _, unit = with_unit(count, OPERATION_UNITS).partition(" ")
    return f"{number} {unit}FLOP"


def show_duration(seconds: float) -> str:
    """Returns a duration, such as "3.6 seconds"."""
    return with_unit(seconds, DURATION_UNITS)


def show_count(count: float) -> str:
    """Returns a whole number with its thousands apart, such as "21,018,401"."""
    return f"{round(count):,}"


def show_share(share: float) -> str:
    """Returns a share of a whole, such as "4.6 %"."""
    return "under 0.1 %" if 0 < share < 0.001 else f"{100 * share:.1f} %"
