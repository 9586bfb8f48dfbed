"""Items in another script than the rest of their split."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache

from headstart.corpora.examples import Example
from headstart.corpora.leaks.oddities import Oddity, oddity
from headstart.corpora.leaks.prepared import PreparedSplit

# Fewer letters than these may be a name or a quotation.
NUM_LETTERS_TO_JUDGE = 20
# Japanese mixes three scripts, and Chinese has one of them.
EAST_ASIAN = "CJK"
SAME_SCRIPT = {"HIRAGANA": EAST_ASIAN, "KATAKANA": EAST_ASIAN, "BOPOMOFO": EAST_ASIAN}


def odd_scripts(split: PreparedSplit, examples: Sequence[Example]) -> Oddity:
    """Finds the items of which most letters are of another script than most items' are."""
    scripts = [main_script(example.text) for example in examples]
    usual = Counter(script for script in scripts if script).most_common(1)
    if not usual:
        return oddity(split, "script", "in another script than the rest", [])
    name = usual[0][0]
    indices = [index for index, script in enumerate(scripts) if script and script != name]
    return oddity(split, "script", f"mostly not in {name.title()} letters", indices)


def main_script(text: str) -> str | None:
    """Returns the script of most of a text's letters, or nothing where there are few letters."""
    if text.isascii():  # most texts of English, told apart without a look at each letter
        num_letters = sum(map(str.isalpha, text))
        return "LATIN" if num_letters >= NUM_LETTERS_TO_JUDGE else None
    counts: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if character.isalpha():
            counts[script_of(character)] += count
    if counts.total() < NUM_LETTERS_TO_JUDGE:
        return None
    return min(counts, key=lambda script: (-counts[script], script))


@cache
def script_of(letter: str) -> str:
    """Returns a letter's script, which is the first word of its name in Unicode."""
    compatible = unicodedata.normalize("NFKC", letter)[0]
    first = unicodedata.name(compatible, "UNKNOWN").split()[0].split("-")[0]
    return SAME_SCRIPT.get(first, first)
