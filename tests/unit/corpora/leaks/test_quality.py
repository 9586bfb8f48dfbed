"""Balance, empty items, long items, other scripts, other languages."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.corpora.leaks.balance import balances
from headstart.corpora.leaks.languages import odd_languages
from headstart.corpora.leaks.lengths import empty_items, long_items, longest_usual
from headstart.corpora.leaks.prepared import prepare
from headstart.corpora.leaks.scripts import main_script, odd_scripts

FRENCH = (
    "le livre est un peu long mais on le lit avec plaisir et la fin est belle pour tous les amis"
)
ENGLISH = "the book is a bit slow but one reads it with joy and its end will be fine for all of you"
RUSSIAN = "Эта книга немного длинная, но её читают всегда."


@pytest.fixture(scope="module")
def prepared(examples):
    def make(texts):
        return prepare({"train": examples(texts)})[0]

    return make


def shuffled(text, seed):
    words = text.split()
    random.Random(seed).shuffle(words)
    return " ".join([*words, f"mot{seed}"])


def test_balance_counts_labels_and_compares_with_the_first_split(examples):
    train, test = balances(
        {
            "train": examples(["x"] * 4, ["neg", "pos", "pos", "mixed"]),
            "test": examples(["x"] * 2, ["pos", "new"]),
        }
    )
    assert list(train.num_items_of.items()) == [("pos", 2), ("mixed", 1), ("neg", 1)]
    assert (train.num_items, train.largest_share) == (4, 0.5)
    assert (train.unseen_labels, train.missing_labels) == ((), ())
    assert (test.unseen_labels, test.missing_labels) == (("new",), ("mixed", "neg"))


def test_balance_of_nothing_is_nothing():
    assert balances({}) == ()
    (empty,) = balances({"train": []})
    assert (empty.num_items, empty.largest_share) == (0, 0)


def test_empty_items_are_those_without_words(prepared):
    found = empty_items(prepared(["a", "", " \t", "?!", "é", "\u200b", "❤️", "7"]))
    assert found.indices == (1, 2, 3, 5, 6)
    assert found.num_items == 5
    assert [item.place.line for item in found.first] == [2, 3, 4]


def test_a_text_much_longer_than_the_rest_is_found(prepared, examples):
    generator = random.Random(0)
    texts = ["x" * generator.randint(50, 150) for _ in range(200)]
    texts[7] = "x" * 5_000
    found = long_items(prepared(texts), examples(texts))
    assert found.indices == (7,)


def test_where_lengths_differ_much_a_long_text_is_usual(prepared, examples):
    texts = ["x" * round(10 * 2 ** (step / 10)) for step in range(80)]
    texts.append("x" * 20_000)
    assert long_items(prepared(texts), examples(texts)).num_items == 0


@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_texts_of_one_length_are_not_long(prepared, examples, count):
    texts = ["x" * 1_000] * count
    assert long_items(prepared(texts), examples(texts)).num_items == 0


@settings(deadline=None)
@given(lengths=st.lists(st.integers(0, 10_000), min_size=1))
def test_at_least_three_quarters_of_the_items_are_not_long(lengths):
    assert sum(length > longest_usual(lengths) for length in lengths) <= len(lengths) / 4


@settings(deadline=None)
@given(lengths=st.lists(st.integers(1, 1_000), min_size=2), factor=st.integers(2, 9))
def test_what_is_long_does_not_depend_on_the_unit(lengths, factor):
    in_larger_units = longest_usual(lengths)
    assert in_larger_units <= longest_usual([factor * length for length in lengths]) / factor
    assert longest_usual([factor * length for length in lengths]) / factor < in_larger_units + 1


@pytest.mark.parametrize(
    ("text", "script"),
    [
        (FRENCH, "LATIN"),
        ("é" * 20, "LATIN"),
        ("\uff46\uff55\uff4c\uff4c" * 5, "LATIN"),
        (RUSSIAN, "CYRILLIC"),
        ("この本は少し長いですが、楽しく読めます。カタカナも。", "CJK"),
        ("这本书有点长但是读起来很愉快结局也很美推荐给大家。", "CJK"),
        ("이 책은 조금 길지만 즐겁게 읽을 수 있습니다 그리고 끝도 좋습니다", "HANGUL"),
        ("यह किताब थोड़ी लंबी है लेकिन पढ़ने में मज़ा आता है और अंत अच्छा है", "DEVANAGARI"),
        ("too few", None),
        ("1234567890 " * 20, None),
        ("", None),
        (f"{RUSSIAN} and a quotation", "CYRILLIC"),
    ],
)
def test_the_script_is_that_of_most_letters(text, script):
    assert main_script(text) == script


def test_an_item_in_another_script_is_found(prepared, examples):
    texts = [FRENCH] * 10 + [RUSSIAN, "Да!", "", f"{FRENCH} «{RUSSIAN[:10]}»"]
    found = odd_scripts(prepared(texts), examples(texts))
    assert found.indices == (10,)
    assert found.rule == "mostly not in Latin letters"
    assert odd_scripts(prepared(["?"]), examples(["?"])).num_items == 0


def test_an_item_in_another_language_is_found(prepared):
    texts = [shuffled(FRENCH, seed) for seed in range(100)]
    texts[40] = ENGLISH
    texts[41] = "the book"
    assert odd_languages(prepared(texts)).indices == (40,)


def test_an_item_with_half_of_the_usual_common_words_is_not_odd(prepared):
    texts = [shuffled(FRENCH, seed) for seed in range(100)]
    texts[40] = " ".join(FRENCH.split()[:10] + [f"rare{number}" for number in range(10)])
    assert odd_languages(prepared(texts)).num_items == 0


def test_few_items_are_not_judged_by_their_language(prepared):
    assert odd_languages(prepared([FRENCH] * 20 + [ENGLISH])).num_items == 0
    assert odd_languages(prepared([])).num_items == 0
