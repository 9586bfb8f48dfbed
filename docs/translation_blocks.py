"""What translators reach and how fast they learn, each from the newest record of its question."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from page_parts import (
    NO_RECORD,
    Record,
    block_of,
    done_for,
    markdown,
    measured,
    provenance,
    records_of,
)

from headstart.reports.numbers import show_bytes, show_duration
from headstart.reports.table import Table

LANGUAGES = {"en-de": "English to German", "en-fr": "English to French"}
TRAINING = [f"translation-training-{lengths}" for lengths in ("wmt", "multi30k", "even")]
BLEU = "BLEU (95 % interval)"
COLUMNS = ("Multi30k", "seeds", BLEU, "by seed", "chrF", "steps", "longest run")


def multi30k_block(record: Record) -> str:
    """Returns the table of a record, what it means and how it was made."""
    rows = [our_row(record, pair) for pair in record["pairs"]]
    theirs = record["theirs"]
    if theirs is not None:
        rows.append(their_row(theirs))
    table = Table(
        title=f"Test of 2016, beam {record['beam']}",
        columns=COLUMNS,
        rows=tuple(rows),
        numeric=frozenset(COLUMNS[1:]),
    )
    return "\n\n".join(
        [
            markdown(table),
            " ".join(multi30k_notes(record)),
            done_for(record, "multi30k"),
            provenance(record),
        ]
    )


def our_row(record: Record, pair: str) -> tuple[str, ...]:
    """Returns the row of one pair of languages."""
    found = record["pairs"][pair]
    runs = [run for name, run in record["runs"].items() if name.startswith(pair)]
    return (
        f"`small`, {LANGUAGES[pair]}",
        str(found["num_seeds"]),
        f"{found['bleu']['mean']:.1f} ({found['bleu']['low']:.1f} to {found['bleu']['high']:.1f})",
        ", ".join(f"{each['bleu']:.1f}" for each in found["by_seed"]),
        f"{found['chrf']['mean']:.1f}",
        f"{runs[0]['num_steps']:,}",
        show_duration(max(run["results"]["seconds"] for run in runs)),
    )


def their_row(theirs: Record) -> tuple[str, ...]:
    """Returns the row of Hugging Face's translator."""
    scores = theirs["scores"]
    return (
        f"Hugging Face's Marian, {LANGUAGES['en-de']}",
        "1",
        f"{scores['bleu']:.1f} ({scores['bleu_low']:.1f} to {scores['bleu_high']:.1f})",
        f"{scores['bleu']:.1f}",
        f"{scores['chrf']:.1f}",
        f"{theirs['steps']:,}",
        show_duration(theirs["seconds"]),
    )


def multi30k_notes(record: Record) -> Iterator[str]:
    """Yields what the intervals are over, and what else must be known."""
    found = record["pairs"]["en-de"]
    yield (
        f"Intervals are over other seeds and other sentences ({found['num_sentences']:,} of them), "
        "from one seed over sentences alone."
    )
    if any(run["is_side_by_side"] for run in record["runs"].values()):
        yield "The runs shared the machine, and their times are those of runs side by side."
    yield f"BLEU is cased: `{found['by_seed'][0]['signature']}`."
    if record["theirs"] is not None:
        yield (
            "Marian has the shape, first weights and batches of the first seed, the same "
            "schedule, smoothing, dropout, average of last weights and search."
        )


def translation_training() -> str:
    """Returns how fast `base` learns on a GPU, for each spread of lengths that was measured."""
    blocks = (training_block(record) for _, record in records_of(*TRAINING))
    return "\n\n".join(blocks) or NO_RECORD


def training_block(record: Record) -> str:
    """Returns the table of one record."""
    columns = ("training", "target tokens/s (lowest to highest)", "100,000 steps", "peak memory")
    rows = [
        (
            name,
            f"{speed['median']:,.0f} ({speed['lowest']:,.0f} to {speed['highest']:,.0f})",
            f"{record['projected_hours'][name]:.2f} hours",
            show_bytes(record["peak_bytes"][name]),
        )
        for name, speed in record["target_tokens_per_second"].items()
    ]
    note = (
        f"{record['work']}: {record['times_their_speed']:.2f} times the speed of Hugging Face's "
        "Marian of the same shape, by the medians of epochs in turn. The paper's 100,000 steps "
        "count as 25,000 target tokens each, without padding."
    )
    return measured("`base` on one GPU", columns, rows, note, record)


def home_en_fr_block(record: Record) -> str:
    """Returns the sentence of one record."""
    scores, run = record["scores"], record["runs"]["en-fr"]
    results = run["results"]
    return (
        f"On the test: **{scores['bleu']:.1f} BLEU** ({scores['bleu_low']:.1f} to "
        f"{scores['bleu_high']:.1f}, over other such sentences), {scores['chrf']:.1f} chrF; one "
        f"seed, {run['num_steps']:,} steps of `{run['recipe']}` in "
        f"{show_duration(results['seconds'])}. `python benchmarks/studies/home_en_fr.py` does it.\n"
        f"{provenance(record)}"
    )


def translating_speed(record: Record) -> str:
    """Returns one sentence of the same."""
    times = record["times_as_long_as_headstart"]
    others = (
        f"Hugging Face takes {times['hugging face, as called first']:.1f} times as long, at its "
        f"best {times['hugging face, at its best']:.1f} times"
    )
    if "ctranslate2" in times:
        others += f", CTranslate2 {times['ctranslate2']:.2f} times"
    return (
        f"{record['work'].capitalize()}, a trained `small` and {record['machine']['processor']}: "
        f"{record['seconds']['headstart']['median_seconds']:.1f} s. With the same weights "
        f"{others} ([benchmarks](benchmarks/README.md), {record['date']})."
    )


def translating_block(record: Record) -> str:
    """Returns the table of one record."""
    columns = ("translating", "seconds (lowest to highest)", "texts/s", "its time by ours", "BLEU")
    rows = [
        (
            name,
            f"{row['median_seconds']:.1f} ({row['min_seconds']:.1f} to {row['max_seconds']:.1f})",
            f"{record['texts_per_second'][name]:.0f}",
            f"{record['times_as_long_as_headstart'][name]:.2f}",
            f"{record['bleu'][name]:.2f}",
        )
        for name, row in record["seconds"].items()
    ]
    same = ", ".join(
        f"{count:,} by {name}"
        for name, count in record["same_as_headstart"].items()
        if name != "headstart"
    )
    note = (
        f"{record['work']}, the same weights for all (a `small`), in single precision. Of ours, "
        f"the same texts were written: {same}."
    )
    return measured("Multi30k's test of 2016, English to German", columns, rows, note, record)


TRANSLATION_BLOCKS: Mapping[str, Callable[[], str]] = {
    "results-multi30k": partial(block_of, "multi30k", multi30k_block),
    "results-home-en-fr": partial(block_of, "home-en-fr", home_en_fr_block),
    "bench-translation-training": translation_training,
    "bench-translate": partial(block_of, "translate", translating_block),
    "translate-speed": partial(block_of, "translate", translating_speed),
}
