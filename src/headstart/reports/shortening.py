"""Long texts, short enough to show."""

LENGTH_SHOWN = 600


def shortened(text: str, length: int = LENGTH_SHOWN) -> str:
    """Returns the beginning of a long text and how much was left out, on one line."""
    line = " ".join(text.split())
    if len(line) <= length:
        return line
    return f"{line[:length].rstrip()}… ({len(line) - length:,} more characters)"
