"""The report says what results.json says, needs nothing else, and stands whatever it is given."""

import itertools
import re

import pytest

from headstart.reports.comparison_page import comparison_page

HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><b onmouseover=x>",
    "]]></svg></style>",
    "مرحبا \u202e \u2066 بالعالم",
    "half \ud83d pair \x00 \x1b[31m",
    "https://example.org/ $x$ & &lt;",
    "word " * 2_000,
    "x" * 10_000,
    "",
]
# Every element that a report may be made of.
# fmt: off
USED = {
    "a", "bdi", "blockquote", "body", "br", "caption", "clippath", "code", "dd", "defs", "desc",
    "details", "div", "dl", "dt", "figcaption", "figure", "footer", "g", "h1", "h2", "h3", "head",
    "html", "li", "main", "meta", "nav", "p", "path", "pre", "rect", "section", "strong", "style",
    "summary", "svg", "table", "tbody", "td", "text", "th", "thead", "title", "tr", "ul", "use",
}
# fmt: on
VARIANTS = {
    "usual": {},
    "one size, one seed": {"sizes": (250,), "seeds": 1},
    "three trunks, four labels": {
        "trunks": ("film-en", "news", "both"),
        "labels": ("world", "sports", "business", "science"),
    },
    "warm and cold alone": {"kinds": ("warm", "cold"), "num_errors": 0},
    "warm alone": {"kinds": ("warm",)},
    "sizes beyond": {"beyond": (2_000, 8_530)},
}
every_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=list(VARIANTS))


@pytest.fixture
def results(comparison_results):
    return comparison_results()


def poisoned(value, text):
    """Puts a text wherever people may have put theirs."""
    value["question"]["labels"] = [text, "b"]
    value["question"]["note"] = text
    value["question"]["train"]["path"] = text
    value["question"]["settings"][text] = {text: text}
    value["question"]["trunks"][0] |= {"name": text, "folder": text}
    value["made"] |= {"command": text, "environment": {text: [text]}}
    value["systems"] = [row | {"name": text, "trunk": text} for row in value["systems"]]
    value["systems"].append({"key": text, "name": text, "kind": "warm", "trunk": text})
    value["scores"] += [
        row | {"system": text} for row in value["scores"] if row["system"] == "warm"
    ]
    value["curves"] += [
        row | {"system": text} for row in value["curves"] if row["system"] == "warm"
    ]
    value["differences"] += [
        row | {"to": text} for row in value["differences"] if row["to"] == "cold"
    ]
    value["verdict"]["sentences"] += [text]
    value["leaks"]["findings"][0]["source"] = text
    value["leaks"]["sketches"][0]["trunk"] = text
    value["ledger"][text] = {text: text}
    value["errors"] = [
        row | {"text": text, "label": text, "predicted": text} for row in value["errors"]
    ]
    return value


def assert_stands_alone(page, reader):
    for tag, attributes in reader.seen:
        assert tag not in {"script", "link", "img", "iframe", "object", "embed", "base"}
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in {"href", "src", "xlink:href"}:
                assert value.startswith("#")
    assert not re.search(r"url\((?!#)|@import|@font-face", page)
    assert "http" not in page
    assert "://" not in page
    assert "<!DOCTYPE html>" in page
    assert page.count("<!DOCTYPE") == 1
    assert not re.search(r"<\?xml|xmlns|<metadata", page)


@every_variant
def test_a_page_is_whole_and_needs_nothing_else(variant, comparison_results, read_page):
    page = comparison_page(comparison_results(**variant))
    reader = read_page(page)
    assert_stands_alone(page, reader)
    names = [attributes["id"] for _, attributes in reader.seen if "id" in attributes]
    assert len(names) == len(set(names))
    pointed = re.findall(r"(?:href=\"|url\()#([\w.-]+)", page)
    assert set(pointed) <= set(names)
    assert "None" not in reader.text
    assert "nan" not in reader.text.split()


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_people_wrote_stays_text(text, comparison_results, read_page):
    page = comparison_page(poisoned(comparison_results(sizes=(250,)), text))
    reader = read_page(page)
    assert {tag for tag, _ in reader.seen} <= USED
    assert "http" not in page.replace("https&#58;//example.org", "")
    assert not any(name.startswith("on") for _, attributes in reader.seen for name in attributes)
    assert len(page.encode()) < 400_000


def test_long_texts_are_shortened_so_that_a_page_stays_small(comparison_results):
    results = comparison_results(
        sizes=(50, 100, 200, 400, 800, 1_600), trunks=("a", "b"), num_errors=20
    )
    for row in results["errors"]:
        row["text"] = "an endless review " * 20_000
    page = comparison_page(results)
    assert len(page.encode()) < 1_000_000
    assert page.count("more characters)") == 20


def test_the_verdict_is_first(results, read_page):
    said = read_page(comparison_page(results)).text
    order = [
        "Pretraining helps here.",
        results["verdict"]["sentences"][0],
        "How they learned",
        "Accuracy by labels",
        "With 1,000 labels, clean and full test",
        "Differences in accuracy on the clean test",
        "test items are clean",
        "What it costs",
        "the surest first",
        results["made"]["command"],
    ]
    # The list of contents names sections once more, before them.
    places = [said.rindex(text) if text in order[2:4] else said.index(text) for text in order]
    assert places == sorted(places)


def test_every_score_on_the_page_is_one_of_the_results(results, read_page):
    said = " ".join(read_page(comparison_page(results)).texts)
    for row in results["scores"]:
        if row["metric"] == "accuracy":
            mean, low, high = (100 * row[key] for key in ("mean", "low", "high"))
            assert f"{mean:.1f} % ({low:.1f} to {high:.1f})" in said
    known = {f"{100 * row['mean']:.1f}" for row in results["scores"]}
    known |= {f"{100 * value:.1f}" for row in results["curves"] for value in row["mean"]}
    known |= {f"{100 * row['cold_best']:.1f}" for row in results["epochs_to_cold_best"]}
    known |= {f"{100 * row['probability']:.1f}" for row in results["errors"]}
    known |= {"0.1", "0.0"}  # the shares of the sketches
    assert set(re.findall(r"(\d+\.\d) %", said)) <= known


def test_errors_show_both_labels_and_how_sure_it_was(results, read_page):
    said = read_page(comparison_page(results)).text
    for row in results["errors"]:
        assert row["text"] in said
        sure = f"{100 * row['probability']:.1f} %"
        assert f"Labelled {row['label']}, taken for {row['predicted']} with {sure}" in said


def test_what_is_needed_to_do_it_again_is_all_there(results, read_page):
    said = read_page(comparison_page(results)).text
    for split in ("train", "valid", "test"):
        assert results["question"][split]["sha256"] in said
        assert results["question"][split]["path"] in said
    assert results["question"]["trunks"][0]["sha256"] in said
    assert results["made"]["command"] in said
    assert "seed numbers" in said
    assert results["made"]["environment"]["torch"] in said


def test_figures_have_names_and_tables_have_headers(results, read_page):
    reader = read_page(comparison_page(results))
    drawings = [attributes for tag, attributes in reader.seen if tag == "svg"]
    assert len(drawings) == 4
    assert all(drawing["role"] == "img" for drawing in drawings)
    assert all(drawing["aria-labelledby"] for drawing in drawings)
    headers = [attributes for tag, attributes in reader.seen if tag == "th"]
    assert headers
    assert all(header["scope"] in {"row", "col"} for header in headers)
    levels = [int(tag[1]) for tag, _ in reader.seen if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: r["verdict"].update(answer="no evidence"), "No evidence that pretraining"),
        (lambda r: r["verdict"].update(better_line="tfidf"), "TF-IDF is the better choice."),
        (lambda r: r["question"].update(note="The text is generated."), "The text is generated."),
        (lambda r: r["jobs"][0].update(state="stopped"), "1 of 15 jobs had not finished"),
        (lambda r: r["leaks"].update(num_clean=2_134), "none is a copy of the labelled text."),
        (
            lambda r: r["leaks"]["sketches"][1].update(share=0.031),
            "Of 2,134 test items 1,800 are too short to be held against the sketch of film-en one "
            "by one; of the 8-grams of the test as a whole about 3.1 % were known.",
        ),
        (lambda r: r["leaks"]["sketches"][1].update(share=None), "together they are too short"),
        (lambda r: None, "Beyond the last epoch shown went on: frozen."),
        (lambda r: r["question"]["test"].update(num_clean=2_134), "test items, all of them clean"),
        (lambda r: r["leaks"].update(findings=[{"kind": "near", "items": 0}]), "No copy was found"),
        (lambda r: r["leaks"]["sketches"][0].update(share=None), "too short to tell"),
        (lambda r: r["leaks"].update(num_clean=2_133), "1 is a copy of what was trained on"),
    ],
)
def test_what_matters_is_said(comparison_results, read_page, change, said):
    results = comparison_results(sizes=(250,))
    change(results)
    assert said in read_page(comparison_page(results)).text


def test_one_seed_is_said_to_be_one(comparison_results, read_page):
    one, two = (
        read_page(comparison_page(comparison_results(sizes=(250,), seeds=seeds))).text
        for seeds in (1, 2)
    )
    assert "Only one seed was run" in one
    assert "Only one seed was run" not in two


def test_a_verdict_that_speaks_of_one_seed_is_enough(comparison_results, read_page):
    results = comparison_results(sizes=(250,), seeds=1)
    results["verdict"]["sentences"].append("From one seed nothing can be said.")
    assert "Only one seed was run" not in read_page(comparison_page(results)).text


def test_full_and_clean_are_one_where_nothing_was_taken_out(results, read_page):
    for row in results["scores"]:
        row["num_items"] = 2_134
    said = read_page(comparison_page(results)).text
    assert "the full and the clean test are the same" in said
    assert "accuracy, full test" not in said


def test_the_findings_of_the_leak_guard_may_be_its_whole_report(results, read_page):
    results["leaks"]["findings"] = {"items": {}, "copies": results["leaks"]["findings"]}
    assert "exact" in read_page(comparison_page(results)).text


@pytest.mark.parametrize("part", ["made", "question", "leaks", "ledger", "jobs", "errors"])
def test_a_page_can_do_without_any_part(comparison_results, read_page, part):
    results = comparison_results(sizes=(250,))
    del results[part]
    page = comparison_page(results)
    assert_stands_alone(page, read_page(page))


def test_the_same_results_are_the_same_page(comparison_results):
    assert comparison_page(comparison_results()) == comparison_page(comparison_results())
