"""The comparison on text in which pretraining must help, and where it cannot."""

import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from planted import HASTY, Planted, planted, shuffled, without_times

from headstart.errors import DataError, RecipeError, RunError
from headstart.files import CACHE_VARIABLE, json_digest
from headstart.pipeline import training_run
from headstart.pipeline.compare import compare, run_comparison
from headstart.pipeline.comparing import sweeping
from headstart.pipeline.comparing.config import SaidOfAll
from headstart.pipeline.comparing.examples import ComparedExamples
from headstart.pipeline.comparing.report import write_report
from headstart.pipeline.examples import example_hashes, read_labelled
from headstart.pipeline.run_files import is_finished, read_recipe, read_results
from headstart.pipeline.watch import Watch
from headstart.reports.comparison.reading import comparison_of
from headstart.reports.comparison.settings_section import circumstance_pairs
from headstart.reports.comparison_tables import comparison_tables


@pytest.fixture(scope="module", autouse=True)
def circumstances(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setenv(CACHE_VARIABLE, str(tmp_path_factory.mktemp("cache")))
    patch.setattr(os, "fsync", lambda _descriptor: None)
    # A drawing a job would take most of the time, and nobody looks at them here.
    patch.setattr(training_run, "write_curves", lambda _folder: None)
    yield
    patch.undo()


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Planted:
    """A trunk that knows the text."""
    return planted(tmp_path_factory.mktemp("trained"), num_steps=600)


@pytest.fixture(scope="module")
def raw(tmp_path_factory) -> Planted:
    """A trunk that hardly knows it, where that does not matter."""
    return planted(tmp_path_factory.mktemp("raw"), num_steps=2)


@pytest.fixture(scope="module")
def answered(trained, tmp_path_factory):
    """A comparison that is done, with its folder."""
    folder = tmp_path_factory.mktemp("answered")
    return folder, compare(trained.comparison(), folder)


@pytest.fixture(scope="module")
def hasty(raw, tmp_path_factory):
    """One in which nothing was learned, at two sizes."""
    folder = tmp_path_factory.mktemp("hasty")
    wanted = raw.comparison(sizes=(10, 20), num_seeds=2, settings=HASTY)
    return wanted, folder, compare(wanted, folder)


def file_times(folder):
    return {path: path.stat().st_mtime_ns for path in sorted(folder.rglob("*")) if path.is_file()}


def score(results, system, size=40):
    wanted = (system, size, "clean", "accuracy")
    return next(
        row["mean"]
        for row in results["scores"]
        if (row["system"], row["size"], row["test"], row["metric"]) == wanted
    )


def test_planted_signal_helps(answered):
    folder, results = answered
    assert results["verdict"]["answer"] == "helps"
    assert score(results, "warm") > 0.9 > 0.7 > score(results, "cold")
    assert score(results, "majority") == 0.5
    assert (folder / "report.html").stat().st_size > 10_000
    assert json.loads((folder / "results.json").read_text()) == results
    comparison_of(results)  # raises where it is not what the report needs


def test_shuffled_tensors_are_no_evidence_and_what_they_share_is_not_done_again(
    answered, trained, tmp_path
):
    folder, before = answered
    times = file_times(folder / "jobs")
    mixed = shuffled(trained.trunk, tmp_path / "mixed")
    results = compare(trained.comparison(mixed), folder)
    assert results["verdict"]["answer"] == "no evidence"
    assert {path: time for path, time in file_times(folder / "jobs").items() if path in times} == (
        times
    )
    kept = [job["folder"] for job in before["jobs"] if job["system"] not in {"warm", "frozen"}]
    assert set(kept) < {job["folder"] for job in results["jobs"]}


def test_every_system_and_seed_is_in_the_results(hasty):
    _, folder, results = hasty
    keys = ["warm", "cold", "frozen", "tfidf", "majority"]
    assert [system["key"] for system in results["systems"]] == keys
    done = {(job["system"], job["size"], job["seed"]) for job in results["jobs"]}
    beyond = {("tfidf", 40, seed) for seed in range(2)}
    assert done == {(k, size, s) for k in keys for size in (10, 20) for s in range(2)} | beyond
    assert all(is_finished(folder / job["folder"]) for job in results["jobs"])
    assert results["question"]["sizes"] == [10, 20]
    assert results["question"]["labels"] == ["blame", "praise"]
    primary = [row for row in results["differences"] if row["is_primary"]]
    assert [(row["of"], row["to"], row["size"], row["test"]) for row in primary] == [
        ("warm", "cold", 20, "clean")
    ]
    assert results["ledger"]["tiny"]["learning_when_frozen"] == 16 * 2 + 2


def test_the_time_is_that_of_all_jobs_and_stays_when_nothing_is_left_to_do(hasty):
    wanted, folder, results = hasty
    each = {job["folder"]: job["seconds"] for job in results["jobs"]}
    # TF-IDF with all labels draws nothing, and is one job for both seeds.
    assert len(each) < len(results["jobs"])
    assert results["made"]["seconds"] == pytest.approx(sum(each.values()), abs=0.06)
    assert compare(wanted, folder)["made"]["seconds"] == results["made"]["seconds"] > 0
    together = dict(circumstance_pairs(comparison_of(results)))["time of all jobs together"]
    assert together.endswith(f", {len(each)} jobs")


def test_every_key_of_the_results_is_documented(hasty):
    text = (Path(__file__).parents[3] / "docs" / "compare.md").read_text()
    documented = set(re.findall(r"`(\w+)`", text))
    _, _, results = hasty
    # What is described as a whole: other records, or settings under their own names.
    results = results | {"leaks": results["leaks"] | {"findings": []}}
    results["question"] = results["question"] | {"settings": {}}
    results["made"] = results["made"] | {"environment": {}}
    results["ledger"] = list(results["ledger"].values())
    assert keys_in(results) <= documented


def keys_in(value) -> set[str]:
    """Returns every key of an object and of what it holds."""
    if isinstance(value, dict):
        return set(value).union(*map(keys_in, value.values()))
    return set().union(*map(keys_in, value)) if isinstance(value, list) else set()


def test_scores_are_those_of_the_jobs(hasty):
    _, folder, results = hasty
    for row in results["scores"]:
        if (row["metric"], row["test"]) == ("accuracy", "full"):
            jobs = [
                read_results(folder / job["folder"])["test"]["full"]["accuracy"]
                for job in results["jobs"]
                if (job["system"], job["size"]) == (row["system"], row["size"])
            ]
            assert row["by_seed"] == pytest.approx(jobs)
            assert row["mean"] == pytest.approx(sum(jobs) / len(jobs))


def test_warm_and_cold_read_the_same_examples(hasty):
    _, folder, results = hasty
    configs = {
        (job["system"], job["seed"], job["size"]): json.loads(
            (folder / job["folder"] / "examples.json").read_text()
        )["value"]["reading"]
        for job in results["jobs"]
        if job["system"] in {"warm", "cold", "frozen"}
    }
    for seed in range(2):
        for size in (10, 20):
            assert (
                configs["warm", seed, size]
                == configs["cold", seed, size]
                == configs["frozen", seed, size]
            )
            assert configs["warm", seed, size]["draw"] == seed


def test_finished_jobs_are_left_alone(hasty):
    wanted, folder, results = hasty
    times = file_times(folder / "jobs")
    again = compare(wanted, folder)
    assert file_times(folder / "jobs") == times
    assert without_times(again) == without_times(results)


def test_a_sweep_that_is_stopped_everywhere_comes_out_the_same(hasty, tmp_path):
    wanted, _, results = hasty
    num_stops, found = 0, None
    while found is None:
        asked = iter(range(25))  # long enough to get on, too short to get through

        def should_stop(asked=asked) -> bool:
            return next(asked, None) is None

        found = compare(wanted, tmp_path, Watch(should_stop=should_stop))
        num_stops += found is None
    assert num_stops > 2
    assert without_times(found) == without_times(results)


def test_another_version_of_the_procedure_has_other_jobs(hasty, monkeypatch):
    wanted, folder, results = hasty
    kept = {path.name for path in (folder / "jobs").iterdir()}
    asked = []

    def seen(tasks, *_others):
        asked.extend(task.name for task in tasks)
        return False

    monkeypatch.setattr(sweeping, "work_through", seen)
    monkeypatch.setattr(sweeping, "PROCEDURE", sweeping.PROCEDURE + 1)
    assert compare(wanted, folder) is None
    assert len(asked) == len({job["folder"] for job in results["jobs"]})
    assert not kept & set(asked)


def test_a_trunk_that_changed_has_other_jobs(hasty, raw, tmp_path):
    wanted, folder, results = hasty
    mixed = shuffled(raw.trunk, tmp_path / "tiny")
    again = compare(replace(wanted, starts=(mixed,)), folder)
    before, after = (
        {(job["system"], job["size"], job["seed"]): job["folder"] for job in found["jobs"]}
        for found in (results, again)
    )
    assert {key[0] for key in before if before[key] != after[key]} == {"warm", "frozen"}


def test_without_validation_one_split_serves_all_jobs(raw, tmp_path):
    wanted = raw.comparison(num_seeds=1, sizes=(20,), settings=HASTY)
    wanted = replace(wanted, examples=replace(wanted.examples, valid=None))
    results = compare(wanted, tmp_path)
    counts = {split: results["question"][split]["num_examples"] for split in ("train", "valid")}
    assert sum(counts.values()) == 40
    assert counts["valid"] == 6
    with pytest.raises(RecipeError, match=r"sizes are 40, .* from 2 to 34"):
        compare(replace(wanted, sizes=(40,)), tmp_path)


def test_a_label_whose_only_example_is_held_out_is_one_for_all_jobs(raw, tmp_path):
    lines = raw.files.train.read_text().splitlines()
    rare = tmp_path / "train.csv"
    wanted = raw.comparison(num_seeds=1, sizes=(20,), settings=HASTY)
    wanted = replace(wanted, examples=replace(wanted.examples, train=str(rare), valid=None))
    for number in range(50):
        text = f"the only one of its kind {number}"
        rare.write_text("\n".join([*lines, f'"{text}","odd",""']) + "\n")
        if "odd" in {example.label for example in read_labelled(wanted.examples).valid}:
            break
    results = compare(wanted, tmp_path / "out")
    assert results["question"]["labels"] == ["blame", "odd", "praise"]
    assert "odd" not in (tmp_path / "out" / "examples" / "train.csv").read_text()
    for job in results["jobs"]:
        found = read_results(tmp_path / "out" / job["folder"])
        assert len(found["test"]["full"]["confusion"]) == 3


def test_rates_are_chosen_on_validation_with_as_many_tries_for_all(hasty, raw, tmp_path):
    wanted = raw.comparison(sizes=(20,), num_seeds=1, settings=HASTY, rates=(0.01, 1, 10))
    results = compare(wanted, tmp_path)
    for kind in ("warm", "cold", "frozen"):
        tried = sorted((tmp_path / "jobs").glob(f"{kind}-*"))
        assert len(tried) == 3
        accuracies = [read_results(folder)["valid"]["accuracy"] for folder in tried]
        used = next(job["folder"] for job in results["jobs"] if job["system"] == kind)
        assert read_results(tmp_path / used)["valid"]["accuracy"] == max(accuracies)


def test_a_budget_leaves_out_seeds_and_keeps_to_its_decision(raw, tmp_path, monkeypatch):
    said: list[str] = []
    wanted = raw.comparison(sizes=(10,), num_seeds=3, minutes=1.0, settings=HASTY)
    jobs_of_a_seed = 7  # five systems, and TF-IDF with 20 and 40 labels
    seconds = {"each": 28 / jobs_of_a_seed}
    monkeypatch.setattr(sweeping.Sweeping, "seconds_of", lambda *_: seconds["each"])
    results = compare(wanted, tmp_path, Watch(say=said.append))
    assert results["question"]["seeds"] == [0, 1]
    assert any("2 of 3 seeds" in line for line in said)
    # Faster now, but what was decided stays.
    seconds["each"] = 1.0
    assert compare(wanted, tmp_path)["question"]["seeds"] == [0, 1]
    # Another budget is another decision, and two seeds are always left.
    assert compare(replace(wanted, minutes=0.01), tmp_path)["question"]["seeds"] == [0, 1]
    assert compare(replace(wanted, minutes=2.0), tmp_path)["question"]["seeds"] == [0, 1, 2]


def test_progress_counts_to_the_end_and_tells_the_time_left(raw, tmp_path):
    seen = []
    wanted = raw.comparison(sizes=(10,), num_seeds=1, settings=HASTY)
    # By one worker, so that jobs are done in their order.
    run_comparison(replace(wanted, num_workers=1), tmp_path, Watch(), seen.append)
    assert [each.num_done for each in seen] == list(range(1, 8))
    assert all(each.num_jobs == 7 for each in seen)
    assert seen[-1].seconds_left == 0
    # Not told before one of each sort is done, and from there on always.
    told = [each.seconds_left for each in seen[:-1] if each.seconds_left is not None]
    assert told
    assert min(told) > 0
    assert all(each.seconds_left is not None for each in seen[-len(told) :])


def test_leaked_items_are_left_out_of_the_clean_test_for_all_systems(raw, tmp_path):
    lines = raw.files.test.read_text().splitlines()
    train = raw.files.train.read_text().splitlines()
    leaky = tmp_path / "test.csv"
    leaky.write_text("\n".join([*lines, *train[1:4]]) + "\n")
    wanted = raw.comparison(sizes=(10,), num_seeds=1, settings=HASTY)
    wanted = replace(wanted, examples=replace(wanted.examples, test=str(leaky)))
    results = compare(wanted, tmp_path / "out")
    leaks = results["leaks"]
    assert leaks["num_test"] == 403
    assert leaks["num_clean"] <= 400
    items = {(row["test"], row["num_items"]) for row in results["scores"]}
    assert items == {("full", 403), ("clean", leaks["num_clean"])}
    everything = replace(wanted.examples, test=wanted.examples.train)
    with pytest.raises(DataError, match=r"^40 of 40 test items stand in .* leaves 0 to compare on"):
        compare(replace(wanted, examples=everything), tmp_path / "none")


def test_a_test_of_which_one_item_is_clean_is_refused_before_any_job(raw, tmp_path):
    train = raw.files.train.read_text().splitlines()
    leaky = tmp_path / "test.csv"
    leaky.write_text("\n".join([*train[:4], '"nobody wrote this before now","blame",""']) + "\n")
    wanted = raw.comparison(sizes=(10,), num_seeds=1, settings=HASTY)
    wanted = replace(wanted, examples=replace(wanted.examples, test=str(leaky)))
    # The second time what was found is read from its file.
    for _ in range(2):
        with pytest.raises(DataError, match=r"^3 of 4 .* leaves 1 to compare on; at least 2"):
            compare(wanted, tmp_path / "out")
    assert not (tmp_path / "out" / "jobs").exists()


def test_a_job_that_fails_ends_the_sweep_with_its_folder(raw, tmp_path):
    lines = raw.files.train.read_text().splitlines()
    bad = tmp_path / "train.csv"
    # No letter in any text, so that TF-IDF has nothing to count.
    bad.write_text("\n".join([lines[0], *('"!!","blame",""', '"??","praise",""') * 4]) + "\n")
    wanted = raw.comparison(sizes=(8,), num_seeds=1, settings=HASTY)
    wanted = replace(wanted, examples=replace(wanted.examples, train=str(bad)))
    assert compare(replace(wanted, systems=("warm",)), tmp_path / "out")
    times = file_times(tmp_path / "out" / "jobs")
    with pytest.raises(RunError, match=r"The job tfidf-8-0-\w+ failed: .* no words .*jobs/tfidf-8"):
        compare(wanted, tmp_path / "out")
    # What was done before is kept, and is not done again.
    assert times
    assert all(path.stat().st_mtime_ns == times[path] for path in times)


@pytest.mark.parametrize(
    ("systems", "primary", "answers"),
    [
        (("warm",), None, {"not asked"}),
        (("warm", "frozen"), None, {"not asked"}),
        (("majority", "warm", "tfidf"), ("warm", "tfidf"), {"not asked"}),
        (("warm", "cold", "gradual"), ("warm", "cold"), {"helps", "no evidence", "hurts"}),
    ],
)
def test_any_systems_beside_warm_are_compared_and_what_is_not_known_is_said(
    hasty, tmp_path, systems, primary, answers
):
    wanted, folder, _ = hasty
    # Some of the jobs are done already; the report, which nothing shares, is drawn elsewhere.
    results = compare(replace(wanted, systems=systems), folder)
    write_report(results, tmp_path)
    assert {row["kind"] for row in results["systems"]} == set(systems)
    assert {job["system"] for job in results["jobs"]} == set(systems)
    asked = [(row["of"], row["to"]) for row in results["differences"] if row["is_primary"]]
    assert asked == ([] if primary is None else [primary])
    verdict = results["verdict"]
    assert verdict["answer"] in answers
    assert (verdict["size"], verdict["test"]) == (20, "clean")
    if primary is None:
        means = [100 * score(results, system, 20) for system in verdict_order(results)]
        shown = [re.search(r"right in ([\d.]+) %", text)[1] for text in verdict["sentences"]]
        assert shown == [f"{mean:.1f}" for mean in means]
    reaching = {row["system"] for row in results["epochs_to_cold_best"]}
    assert reaching == ({"warm", "gradual"} if "cold" in systems else set())
    page = (tmp_path / "report.html").read_text()
    assert ("no cold start was compared" in page) == ("cold" not in systems)
    assert ("A cross marks" in page) == ("cold" in systems)
    assert list(comparison_tables(results))


def verdict_order(results) -> list[str]:
    return [system["key"] for system in results["systems"]]


def test_a_gradual_trunk_learns_from_the_top(hasty):
    wanted, folder, _ = hasty
    results = compare(replace(wanted, systems=("warm", "gradual")), folder)
    assert results["question"]["settings"]["gradual"]["mode"] == "gradual"
    assert {(row["of"], row["to"]) for row in results["differences"]} == {("warm", "gradual")}


def test_a_run_is_no_place_for_a_comparison(raw, tmp_path):
    with pytest.raises(RunError, match="holds a run already"):
        compare(raw.comparison(), raw.trunk)
    assert read_results(raw.trunk)["held_out"]


def test_a_trunk_that_still_learns_is_refused(raw, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(raw.trunk, run)
    (run / "manifest.json").unlink()
    with pytest.raises(RunError, match=r"run is not finished.*headstart resume"):
        compare(raw.comparison(run), tmp_path / "compared")


def test_the_same_bytes_in_another_place_or_form_are_other_jobs(raw, tmp_path):
    wanted = raw.comparison().examples
    by_test = replace(wanted, valid=wanted.test)
    by_train = replace(wanted, valid=wanted.train)
    table = tmp_path / "train.tsv"
    shutil.copyfile(wanted.train, table)
    as_table = replace(by_test, train=str(table))
    keys = [
        ComparedExamples(config=each, labelled=None, sources=example_hashes(each)).key
        for each in (by_test, by_train, as_table)
    ]
    assert len({json_digest(key) for key in keys}) == 3


def test_what_is_said_of_all_networks_is_what_each_does(raw, tmp_path):
    said = SaidOfAll(
        epochs=1,
        fewest_steps=3,
        length=16,
        long_texts="windows",
        pooling="first",
        dropout=0.25,
        warm_up=0.5,
    )
    settings = HASTY.for_all(said)
    wanted = raw.comparison(sizes=(10,), num_seeds=1, settings=settings)
    results = compare(wanted, tmp_path)
    for kind, dropout in (("warm", 0.25), ("cold", 0.25), ("frozen", 0.0)):
        used = results["question"]["settings"][kind]
        assert (used["epochs"], used["length"], used["pooling"]) == (1, 16, "first")
        assert used["fewest_steps"] == 3
        assert (used["dropout"], used["warm_up_share"]) == (dropout, 0.5)
        home = next(job["folder"] for job in results["jobs"] if job["system"] == kind)
        recipe = read_recipe(tmp_path / home)
        assert recipe.transfer.long_texts == "windows"
        assert recipe.model.head.pooling == "first"
        assert recipe.model.trunk.layer.dropout == dropout
        assert recipe.learning.warm_up_share == 0.5
    assert HASTY.for_all(SaidOfAll()) == HASTY


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"sizes": (41,)}, "from 2 to 40"), ({"starts": ()}, "--from"), ({"rates": (0,)}, "above 0")],
)
def test_what_cannot_be_compared_is_refused(raw, tmp_path, changes, words):
    with pytest.raises(RecipeError, match=words):
        compare(replace(raw.comparison(), **changes), tmp_path)


@pytest.mark.parametrize(
    ("systems", "words"),
    [
        (("cold", "tfidf"), "systems are cold, tfidf, but .* Add warm"),
        ((), "systems are none"),
        (("warm", "hot"), "no system 'hot'. Choose from warm, cold"),
    ],
)
def test_systems_without_warm_or_unknown_are_refused(raw, systems, words):
    with pytest.raises(RecipeError, match=words):
        raw.comparison(systems=systems)
