"""Classifier and text to an explanation: what carried the decision, and what it resembles."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

import torch

from headstart.errors import DataError
from headstart.evaluation.attribution import attribute, margin_scale
from headstart.evaluation.explanation import Account, AttentionMaps, Explanation, JudgedPart
from headstart.evaluation.integrated_gradients import Shares
from headstart.models.inspection import weights_by_layer
from headstart.pipeline.classifier import Classifier, probabilities
from headstart.pipeline.feeding import as_text
from headstart.pipeline.like_examples import like_examples
from headstart.pipeline.run_folder import Run
from headstart.pipeline.text_rows import TextReader, window_starts
from headstart.tokenizers.pieces import MASK, UNKNOWN
from headstart.tokenizers.spans import PieceSpan, cut_with_spans
from headstart.tokenizers.words import words_of

# Each window is read some hundred times: more would take hours, and nobody would read the page.
NUM_MOST_WINDOWS = 64
# What a person can still tell apart in a small map.
NUM_PIECES_SHOWN = 64


def explain(classifier: Classifier, text: str) -> Explanation:
    """Returns the decision about a text, and what is known of how it came about."""
    (shares,) = probabilities(classifier, [text])
    label = int(shares.argmax())
    return Explanation(
        run=str(classifier.run.folder),
        label=classifier.labels[label],
        probabilities=dict(zip(classifier.labels, shares.tolist(), strict=True)),
        account=account_of(classifier, text, label),
        attention=attention_of(classifier.run, classifier.reader.rows(text)[0]),
        alike=like_examples(classifier, text),
    )


def account_of(classifier: Classifier, text: str, label: int) -> Account:
    """Shares the margin of a label out among the pieces and words of a text."""
    run, reader = classifier.run, classifier.reader
    rows = reader.rows(text)
    if len(rows) > NUM_MOST_WINDOWS:
        raise DataError(
            f"The text is read in {len(rows):,} windows; at most {NUM_MOST_WINDOWS} can be "
            "explained. Give a part of it."
        )
    spans = cut_with_spans(run.tokenizer, text)
    starts = window_starts(len(spans), reader.room, reader.long_texts)
    blank = blank_piece(run)
    blanks = [
        row if not spans else blanked(reader, row, run.tokenizer.id_of[blank]) for row in rows
    ]
    scale = margin_scale(label, len(classifier.labels), classifier.temperature)
    found = attribute(run.model, rows, blanks, scale)
    num_read = min(len(spans), starts[-1] + reader.room)
    by_piece = shares_by_piece(reader, found, starts, num_read)
    prepared = run.tokenizer.prepared(text)
    return Account(
        text=prepared,
        pieces=judged_pieces(spans[:num_read], by_piece),
        words=judged_words(prepared, spans[:num_read], by_piece),
        margin=found.end_value,
        blank_margin=found.start_value,
        blank=blank,
        gap=found.gap,
        num_steps=found.num_steps,
        num_unread=len(spans) - num_read,
        num_windows=len(rows),
    )


def shares_by_piece(
    reader: TextReader, found: Shares, starts: Sequence[int], num_read: int
) -> list[float]:
    """Returns what each piece of a text adds, in all windows that read it."""
    by_piece = [0.0] * num_read
    begin = len(reader.marks.before)
    for start, share_TD in zip(starts, found.by_way, strict=True):
        shares = share_TD.sum(dim=1)[begin : begin + reader.room].tolist()
        # The last window is moved back: a piece that two of them read has a share in both.
        for place, share in enumerate(shares[: num_read - start], start=start):
            by_piece[place] += share
    return by_piece


def blank_piece(run: Run) -> str:
    """Returns the piece that stands for no text at all.

    A masked trunk has learned what a mask is: a place of which nothing is known. Others have
    nothing nearer to it than the unknown piece. A vector of zeros would not do: norms make the same
    of all vectors of one direction, so that everything would happen in the first moment of the way.
    """
    is_masked = run.recipe.objective.startswith("masked") and MASK in run.tokenizer.id_of
    return MASK if is_masked else UNKNOWN


def blanked(reader: TextReader, row: Sequence[int], blank_id: int) -> list[int]:
    """Returns a row with nothing between its marks, which stay as they are."""
    return reader.marks.around([blank_id] * (len(row) - reader.marks.num_pieces))


def judged_pieces(spans: Sequence[PieceSpan], shares: Sequence[float]) -> tuple[JudgedPart, ...]:
    """Returns what each piece adds; bytes of one letter are judged together."""
    found: list[JudgedPart] = []
    waiting = 0.0
    for span, share in zip(spans, shares, strict=True):
        waiting += share
        if span.end > span.begin:
            found.append(JudgedPart(begin=span.begin, end=span.end, share=waiting))
            waiting = 0.0
    if waiting:
        end = spans[-1].end
        found.append(JudgedPart(begin=end, end=end, share=waiting))
    return tuple(found)


def judged_words(
    text: str, spans: Sequence[PieceSpan], shares: Sequence[float]
) -> tuple[JudgedPart, ...]:
    """Returns what each word adds."""
    words = words_of(text, spans)
    ends = accumulate((len(word.ids) for word in words), initial=0)
    return tuple(
        JudgedPart(begin=word.begin, end=word.end, share=sum(shares[first:last]))
        for word, (first, last) in zip(words, pairwise(ends), strict=True)
    )


def attention_of(run: Run, row: Sequence[int]) -> AttentionMaps:
    """Returns what the first pieces of a row attend to among themselves."""
    with torch.inference_mode():
        layers = weights_by_layer(run.model.trunk, as_text(run, [row]))
    shown = slice(0, NUM_PIECES_SHOWN)
    return AttentionMaps(
        pieces=tuple(run.tokenizer.vocabulary[number] for number in row[shown]),
        num_pieces=len(row),
        layers=tuple(weights[0, :, shown, shown].float().cpu().numpy() for weights in layers),
    )
