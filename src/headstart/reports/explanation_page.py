"""An explanation as a page: the decision, what carried it, who looked where, what is like it."""

from collections.abc import Sequence

from headstart.evaluation.explanation import Account, Explanation, JudgedPart, LikeExamples
from headstart.reports.attention_maps import attention_html
from headstart.reports.page import (
    Html,
    Page,
    Section,
    element,
    escape,
    join,
    paragraph,
    shortened,
    table_html,
    user_text,
)
from headstart.reports.table import Table

NUM_WORDS_SHOWN = 8
MOST_GAP = 0.01
# Between the colours of day and night; the strongest part covers the page by half, so that text
# on it stays readable on either.
FOR, AGAINST, MOST_COVER = "58,128,212", "222,108,48", 0.5
LEGEND = (
    "Blue speaks for the label, orange against it, the stronger the more; the number is shown when "
    "the pointer rests on a piece."
)


def explanation_page(explanation: Explanation, version: str) -> Page:
    """Returns the page of one decision."""
    account = explanation.account
    return Page(
        title=f"Why {explanation.label}?",
        lead=lead(explanation),
        sections=(
            Section(title="The text", body=text_section(account)),
            Section(title="The strongest words", body=words_section(account)),
            Section(title="Does it add up?", body=account_section(explanation)),
            Section(
                title="The nearest training examples",
                body=alike_section(explanation.alike),
            ),
            Section(title="Who looks where", body=attention_html(explanation.attention)),
        ),
        footer=paragraph(escape(f"Run {explanation.run}, by headstart {version}.")),
    )


def lead(explanation: Explanation) -> Html:
    """Returns the decision, with the probability of each label."""
    probability = percent(explanation.probabilities[explanation.label])
    shares = sorted(explanation.probabilities.items(), key=lambda pair: -pair[1])
    table = Table(
        title="Calibrated probabilities",
        columns=("label", "probability"),
        rows=tuple((label, percent(share)) for label, share in shares),
        numeric=frozenset({"probability"}),
    )
    return join(
        paragraph(escape(f"{explanation.label}, {probability}"), "verdict"), table_html(table)
    )


def text_section(account: Account) -> Html:
    """Returns the text, each piece in the colour of what it adds."""
    if not account.pieces:
        return paragraph(escape("The text has no pieces, so that nothing in it can be judged."))
    notes = [LEGEND]
    if account.num_unread:
        notes.append(
            f"The run reads the beginning of a text: {account.num_unread:,} pieces behind it, in "
            "grey, had no part in the decision."
        )
    if account.num_windows > 1:
        notes.append(f"The text was read in {account.num_windows:,} windows.")
    quote = element("bdi", coloured(account), {"dir": "auto", "style": "white-space:pre-wrap"})
    return join(
        element("blockquote", paragraph(quote)),
        *(paragraph(escape(note), "note") for note in notes),
    )


def coloured(account: Account) -> Html:
    """Returns the text with a background for each piece."""
    most = max(abs(piece.share) for piece in account.pieces) or 1.0
    parts: list[Html] = []
    place = 0
    for piece in account.pieces:
        parts.append(escape(account.text[place : piece.begin]))
        parts.append(coloured_piece(account.text[piece.begin : piece.end], piece.share, most))
        place = piece.end
    rest = account.text[place:]
    if account.num_unread:
        parts.append(element("span", escape(f" {shortened(rest)}"), {"class": "soft"}))
    else:
        parts.append(escape(rest))
    return Html("".join(parts))


def coloured_piece(text: str, share: float, most: float) -> Html:
    """Returns one piece on its background."""
    colour = FOR if share > 0 else AGAINST
    cover = MOST_COVER * abs(share) / most
    # Printers leave backgrounds out unless they are told that these say something.
    style = f"background:rgba({colour},{cover:.2f});print-color-adjust:exact"
    return element("span", escape(text), {"style": style, "title": f"{share:+.3f}"})


def words_section(account: Account) -> Html:
    """Returns the words that add most for and against."""
    ranked = sorted(account.words, key=lambda word: -word.share)
    speaking_for = [word for word in ranked if word.share > 0][:NUM_WORDS_SHOWN]
    against = [word for word in reversed(ranked) if word.share < 0][:NUM_WORDS_SHOWN]
    if not ranked:
        return paragraph(escape("There are no words."))
    return element(
        "div",
        [
            element("div", words_table(title, words, account.text))
            for title, words in (("For the label", speaking_for), ("Against it", against))
        ],
        {"class": "panels"},
    )


def words_table(title: str, words: Sequence[JudgedPart], text: str) -> Html:
    """Returns words with what each adds, once for each place where one stands."""
    if not words:
        return paragraph(escape(f"{title}: no word."))
    table = Table(
        title=title,
        columns=("word", "adds"),
        rows=tuple(
            (shortened(text[word.begin : word.end], 40), f"{word.share:+.3f}") for word in words
        ),
        numeric=frozenset({"adds"}),
    )
    return table_html(table)


def account_section(explanation: Explanation) -> Html:
    """Returns the margins, what the pieces add up to, and what is missing."""
    account = explanation.account
    total = sum(piece.share for piece in account.pieces)
    others = [label for label in explanation.probabilities if label != explanation.label]
    above = others[0] if len(others) == 1 else f"the mean of the {len(others)} others"
    gap = f"{100 * account.gap:.2g} %"
    table = Table(
        title="The margin and its parts",
        columns=("what", "margin"),
        rows=(
            (f"the text: {explanation.label} above {above}", f"{account.margin:+.3f}"),
            (f"{account.blank} in the place of each piece", f"{account.blank_margin:+.3f}"),
            ("the difference", f"{account.margin - account.blank_margin:+.3f}"),
            ("all pieces together", f"{total:+.3f}"),
            ("completeness gap", gap),
        ),
        numeric=frozenset({"margin"}),
        notes=(verdict_of_gap(account.gap, gap),),
    )
    about = (
        "The pieces are judged by integrated gradients: each has its share of the difference that "
        f"the text makes, found at {account.num_steps:,} points on the way from a text of "
        f"{account.blank} alone. The margin is in calibrated logits."
    )
    return join(paragraph(escape(about)), table_html(table))


def verdict_of_gap(gap: float, shown: str) -> str:
    """Says whether the shares add up."""
    if gap <= MOST_GAP:
        return f"The shares add up: {shown} of the difference is missing, less than 1 %."
    return (
        f"The shares do not add up: {shown} of the difference is missing, more than 1 %, so that "
        "they show no more than a tendency."
    )


def alike_section(alike: LikeExamples) -> Html:
    """Returns the training examples most like the text."""
    if alike.missing:
        return paragraph(escape(alike.missing))
    quotes = [
        element(
            "blockquote",
            [
                paragraph(user_text(example.text)),
                paragraph(escape(f"{example.label}, cosine {example.cosine:.3f}"), "note"),
            ],
        )
        for example in alike.examples
    ]
    compared = f"{alike.num_compared:,} of {alike.num_known:,}"
    if alike.num_compared == alike.num_known:
        compared = f"all {alike.num_known:,}"
    note = (
        "The cosine is that of the vectors by which the run judges texts; "
        f"{compared} training examples were compared."
    )
    return join(*quotes, paragraph(escape(note), "note"))


def percent(share: float) -> str:
    """Returns a share in percent."""
    return f"{100 * share:.1f} %"
