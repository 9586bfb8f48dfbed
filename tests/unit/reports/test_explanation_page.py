"""The page of an explanation: one safe file that says what was decided and whether it adds up."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from headstart.evaluation.explanation import (
    Account,
    AttentionMaps,
    Explanation,
    JudgedPart,
    LikeExample,
    LikeExamples,
)
from headstart.reports.explanation_page import explanation_page
from headstart.reports.page import page_html

TEXT = 'A <script>alert("x")</script> film & more, see https://a.b/c \u202eabc'
VOID = {"meta", "br", "hr", "col"}


class Outline(HTMLParser):
    """Collects the text, and whether tags close as they open."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


def explanation(**changes) -> Explanation:
    weights = np.random.default_rng(1).dirichlet(np.ones(7), size=(3, 7)).astype(np.float32)
    made = Explanation(
        run="runs/film",
        label="good",
        probabilities={"bad": 0.07, "good": 0.93},
        account=Account(
            text=TEXT,
            pieces=(
                JudgedPart(begin=0, end=1, share=0.25),
                JudgedPart(begin=1, end=10, share=-1.5),
                JudgedPart(begin=12, end=len(TEXT), share=2.25),
            ),
            words=(
                JudgedPart(begin=0, end=1, share=0.25),
                JudgedPart(begin=2, end=10, share=-1.5),
                JudgedPart(begin=30, end=34, share=2.25),
            ),
            margin=2.5,
            blank_margin=1.504,
            blank="<mask>",
            gap=0.004,
            num_steps=24,
            num_unread=0,
            num_windows=1,
        ),
        attention=AttentionMaps(
            pieces=("<sos>", "▁A", *"abcde"), num_pieces=7, layers=(weights, weights)
        ),
        alike=LikeExamples(
            examples=(LikeExample(text="<i>fine</i>", label="good", cosine=0.9876),),
            num_compared=20,
            num_known=1000,
        ),
    )
    return replace(made, **changes)


def shown(given: Explanation) -> tuple[str, Outline]:
    page = page_html(explanation_page(given, "1.2.3"))
    return page, Outline(page)


def test_it_says_what_was_decided_and_whether_it_adds_up():
    _, outline = shown(explanation())
    for words in (
        "good, 93.0 %",
        "the text: good above bad+2.500",
        "<mask> in the place of each piece+1.504",
        "the difference+0.996",
        "all pieces together+1.000",
        "completeness gap0.4 %",
        "The shares add up: 0.4 % of the difference is missing, less than 1 %.",
        "24 points",
        "good, cosine 0.988",
        "20 of 1,000 training examples",
        "Layer 2",
        "headstart 1.2.3",
    ):
        assert words in outline.text, words
    assert outline.open == []


def test_the_text_is_whole_and_nothing_in_it_runs():
    page, outline = shown(explanation())
    assert TEXT in "".join(outline.texts)
    assert "<i>fine</i>" in outline.text
    assert "script" not in {tag for tag, _ in outline.tags}
    # Nothing is fetched: no address but those inside the page.
    assert "://" not in page
    for _, attributes in outline.tags:
        assert "src" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        assert re.match(r"#|data:image/png;base64,", attributes.get("href", "#"))


def test_colours_follow_the_shares():
    _, outline = shown(explanation())
    spans = [
        attributes for tag, attributes in outline.tags if tag == "span" and "style" in attributes
    ]
    assert [span["title"] for span in spans] == ["+0.250", "-1.500", "+2.250"]
    covers = [re.search(r"rgba\((\d+).*,([\d.]+)\)", span["style"]).groups() for span in spans]
    assert covers == [("58", "0.06"), ("222", "0.33"), ("58", "0.50")]


def test_a_gap_that_is_too_large_is_said():
    account = replace(explanation().account, gap=0.031)
    _, outline = shown(explanation(account=account))
    assert "do not add up: 3.1 % of the difference is missing" in outline.text


def test_what_was_not_read_and_windows_are_said():
    account = replace(
        explanation().account,
        pieces=(JudgedPart(begin=0, end=1, share=0.1),),
        num_unread=1234,
        num_windows=3,
    )
    _, outline = shown(explanation(account=account))
    assert "1,234 pieces behind it, in grey, had no part in the decision" in outline.text
    assert "3 windows" in outline.text


def test_missing_examples_are_one_sentence():
    alike = LikeExamples(examples=(), num_compared=0, num_known=0, missing="train.csv has changed.")
    _, outline = shown(explanation(alike=alike))
    assert "train.csv has changed." in outline.text
    assert "cosine" not in outline.text


@pytest.mark.parametrize("num_labels", [2, 5])
def test_more_labels_are_compared_with_their_mean(num_labels):
    probabilities = {"good": 0.6} | {
        f"other{n}": 0.4 / (num_labels - 1) for n in range(1, num_labels)
    }
    _, outline = shown(explanation(probabilities=probabilities))
    expected = "other1" if num_labels == 2 else "the mean of the 4 others"
    assert f"good above {expected}" in outline.text


def test_an_empty_text_has_a_page():
    account = replace(explanation().account, text="", pieces=(), words=())
    _, outline = shown(explanation(account=account))
    assert "The text has no pieces" in outline.text


def test_shortened_maps_say_so_and_the_file_is_small():
    weights = np.random.default_rng(1).random((8, 64, 64)).astype(np.float32)
    maps = AttentionMaps(pieces=("▁piece",) * 64, num_pieces=256, layers=(weights,) * 6)
    page, outline = shown(explanation(attention=maps))
    assert "first 64 of the 256 pieces" in outline.text
    assert len(page) < 1_000_000
