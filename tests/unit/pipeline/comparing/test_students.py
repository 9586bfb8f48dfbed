"""Students in a comparison: taught by networks of their own trunk that learned the same labels."""

import os
import shutil
from dataclasses import replace

import pytest
from planted import HASTY, Planted, planted, shuffled, without_times

from headstart.errors import DataError, RecipeError
from headstart.files import CACHE_VARIABLE, sha256_of
from headstart.pipeline import compare as comparing
from headstart.pipeline import teaching, training_run
from headstart.pipeline.compare import compare, run_comparison
from headstart.pipeline.comparing import sweeping
from headstart.pipeline.comparing.report import write_report
from headstart.pipeline.run_files import read_recipe, read_results
from headstart.pipeline.taught import read_teaching
from headstart.pipeline.watch import Watch
from headstart.reports.comparison_tables import comparison_tables


@pytest.fixture(scope="module", autouse=True)
def circumstances(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        patch.setattr(os, "fsync", lambda _descriptor: None)
        patch.setattr(training_run, "write_curves", lambda _folder: None)
        # Drawn once, where it is looked at.
        patch.setattr(comparing, "write_report", lambda _results, _folder: None)
        yield


@pytest.fixture(scope="module")
def raw(tmp_path_factory) -> Planted:
    return planted(tmp_path_factory.mktemp("raw"), num_steps=2)


@pytest.fixture(scope="module")
def texts(raw, tmp_path_factory):
    """Texts without labels, among them copies of two test items and one to choose by."""
    lines = raw.files.corpus.read_text().splitlines()[:60]
    copied = [
        *raw.files.test.read_text().splitlines()[1:3],
        raw.files.valid.read_text().splitlines()[1],
    ]
    path = tmp_path_factory.mktemp("texts") / "texts.txt"
    path.write_text("\n".join([*lines, *(line.split(",")[0].upper() for line in copied)]) + "\n")
    return path


@pytest.fixture(scope="module")
def taught(raw, texts, tmp_path_factory):
    """A comparison with students of two seeds at two sizes, with its folder."""
    folder = tmp_path_factory.mktemp("taught")
    wanted = raw.comparison(sizes=(10, 20), num_seeds=2, settings=HASTY, unlabelled=(str(texts),))
    seen = []
    results = run_comparison(wanted, folder, Watch(), seen.append)
    return wanted, folder, results, seen


def folders(results):
    return {(job["system"], job["size"], job["seed"]): job["folder"] for job in results["jobs"]}


def test_students_stand_beside_the_others_everywhere(taught, tmp_path):
    _, _, results, _ = taught
    keys = ["warm", "cold", "frozen", "taught", "tfidf", "majority"]
    assert [row["key"] for row in results["systems"]] == keys
    for size in (10, 20):
        pairs = {(row["of"], row["to"]) for row in results["differences"] if row["size"] == size}
        assert {("taught", "warm"), ("taught", "tfidf"), ("taught", "cold")} < pairs
    assert {row["system"] for row in results["scores"]} == set(keys)
    assert {row["system"] for row in results["curves"]} == set(keys) - {"majority"}
    assert "taught" not in {row["system"] for row in results["epochs_to_cold_best"]}
    write_report(results, tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "learns from texts without labels too" in page
    assert "learned from 60 texts without labels; 3 copies were left out" in page
    assert "shares, tfidf" in page
    assert any("taught" in row[0] for table in comparison_tables(results) for row in table.rows)


def test_texts_are_told_with_what_was_left_out(taught, texts):
    _, folder, results, _ = taught
    first = read_teaching(folder / folders(results)["taught", 20, 0])
    assert results["question"]["unlabelled"] == {
        "files": [{"path": str(texts), "sha256": sha256_of(texts)}],
        "num_read": 63,
        "num_texts": 60,
        "num_copies": 3,
        "num_wordless": 0,
        "num_teachers": 2,
    }
    settings = results["question"]["settings"]["taught"]
    assert settings["teachers"] == ["warm", "tfidf"]
    assert list(settings["shares"].items()) == list(
        zip(("warm", "tfidf"), first["shares"], strict=True)
    )
    assert sum(first["shares"]) == pytest.approx(1)


def test_each_student_is_taught_by_its_own_trunk_size_and_seed(taught):
    _, folder, results, _ = taught
    jobs = folders(results)
    for (system, size, seed), home in jobs.items():
        if system != "taught":
            continue
        run, tfidf = read_teaching(folder / home)["teachers"]
        weights = folder / jobs["warm", size, seed] / "weights.safetensors"
        assert run["sha256"] == sha256_of(weights)
        assert tfidf["name"] == "tfidf"
        strength = read_results(folder / jobs["tfidf", size, seed])["settings"]["strength"]
        assert tfidf["strength"] == strength
        plan = read_recipe(folder / home).plan
        assert plan.num_steps == -(-(60 + size) // 32)


def test_every_seed_teaches_where_all_learned_the_same_labels(raw, texts, tmp_path, monkeypatch):
    num_train = len(raw.files.train.read_text().splitlines()) - 1
    asked, run_answers = [], teaching.run_answers

    def counted(folder, *others):
        asked.append(f"jobs/{folder.name}")
        return run_answers(folder, *others)

    monkeypatch.setattr(teaching, "run_answers", counted)
    wanted = raw.comparison(
        sizes=(10, num_train),
        num_seeds=2,
        systems=("warm",),
        settings=HASTY,
        unlabelled=(str(texts),),
        rates=(0.5, 1),
    )
    results = compare(wanted, tmp_path)
    jobs = folders(results)

    def teachers_of(size, seed):
        found = read_teaching(tmp_path / jobs["taught", size, seed])["teachers"]
        return [teacher["sha256"] for teacher in found if "sha256" in teacher]

    def weights_of(size, seed):
        return sha256_of(tmp_path / jobs["warm", size, seed] / "weights.safetensors")

    for seed in (0, 1):
        assert teachers_of(10, seed) == [weights_of(10, seed)]
        assert teachers_of(num_train, seed) == [weights_of(num_train, each) for each in (0, 1)]
    assert results["question"]["unlabelled"]["num_teachers"] == 3
    # Networks that differ by their seed alone speak with one voice.
    assert list(results["question"]["settings"]["taught"]["shares"]) == ["warm", "tfidf"]
    # Six students in all, two of them to try rates: each network of all labels was asked once.
    once = [jobs["warm", num_train, seed] for seed in (0, 1)]
    assert sorted(name for name in asked if name in once) == sorted(once)
    assert not (tmp_path / "jobs" / ".answers").exists()


def test_with_a_budget_each_seed_teaches_alone(raw, texts, tmp_path):
    num_train = len(raw.files.train.read_text().splitlines()) - 1
    wanted = raw.comparison(
        sizes=(num_train,),
        num_seeds=3,
        minutes=60,
        systems=("warm",),
        settings=HASTY,
        unlabelled=(str(texts),),
    )
    results = compare(wanted, tmp_path)
    jobs = folders(results)
    for seed in range(3):
        run, _ = read_teaching(tmp_path / jobs["taught", num_train, seed])["teachers"]
        weights = tmp_path / jobs["warm", num_train, seed] / "weights.safetensors"
        assert run["sha256"] == sha256_of(weights)


def test_a_gradual_one_teaches_too_where_it_is_compared(raw, texts, tmp_path):
    wanted = raw.comparison(
        sizes=(10,),
        num_seeds=1,
        systems=("warm", "gradual"),
        settings=HASTY,
        unlabelled=(str(texts),),
    )
    results = compare(wanted, tmp_path)
    names = ["warm", "gradual", "tfidf"]
    assert results["question"]["settings"]["taught"]["teachers"] == names
    jobs = folders(results)
    teachers = read_teaching(tmp_path / jobs["taught", 10, 0])["teachers"]
    assert [teacher.get("sha256") for teacher in teachers[:2]] == [
        sha256_of(tmp_path / jobs[name, 10, 0] / "weights.safetensors") for name in names[:2]
    ]
    assert teachers[2]["name"] == "tfidf"


def test_progress_counts_students_with_the_others(taught):
    _, _, results, seen = taught
    num_jobs = len({job["folder"] for job in results["jobs"]})
    assert [each.num_done for each in seen] == list(range(1, num_jobs + 1))
    assert {each.num_jobs for each in seen} == {num_jobs}
    assert all(each.last.startswith("taught-") for each in seen[-4:])


def test_other_texts_make_other_students_and_nothing_else(taught, texts, tmp_path):
    wanted, folder, results, _ = taught
    other = tmp_path / "other.txt"
    other.write_text("".join(texts.read_text().splitlines(keepends=True)[:30]))
    again = folders(compare(replace(wanted, unlabelled=(str(other),)), folder))
    before = folders(results)
    assert {key[0] for key in before if before[key] != again[key]} == {"taught"}
    plain = folders(compare(replace(wanted, unlabelled=()), folder))
    assert plain == {key: before[key] for key in before if key[0] != "taught"}


def test_another_teacher_makes_another_student(taught):
    wanted, folder, results, _ = taught
    settings = replace(HASTY, warm=replace(HASTY.warm, epochs=1))
    again = folders(compare(replace(wanted, settings=settings), folder))
    before = folders(results)
    assert {key[0] for key in before if before[key] != again[key]} == {"warm", "taught"}


def test_another_way_of_teaching_makes_other_students_and_nothing_else(taught, monkeypatch):
    wanted, folder, results, _ = taught
    monkeypatch.setattr(sweeping, "TEACHING_PROCEDURE", sweeping.TEACHING_PROCEDURE + 1)
    again = folders(compare(wanted, folder))
    before = folders(results)
    assert {key[0] for key in before if before[key] != again[key]} == {"taught"}


def test_how_much_labels_weigh_decides_of_students_alone(taught):
    wanted, folder, results, _ = taught
    heavy = {
        kind: replace(one, transfer=replace(one.transfer, labelled_weight=3.0))
        for kind, one in (("warm", HASTY.warm), ("taught", HASTY.taught))
    }
    again = folders(compare(replace(wanted, settings=replace(HASTY, **heavy)), folder))
    before = folders(results)
    assert {key[0] for key in before if before[key] != again[key]} == {"taught"}


def test_stopped_everywhere_it_comes_out_the_same(taught, tmp_path):
    wanted, _, results, _ = taught
    num_stops, found = 0, None
    while found is None:
        asked = iter(range(25))

        def should_stop(asked=asked) -> bool:
            return next(asked, None) is None

        found = compare(wanted, tmp_path, Watch(should_stop=should_stop))
        num_stops += found is None
    assert num_stops > 2
    assert without_times(found) == without_times(results)


def test_a_stop_does_not_wait_for_teachers(taught, tmp_path):
    wanted, _, _, _ = taught
    alone = replace(wanted, sizes=(10,), num_seeds=1, systems=("warm",))
    assert compare(alone, tmp_path)
    student = next((tmp_path / "jobs").glob("taught-*"))
    # The first to be asked is the sweep itself; then each teacher is.
    for num_asked in (2, 3, 4):
        shutil.rmtree(student)
        asked = iter(range(num_asked))
        stopping = Watch(should_stop=lambda asked=asked, last=num_asked - 1: next(asked) == last)
        assert compare(alone, tmp_path, stopping) is None
        assert not (student / "recipe.json").exists()
    assert compare(alone, tmp_path) is not None


def test_rates_of_students_are_tried_with_teachers_that_were_chosen(raw, texts, tmp_path):
    wanted = raw.comparison(
        sizes=(10,),
        num_seeds=1,
        settings=HASTY,
        systems=("warm",),
        unlabelled=(str(texts),),
        rates=(0.01, 10),
    )
    results = compare(wanted, tmp_path)
    students, teachers = (
        sorted((tmp_path / "jobs").glob(f"{kind}-*")) for kind in ("taught", "warm")
    )
    assert (len(students), len(teachers)) == (2, 2)
    used = tmp_path / folders(results)["warm", 10, 0] / "weights.safetensors"
    shas = {read_teaching(student)["teachers"][0]["sha256"] for student in students}
    assert shas == {sha256_of(used)}


def test_with_several_trunks_each_has_a_student_of_its_own(raw, texts, tmp_path):
    twin = shuffled(raw.trunk, tmp_path / "twin")
    wanted = raw.comparison(
        raw.trunk,
        twin,
        sizes=(10,),
        num_seeds=1,
        settings=HASTY,
        systems=("warm",),
        unlabelled=(str(texts),),
    )
    results = compare(wanted, tmp_path / "out")
    keys = ["warm:tiny", "warm:twin", "taught:tiny", "taught:twin"]
    assert [row["key"] for row in results["systems"]] == keys
    jobs = folders(results)
    for name in ("tiny", "twin"):
        teacher = read_teaching(tmp_path / "out" / jobs[f"taught:{name}", 10, 0])["teachers"][0]
        home = tmp_path / "out" / jobs[f"warm:{name}", 10, 0]
        assert teacher["sha256"] == sha256_of(home / "weights.safetensors")
    pairs = {(row["of"], row["to"]) for row in results["differences"]}
    assert pairs == {
        ("taught:tiny", "warm:tiny"),
        ("taught:twin", "warm:twin"),
        ("warm:twin", "warm:tiny"),
    }
    assert results["verdict"]["answer"] == "not asked"


def test_texts_that_cannot_be_read_are_told_before_the_first_job(raw, tmp_path):
    bad = tmp_path / "texts.txt"
    bad.write_bytes(b"a film\n\xff\xfe\xff\nanother film\n")
    wanted = raw.comparison(sizes=(10,), num_seeds=1, settings=HASTY, unlabelled=(str(bad),))
    # Without a validation file the examples are split, and read from there.
    wanted = replace(wanted, examples=replace(wanted.examples, valid=None))
    with pytest.raises(DataError, match="line 2"):
        compare(wanted, tmp_path / "refused")
    assert not (tmp_path / "refused" / "jobs").exists()
    skipping = replace(wanted, examples=replace(wanted.examples, skips_bad=True))
    results = compare(skipping, tmp_path / "skipped")
    assert results["question"]["unlabelled"]["num_texts"] == 2


def test_a_student_without_texts_is_refused(raw):
    with pytest.raises(RecipeError, match=r"systems are warm, taught, but .* --unlabelled"):
        raw.comparison(systems=("warm", "taught"))
