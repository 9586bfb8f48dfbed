"""Fills the generated blocks of README.md and docs/ from the code and the committed records.

A block stands between `<!-- generated: NAME -->` and `<!-- end -->`. `--check` changes nothing and
fails where a block is out of date. Usage: generate.py [--check]
"""

import ast
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from classifier_blocks import CLASSIFIER_BLOCKS, spread  # noqa: E402 (the path above must come first)
from gpu_blocks import GPU_BLOCKS  # noqa: E402
from growth_blocks import GROWTH_BLOCKS, write_growth_figures  # noqa: E402 (after the path above)
from page_parts import markdown, provenance  # noqa: E402
from record import newest  # noqa: E402
from results_blocks import RESULT_BLOCKS, write_result_figures  # noqa: E402
from translation_blocks import TRANSLATION_BLOCKS  # noqa: E402
from verdict_block import verdict_sentences  # noqa: E402

from headstart import Question, anatomy, find_recipe  # noqa: E402
from headstart.evaluation.intervals import share_interval  # noqa: E402
from headstart.models.accounting.ledger import Anatomy  # noqa: E402
from headstart.pipeline.anatomy_figures import write_figures  # noqa: E402
from headstart.pipeline.examples import MOST_VALID, VALID_SHARE  # noqa: E402
from headstart.pipeline.label_learner import steps_in_epoch  # noqa: E402
from headstart.pipeline.this_machine import described_machine  # noqa: E402
from headstart.reports.ledger_tables import (  # noqa: E402
    parameter_table,
    projection_table,
    quoted_table,
    shorthand_table,
)
from headstart.reports.numbers import show_bytes, show_duration  # noqa: E402
from headstart.transfers.settings import (  # noqa: E402
    COLD,
    FROZEN,
    GRADUAL,
    TAUGHT,
    WARM,
    TransferSettings,
)

BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
FIGURES = ROOT / "docs" / "figures"
RULE_OF_FOUR = "|---|---:|---:|---:|"
# What a machine's rate is has no part in the tables of parameters.
ANY_MACHINE = described_machine(1.0, None)


def lab_parameters() -> str:
    """The documents' model by part, as a language model."""
    return markdown(parameter_table(anatomy(find_recipe("lab"), Question(), ANY_MACHINE)))


def lab_totals() -> str:
    """The three counts of the documents."""
    rows = {
        "as a language model over 50,001 pieces": Question(),
        "as a classifier of two labels": Question(num_labels=2),
        "the same on a frozen trunk": Question(num_labels=2, is_frozen=True),
    }
    lines = ["| `lab` | parameters | of them learning |", "|---|---:|---:|"]
    for name, question in rows.items():
        ledger = anatomy(find_recipe("lab"), question, ANY_MACHINE)
        lines.append(f"| {name} | {ledger.num_parameters:,} | {ledger.num_trainable:,} |")
    return "\n".join(lines)


def lab_shorthands() -> str:
    """The rough counts beside the exact ones."""
    return markdown(shorthand_table(anatomy(find_recipe("lab"), Question(), ANY_MACHINE)))


def base_quoted() -> str:
    """The 65 M of the paper beside the exact count."""
    quoted = anatomy(find_recipe("base"), Question(), ANY_MACHINE).quoted
    assert quoted is not None
    return markdown(quoted_table(quoted))


def base_on_a_1050_ti() -> str:
    """Could a GTX 1050 Ti, 2.1 TFLOP/s and 4 GiB, have trained the base model?"""
    question = Question(num_tokens=2_500_000_000)
    card = anatomy(find_recipe("base"), question, described_machine(2.1, 4))
    # The paper's own run calibrates the answer: eight P100 of 9.5 TFLOP/s took twelve hours.
    paper = anatomy(find_recipe("base"), question, described_machine(8 * 9.5, None))
    assert card.projection.seconds is not None
    assert paper.projection.seconds is not None
    paper_hours, card_days = paper.projection.seconds / 3_600, card.projection.seconds / 86_400
    share = paper_hours / 12
    calibrated = (
        f"The paper's eight GPUs of 9.5 TFLOP/s would have needed {paper_hours:.1f} hours at their "
        f"full rate and took 12: they reached {100 * share:.0f} % of it. At that share the card "
        f"needs about {card_days / share:.0f} days."
    )
    return f"{markdown(projection_table(card))}\n\n{calibrated}"


def bench_trunk() -> str:
    """The step of the documents' classifier beside plain torch.nn."""
    record = newest("trunk")
    lines = ["| training step | seconds (lowest to highest) | tokens/s |", "|---|---:|---:|"]
    for name, row in record["seconds"].items():
        spread = (
            f"{row['median_seconds']:.3f} ({row['min_seconds']:.3f} to {row['max_seconds']:.3f})"
        )
        lines.append(f"| {name} | {spread} | {record['tokens'] / row['median_seconds']:,.0f} |")
    ratio = f"{record['ratio']:.2f} times the peer's speed"
    note = f"{record['work']}: {ratio}, by the medians of steps in turn."
    return "\n".join([*lines, "", note, provenance(record)])


def bench_ledger() -> str:
    """Predicted against seen."""
    record = newest("ledger")
    lines = [
        "| shape | step predicted | seen | | peak memory predicted | seen | |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, case in record["cases"].items():
        seconds, peak = case["step_seconds"], case["peak_bytes"]
        lines.append(
            f"| {name} | {show_duration(seconds['predicted'])} | "
            f"{show_duration(seconds['seen'])} | "
            f"{100 * (seconds['seen'] / seconds['predicted'] - 1):+.0f} % | "
            f"{show_bytes(peak['predicted'])} | {show_bytes(peak['seen'])} | "
            f"{100 * (peak['seen'] / peak['predicted'] - 1):+.0f} % |"
        )
    return "\n".join([*lines, "", provenance(record)])


def bench_leaks() -> str:
    """What the leak guard found of what was planted, how fast, in how much memory."""
    record = newest("leaks")
    lines = [
        "| asked of the leak guard | recall | precision | seconds | most memory |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, case in record["cases"].items():
        lines.append(
            f"| {name} | {case['recall']:.3f} | {case['precision']:.3f} | "
            f"{case['seconds']:.1f} | {show_bytes(1e6 * case['peak_megabytes'])} |"
        )
    work = record["work"]
    return "\n".join([*lines, "", f"{work[0].upper()}{work[1:]}.", provenance(record)])


def bench_cutting() -> str:
    """Text to a token store beside bare sentencepiece."""
    record = newest("cutting")
    lines = ["| cutting | seconds (lowest to highest) | MB/s |", "|---|---:|---:|"]
    for name, row in record["seconds"].items():
        lines.append(
            f"| {name} | {row['median_seconds']:.2f} ({row['min_seconds']:.2f} to "
            f"{row['max_seconds']:.2f}) | {record['bytes'] / 1e6 / row['median_seconds']:.1f} |"
        )
    least, most = record["ratio_of_rounds"]
    note = (
        f"{record['work']}: {record['ratio']:.2f} of the bare speed by the medians, "
        f"{least:.2f} to {most:.2f} from round to round. Headstart's time includes finding "
        "sentences, arrays, hashes and durable writes; bare sentencepiece stops at its lists."
    )
    return "\n".join([*lines, "", note, provenance(record)])


def bench_head() -> str:
    """The vocabulary's head alone, beside the plain form."""
    record = newest("head")
    columns = "plain, as it comes | plain, freed memory kept | chunked | times the one before"
    shape = "the head alone, by positions x pieces; lowest to highest"
    lines = [f"| {shape} | {columns} |", f"{RULE_OF_FOUR}---:|"]
    for shape, case in record["heads"].items():
        # As it comes, with freed memory kept, and in chunks, with freed memory kept too.
        rows = list(case["seconds"].values())
        seconds = [row["median_seconds"] for row in rows]
        shown = " | ".join(map(shown_spread, rows))
        lines.append(f"| {shape} | {shown} | {seconds[1] / seconds[2]:.2f} |")
    for shape, plain_bytes in record["head_bytes"]["plain"].items():
        chunked_bytes = record["head_bytes"]["chunked"][shape]
        lines.append(
            f"| {shape}, memory | {show_bytes(plain_bytes)} | | {show_bytes(chunked_bytes)} | |"
        )
    return "\n".join([*lines, "", f"{record['work']}.", provenance(record)])


def shown_spread(row: Mapping[str, float]) -> str:
    """Shows a median of any size, from the lowest to the highest."""
    median, low, high = (show_duration(row[f"{name}_seconds"]) for name in ("median", "min", "max"))
    return f"{median} ({low} to {high})"


def bench_language_step() -> str:
    """Whole steps of the documents' language model on a processor, beside peers."""
    record = newest("language-step")
    columns = "seconds (lowest to highest) | tokens/s | times the first"
    lines = [f"| a training step of `lab` | {columns} |", RULE_OF_FOUR]
    speeds: dict[str, float] = {}
    for name, row in record["seconds"].items():
        speeds[name] = record["tokens"] / row["median_seconds"]
        ratio = record["ratios"][name]
        lines.append(f"| {name} | {spread(row)} | {speeds[name]:,.0f} | {ratio:.2f} |")
    note = f"{record['work']}. The exact head is {of_best_peer(speeds)} times the best peer"
    if any(name.endswith(IN_HALF) for name in speeds):
        note += f", and in bf16 {of_best_peer(speeds, IN_HALF)} times"
    return "\n".join([*lines, "", f"{note}.", provenance(record)])


# How a contestant in half precision is marked.
IN_HALF = ", in bf16"


def of_best_peer(speeds: Mapping[str, float], ending: str = "") -> str:
    """Returns the speed of our exact head by that of the best peer in the same precision."""
    peers = [
        speed
        for name, speed in speeds.items()
        if not name.startswith("headstart") and name.endswith(IN_HALF) == bool(ending)
    ]
    return f"{speeds[f'headstart, exact head{ending}'] / max(peers):.2f}"


def bench_sampled_quality() -> str:
    """What is lost by sampling candidates and moving rows alone."""
    record = newest("sampled-quality")
    lines = ["| learned with | held-out loss, three seeds | mean | from the first |", RULE_OF_FOUR]
    for name, row in record["contestants"].items():
        losses = ", ".join(f"{loss:.4f}" for loss in row["held_out_losses"])
        worse = f"{100 * row['mean_worse_by']:+.2f} %"
        lines.append(f"| {name} | {losses} | {row['mean']:.4f} | {worse} |")
    return "\n".join([*lines, "", f"{record['work']}.", provenance(record)])


def bench_pretraining() -> str:
    """What recipes learned in minutes."""
    lines = ["| recipe | steps | tokens/s | held-out loss | bits for each byte | minutes |"]
    lines.append("|---|---:|---:|---:|---:|---:|")
    records = [newest(f"pretraining-{recipe}") for recipe in ("lab", "bert")]
    for record in records:
        results, scores = record["results"], record["results"]["held_out"]
        lines.append(
            f"| {record['work']} | {results['steps']:,} | {results['tokens_per_second']:,.0f} | "
            f"{scores['loss']:.3f} | {scores['bits_per_byte']:.3f} | "
            f"{results['seconds'] / 60:.1f} |"
        )
    written = [f"- {text}" for text in records[0]["written"].values()]
    scores = records[1]["results"]["held_out"]
    num_right = round(scores["next_accuracy"] * scores["num_pairs"])
    low, high = share_interval(num_right, scores["num_pairs"])
    following = (
        f"`bert` tells true pairs of sentences from false ones in {scores['next_accuracy']:.1%} of "
        f"{scores['num_pairs']:,} cases ({low:.1%} to {high:.1%} with 95 % confidence)."
    )
    sources = [provenance(record) for record in records]
    return "\n".join(
        [*lines, "", "`lab` wrote, one seed:", "", *written, "", following, "", *sources]
    )


def demo() -> str:
    """What the demo found on this machine: the verdict, and every system on the clean test."""
    record = newest("demo")
    sizes = record["question_asked"]["sizes"]
    scores = {
        (row["system"], row["size"]): row
        for row in record["scores"]
        if (row["test"], row["metric"]) == ("clean", "accuracy")
    }
    columns = " | ".join(f"{size:,} labels" for size in sizes)
    lines = [
        f"| accuracy on `rotten`, clean test | {columns} |",
        "|---|" + "---:|" * len(sizes),
    ]
    for system in dict.fromkeys(name for name, _ in scores):
        cells = (scores[system, size] for size in sizes)
        shown = (
            f"{100 * row['mean']:.1f} % ({100 * row['low']:.1f} to {100 * row['high']:.1f})"
            for row in cells
        )
        lines.append(f"| {DEMO_NAMES[system]} | {' | '.join(shown)} |")
    row = scores["warm", sizes[0]]
    note = (
        f"{row['num_items']:,} snippets of films that no training snippet is about, "
        f"{row['num_seeds']} seeds, 95 % intervals over seeds and snippets; "
        f"{record['seconds'] / 60:.1f} minutes and {record['most_bytes'] / 2**30:.1f} GiB in all."
    )
    verdict = " ".join(verdict_sentences(record))
    return "\n".join([f"> {verdict}", "", *lines, "", note, provenance(record)])


DEMO_NAMES = {
    "warm": "warm, from `film-en`",
    "cold": "cold, the same network",
    "frozen": "frozen, its head alone",
    "tfidf": "TF-IDF with logistic regression",
    "majority": "majority",
}


def bench_verdict_coverage() -> str:
    """How often the intervals of several ways hold the truth."""
    record = newest("verdict-coverage")
    cases = record["cases"]
    counts = list(dict.fromkeys(case["num_seeds"] for case in cases))
    lines = [
        f"| interval by | {' | '.join(f'{count} seeds' for count in counts)} |",
        "|---|" + "---:|" * len(counts),
    ]
    for name in cases[0]["coverage"]:
        ranges = [
            shown_range(
                [
                    share
                    for case in cases
                    if case["num_seeds"] == count
                    for share in case["coverage"][name].values()
                ]
            )
            for count in counts
        ]
        lines.append(f"| {name} | {' | '.join(ranges)} |")
    note = (
        "How often a 95 % interval of an accuracy or of a difference of two holds the true one: "
        "the least and the most over seeds that deviate by 0 to 3 points, "
        f"{record['num_tables']:,} tables each; {record['work']}."
    )
    return "\n".join([*lines, "", note, provenance(record)])


def verdict_error_rates() -> str:
    """How often Headstart's own intervals and verdicts are right, by what seeds do."""
    record = newest("verdict-coverage")
    ours = next(iter(record["cases"][0]["coverage"]))
    lines = [
        "| seeds | they deviate by | a mean is held | a difference is held | worth in labels is "
        'held | "helps" said falsely |',
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for case in record["cases"]:
        held = case["coverage"][ours]
        shares = (held["mean"], held["difference"], case["label_worth"], case["falsely_helps"])
        lines.append(
            f"| {case['num_seeds']} | {100 * case['seed_deviation']:.1f} points | "
            f"{' | '.join(f'{100 * share:.1f} %' for share in shares)} |"
        )
    note = (
        f"{record['num_tables']:,} simulated tables a row, {record['num_worths']:,} for the worth "
        "in labels: chance alone moves a share of 95 % by 1.4 and 3.0 points."
    )
    return "\n".join([*lines, "", note, provenance(record)])


SettingOf = Callable[[TransferSettings], object]
# Each setting of a transfer, the option that changes it, and where it stands.
TRANSFER_ROWS: Sequence[tuple[str, str, SettingOf]] = (
    ("epochs", "`--epochs`", lambda each: each.epochs),
    ("at least so many steps", "`--fewest-steps`", lambda each: each.fewest_steps),
    ("examples in a step", "`--examples`", lambda each: each.examples_per_step),
    ("highest rate", "`--rate`", lambda each: each.learning.peak_rate),
    (
        "share of the steps in which it rises",
        "`--warm-up`",
        lambda each: each.learning.warm_up_share,
    ),
    ("how it falls then", "", lambda each: each.learning.schedule),
    ("a layer's rate by the one above", "`--layer-decay`", lambda each: each.transfer.layer_decay),
    ("weight decay", "", lambda each: each.learning.weight_decay),
    ("AdamW's betas", "", lambda each: f"{each.learning.beta1}, {each.learning.beta2}"),
    ("gradients are cut to norm", "", lambda each: each.learning.max_norm),
    ("dropout", "`--dropout`", lambda each: each.dropout),
    ("parts of a step", "`--accumulate`", lambda each: each.learning.accumulation),
    (
        "ends after so many epochs without a better one",
        "`--patience`",
        lambda each: each.transfer.patience or "never",
    ),
    ("the best epoch by", "`--best-by`", lambda each: each.transfer.best_by),
    ("best epochs averaged", "`--average-best`", lambda each: each.transfer.num_averaged),
    ("decay of an average", "`--average`", lambda each: each.learning.average_decay or "none"),
    (
        "the head is fitted first",
        "`--fit-head`",
        lambda each: "yes" if each.transfer.fits_head else "no",
    ),
    ("fresh layers", "`--fresh-layers`", lambda each: each.transfer.num_fresh_layers),
    (
        "rare labels weigh more",
        "`--weigh-labels`",
        lambda each: "yes" if each.transfer.weighs_labels else "no",
    ),
    ("long texts", "`--long-texts`", lambda each: each.transfer.long_texts),
    ("pieces read at once", "`--length`", lambda each: each.length or "the trunk's"),
    ("pooling", "`--pooling`", lambda each: each.pooling or "the trunk's"),
    (
        "a text with a label counts as so many taught ones",
        "`--labelled-weight`",
        lambda each: each.transfer.labelled_weight,
    ),
)


def transfer_defaults() -> str:
    """The settings of each mode of a transfer."""
    modes = {
        "full, warm": WARM,
        "full, cold": COLD,
        "gradual": GRADUAL,
        "frozen": FROZEN,
        "taught": TAUGHT,
    }
    lines = [f"| setting | option | {' | '.join(modes)} |", "|---|---|" + "---:|" * len(modes)]
    for name, option, setting_of in TRANSFER_ROWS:
        values = [str(setting_of(settings)) for settings in modes.values()]
        lines.append(f"| {name} | {option} | {' | '.join(values)} |")
    notes = [
        f"Without `--valid`, {100 * VALID_SHARE:.0f} % of the training examples, at most "
        f"{MOST_VALID:,}, are held out to choose by.",
        *(steps_sentence(WARM, num_labels) for num_labels in (100, 1_000)),
    ]
    return "\n".join([*lines, "", " ".join(notes)])


def steps_sentence(settings: TransferSettings, num_labels: int) -> str:
    """Says how many epochs and steps so many labels come to."""
    steps_per_epoch = steps_in_epoch(num_labels, settings.examples_per_step)
    epochs = settings.epochs_for(steps_per_epoch)
    return (
        f"With {num_labels:,} labels a warm transfer has {epochs} epochs of {steps_per_epoch} "
        f"steps, {epochs * steps_per_epoch} in all."
    )


def shown_range(shares: Sequence[float]) -> str:
    """Returns the least and the most of several shares."""
    return f"{100 * min(shares):.1f} to {100 * max(shares):.1f} %"


def tree() -> str:
    """The package as a tree, each part with the first sentence of its own docstring."""
    package = ROOT / "src" / "headstart"
    parts = [path for path in package.iterdir() if path.is_dir() and path.name != "__pycache__"]
    files = [path for path in package.glob("*.py") if not path.name.startswith("__")]
    lines = ["```", "src/headstart/"]
    for path in (*sorted(parts), *sorted(files)):
        source = path / "__init__.py" if path.is_dir() else path
        sentence = (ast.get_docstring(ast.parse(source.read_text())) or "").split("\n")[0]
        name = f"{path.name}/" if path.is_dir() else path.name
        lines.append(f"  {name:<15} {sentence.removesuffix('.')}")
    return "\n".join([*lines, "```"])


BLOCKS: Mapping[str, Callable[[], str]] = {
    "lab-totals": lab_totals,
    "lab-parameters": lab_parameters,
    "lab-shorthands": lab_shorthands,
    "base-quoted": base_quoted,
    "base-on-a-1050-ti": base_on_a_1050_ti,
    "bench-trunk": bench_trunk,
    "bench-ledger": bench_ledger,
    "bench-leaks": bench_leaks,
    "bench-cutting": bench_cutting,
    "bench-head": bench_head,
    "bench-language-step": bench_language_step,
    "bench-sampled-quality": bench_sampled_quality,
    "bench-pretraining": bench_pretraining,
    "bench-verdict-coverage": bench_verdict_coverage,
    "verdict-error-rates": verdict_error_rates,
    "transfer-defaults": transfer_defaults,
    "demo": demo,
    "tree": tree,
    **GPU_BLOCKS,
    **GROWTH_BLOCKS,
    **RESULT_BLOCKS,
    **TRANSLATION_BLOCKS,
    **CLASSIFIER_BLOCKS,
}


def filled(text: str) -> str:
    """Returns a page with its blocks as they should be now."""
    return BLOCK.sub(lambda match: f"{match[1]}{BLOCKS[match[2]]()}\n{match[3]}", text)


def main() -> int:
    """Fills every page, or checks them."""
    is_check = "--check" in sys.argv[1:]
    pages = [ROOT / "README.md", ROOT / "benchmarks" / "README.md", *(ROOT / "docs").rglob("*.md")]
    stale = []
    for page in pages:
        text = page.read_text()
        wanted = filled(text)
        if text != wanted:
            stale.append(page)
            if not is_check:
                page.write_text(wanted)
                print(f"filled {page.relative_to(ROOT)}")
    if is_check and stale:
        print(f"out of date: {', '.join(map(str, stale))}; run `make docs`.", file=sys.stderr)
        return 1
    if not is_check:
        lab = anatomy(find_recipe("lab"), Question(), ANY_MACHINE)
        write_figures(Anatomy(ledger=lab), FIGURES)
        write_result_figures(FIGURES)
        write_growth_figures(FIGURES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
