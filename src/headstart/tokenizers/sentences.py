"""Text to sentences, well enough for pairs of them: at a space behind a mark that ends one."""

import re

# The mark and what may close behind it, then one space before what can begin a sentence.
BOUNDARY = re.compile(r"""[.!?…]["'»”’)\]]*( )(?=["'«“‘(\[¿¡—-]*[^\W_a-zà-öø-ÿ])""")


def sentences(text: str) -> list[str]:
    """Returns the sentences of a text; joined by single spaces they are the text again."""
    parts: list[str] = []
    begin = 0
    for match in BOUNDARY.finditer(text):
        end, after = match.span(1)
        parts.append(text[begin:end])
        begin = after
    parts.append(text[begin:])
    return [part for part in parts if part.strip()]
