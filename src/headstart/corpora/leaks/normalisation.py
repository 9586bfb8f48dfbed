"""Texts as the leak guard compares them: words in one case and one spelling of Unicode.

Two texts that differ only in case, spaces, punctuation, symbols, invisible characters or the way
that Unicode writes a letter have the same words.
"""

import re
import unicodedata

# Characters that Unicode lets a reader ignore (soft hyphens, joiners, variation selectors, marks of
# byte order) and the rings and boxes drawn around emoji: they come and go when a text is copied.
INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u20dd-\u20e4\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
RUN_OF_INVISIBLE = re.compile(f"[{INVISIBLE}]+")
# Greek letters with an iota below fold to two letters, and a mark between them changes places.
NEEDS_CARE = re.compile(f"[{INVISIBLE}\u0345\u1f80-\u1fff]")

# The letters, quotes and dashes of the languages of western Europe in a byte each.
WESTERN = "cp1252"
NEITHER, SOFT_HYPHEN = b"\0", b"\xad"
# The one common letter of theirs that folds to two.
SHARP_S = ("\u00df", "ss")

# Han and kana are written without spaces, and a character of them means about as much as a word.
SCRIPTS_WITHOUT_SPACES = (
    range(0x3040, 0x3100),
    range(0x31F0, 0x3200),
    range(0x3400, 0x4DC0),
    range(0x4E00, 0xA000),
    range(0xF900, 0xFB00),
    range(0x20000, 0x32000),
)


def spelling(character: str) -> str:
    """Returns a character as it stands among words: itself, a word of its own, or a space."""
    category = unicodedata.category(character)
    if category[0] in "PSZ" or category in {"Cc", "Cf", "Cs"}:
        return " "
    if category[0] == "L" and any(ord(character) in script for script in SCRIPTS_WITHOUT_SPACES):
        return f" {character}"
    return character


class Spellings(dict[int, str]):
    """The spelling of every character that was met, for `str.translate`."""

    def __missing__(self, code_point: int) -> str:
        found = self[code_point] = spelling(chr(code_point))
        return found


SPELLINGS = Spellings()
ASCII_SPELLINGS = "".join(spelling(chr(code_point)) for code_point in range(128))


def folded(text: str) -> str:
    """Returns a text without case and without differences that NFKC knows to be of form only.

    The steps are those of Unicode's compatibility caseless matching (section 3.13, D146): folding
    the case can undo the form and the form can bring back a case, hence the second round.
    """
    lowered = text.casefold()
    # Nearly every text, and at twice the speed.
    if unicodedata.is_normalized("NFKC", lowered) and not NEEDS_CARE.search(text):
        return lowered
    text = unicodedata.normalize("NFD", RUN_OF_INVISIBLE.sub("", text)).casefold()
    text = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", text)


def words_of_any(text: str) -> list[str]:
    """Returns the words of a text in any script, folded."""
    return folded(text).translate(SPELLINGS).split()


def western_spelling(byte: int) -> bytes:
    """Returns a byte as it stands among words: a letter's, a space's, or a zero for neither."""
    found = words_of_any(bytes([byte]).decode(WESTERN, errors="replace"))
    if not found:
        return b" "
    spelled = found[0].encode(WESTERN, errors="replace")
    # Of one word of one letter the byte tells all: no character here combines with another.
    return spelled if len(found) == len(spelled) == 1 and spelled != b"?" else NEITHER


WESTERN_SPELLINGS = b"".join(map(western_spelling, range(256)))


def words(text: str) -> list[str]:
    """Returns the words of a text, folded; a text of punctuation and symbols alone has none."""
    if text.isascii():
        return text.lower().translate(ASCII_SPELLINGS).split()
    # Bytes have their spelling looked up at ten times the speed of characters.
    try:
        western = text.replace(*SHARP_S).encode(WESTERN)
    except UnicodeEncodeError:
        return words_of_any(text)
    spelled = western.translate(WESTERN_SPELLINGS, SOFT_HYPHEN)
    return words_of_any(text) if NEITHER in spelled else spelled.decode(WESTERN).split()


def normalised(text: str) -> str:
    """Returns the words of a text with one space between them; twice is the same as once."""
    return " ".join(words(text))
