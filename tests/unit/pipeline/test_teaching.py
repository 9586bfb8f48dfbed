"""Teachers and students: what is answered, what is kept, and that it helps where it must."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from planted import tiny_recipe
from tiny_runs import Killed, Witness, assert_same_run, content, go_on
from tiny_transfers import (
    LABELS,
    planted,
    settings,
    transferring,
    write_examples,
    write_rows,
    write_trunk,
)

from headstart.corpora.generated import GeneratedConfig, write_generated
from headstart.errors import RecipeError, RunError
from headstart.evaluation.shares import fitted_shares
from headstart.files import read_sealed_json, sha256_of
from headstart.pipeline import teaching
from headstart.pipeline.calibrated_baseline import fit_baseline
from headstart.pipeline.classifier import load_classifier, probabilities
from headstart.pipeline.examples import ExamplesConfig, read_labelled
from headstart.pipeline.free_folder import BEGUN
from headstart.pipeline.learner import ScoringStopped
from headstart.pipeline.planning import Place
from headstart.pipeline.resumption import Resumption
from headstart.pipeline.run_files import read_recipe, read_results
from headstart.pipeline.run_log import read_log
from headstart.pipeline.seen import clean_items
from headstart.pipeline.taught import read_taught, read_teaching
from headstart.pipeline.teaching import Teaching, run_answers, teach
from headstart.pipeline.transfer import (
    Transferring,
    begin_transfer,
    resume_transfer,
    transfer,
)
from headstart.pipeline.watch import Watch
from headstart.transfers.settings import COLD, TAUGHT, WARM, with_teachers

pytestmark = pytest.mark.usefixtures("plain_process")

# A step has parts, and labels weigh more: whatever a run may do beside its teaching.
HOW = {
    "full": settings("full", accumulation=2, labelled_weight=2.5, weighs_labels=True, epochs=2),
    "frozen": settings("frozen", dropout=0.0, labelled_weight=0.5, epochs=3),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A trunk, examples, a classifier, and texts without labels that hold copies of others."""
    home = tmp_path_factory.mktemp("home")
    trunk, examples = write_trunk(home / "trunk"), write_examples(home / "examples")
    transfer(transferring(trunk, examples, settings(epochs=3)), home / "teacher")
    held_out = [*planted(18, seed=2)[:3], *planted(18, seed=3)[:5]]
    lines = [
        *(text for text, _ in planted(40, seed=7)),
        *(f"{text.upper()} !" for text, _ in held_out),
        "... !!",
    ]
    (home / "texts.txt").write_text("\n".join(lines) + "\n\n")
    return home


def examples_of(home):
    return ExamplesConfig(
        **{name: str(home / "examples" / f"{name}.csv") for name in ("train", "valid", "test")}
    )


def taught_by(home, *teachers, **changes):
    lessons = Teaching(unlabelled=(str(home / "texts.txt"),), teachers=teachers, **changes)
    wanted = transferring(home / "trunk", examples_of(home), HOW["full"])
    return replace(wanted, teaching=lessons)


def test_20_labels_with_texts_beside_them_beat_20_labels_alone(tmp_path):
    # Examples show 6 of the 20 words of a feeling; words of one feeling stand together in texts.
    config = GeneratedConfig(
        seed=3,
        num_words=20,
        num_neutral_words=10,
        purity=1.0,
        shown_share=0.3,
        num_documents=400,
        sentences_per_document=4,
        num_train=20,
        num_valid=40,
        num_test=300,
    )
    files = write_generated(tmp_path, config)
    learning = replace(COLD.learning, peak_rate=1e-2)
    how = replace(COLD, fewest_steps=60, learning=learning, dropout=0.0)
    alone = Transferring(
        recipe=tiny_recipe(),
        examples=ExamplesConfig(
            train=str(files.train), valid=str(files.valid), test=str(files.test)
        ),
        settings=how,
        place=Place(device="cpu", num_threads=1),
    )
    transfer(alone, tmp_path / "alone")
    taught = replace(
        alone,
        settings=replace(with_teachers(how), examples_per_step=16),
        tokenizer=tmp_path / "alone" / "tokenizer",
        teaching=Teaching(unlabelled=(str(files.corpus),), teachers=(tmp_path / "alone", "tfidf")),
    )
    transfer(taught, tmp_path / "taught")
    labelled = read_labelled(alone.examples)
    answer_NC = fit_baseline("tfidf", labelled, seed=0).probabilities(
        [example.text for example in labelled.test]
    )
    numbers = [labelled.labels.index(example.label) for example in labelled.test]
    tfidf = float((answer_NC.argmax(axis=1) == numbers).mean())
    before, after = (
        read_results(tmp_path / name)["test"]["full"]["accuracy"] for name in ("alone", "taught")
    )
    assert after > before + 0.15
    assert after > tfidf + 0.05


PLACE = Place(device="cpu", num_threads=1)


def reordered(home):
    """Examples that have their labels in another order than the teacher."""
    return replace(examples_of(home), labels=("good", "bad", "fair"))


def said_by(teacher, labelled, texts):
    """Returns what a teacher says, by the way that predictions go."""
    if teacher == "tfidf":
        return fit_baseline("tfidf", labelled, seed=0).probabilities(texts)
    classifier = load_classifier(teacher, "cpu")
    assert classifier.labels == LABELS
    return np.stack(list(probabilities(classifier, texts)))[:, [2, 0, 1]]


def test_calibrated_teachers_count_as_much_as_validation_finds_them_worth(home):
    labelled, names = read_labelled(reordered(home)), (home / "teacher", "tfidf")
    taught = teach(taught_by(home, *names).teaching, reordered(home), labelled, PLACE, Watch())
    ours, theirs = (said_by(name, labelled, taught.texts) for name in names)
    share = taught.facts["shares"][0]
    assert taught.probability_NC == pytest.approx(share * ours + (1 - share) * theirs, abs=1e-5)
    assert taught.probability_NC.dtype == np.float32
    targets = [labelled.labels.index(example.label) for example in labelled.valid]
    valid_texts = [example.text for example in labelled.valid]
    valid = np.stack([said_by(name, labelled, valid_texts) for name in names])
    assert share == pytest.approx(fitted_shares(valid, np.array(targets))[0], abs=1e-5)
    assert abs(share - 0.5) > 0.01
    assert taught.probability_NC.sum(axis=1) == pytest.approx(1.0, abs=1e-5)


def test_teachers_of_one_voice_count_together(home, tmp_path):
    labelled = read_labelled(reordered(home))
    transfer(transferring(home / "trunk", examples_of(home), settings(epochs=1)), tmp_path / "twin")
    names = (home / "teacher", tmp_path / "twin", "tfidf")
    wanted = taught_by(home, names[:2], "tfidf").teaching
    taught = teach(wanted, reordered(home), labelled, PLACE, Watch())
    one, twin, theirs = (said_by(name, labelled, taught.texts) for name in names)
    share, rest = taught.facts["shares"]
    assert share + rest == pytest.approx(1)
    mixed = share * (one + twin) / 2 + rest * theirs
    assert taught.probability_NC == pytest.approx(mixed, abs=1e-5)
    assert [facts["voice"] for facts in taught.facts["teachers"]] == [0, 0, 1]


def test_all_count_alike_where_one_has_learned_what_is_judged_by(home, tmp_path):
    examples = replace(examples_of(home), valid=None)
    teacher = transferring(home / "trunk", replace(examples, draw=0), settings(epochs=1))
    transfer(teacher, tmp_path / "teacher")
    examples = replace(examples, draw=1)
    wanted = taught_by(home, tmp_path / "teacher", "tfidf").teaching
    said = []
    taught = teach(wanted, examples, read_labelled(examples), PLACE, Watch(say=said.append))
    assert taught.facts["shares"] == [0.5, 0.5]
    assert any("will be too good, and these judge no teacher" in line for line in said)
    assert "How much each teacher counts, by 0 validation texts: teacher 50 %, tfidf 50 %." in said


def test_answers_do_not_depend_on_what_the_process_did_before(home, monkeypatch):
    seen = []

    def answered(_classifier, texts, _should_stop):
        seen.append(torch.get_float32_matmul_precision())
        return iter(np.full((len(texts), 3), 1 / 3, dtype=np.float32))

    monkeypatch.setattr(teaching, "probabilities", answered)
    torch.set_float32_matmul_precision("high")
    try:
        run_answers(home / "teacher", LABELS, ["a film"], "cpu")
        assert (seen, torch.get_float32_matmul_precision()) == (["highest"], "high")
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize(("device", "precision"), [("cuda", "bf16"), ("cpu", "fp32")])
def test_only_a_gpu_answers_in_half_precision(home, monkeypatch, device, precision):
    asked = []

    def loaded(folder, device, precision):
        asked.append((device, precision))
        return load_classifier(folder, "cpu")

    monkeypatch.setattr(teaching, "load_classifier", loaded)
    monkeypatch.setattr(teaching, "best_precision", lambda _device: "bf16")
    run_answers(home / "teacher", LABELS, ["a film"], device)
    assert asked == [(device, precision)]


def test_copies_of_held_out_texts_are_left_out_and_counted(home, tmp_path):
    said = []
    begin_transfer(taught_by(home, "tfidf"), tmp_path, Watch(say=said.append))
    facts = read_teaching(tmp_path)
    counts = {name: facts[name] for name in facts if name.startswith("num_")}
    assert counts == {"num_read": 49, "num_texts": 40, "num_copies": 8, "num_wordless": 1}
    assert any("copies of validation or test texts: 8; for want of words: 1" in s for s in said)
    taught = read_taught(tmp_path, examples_of(home).reading(), Watch())
    assert taught.texts == [text for text, _ in planted(40, seed=7)]
    assert taught.names[0] == f"{home / 'texts.txt'}, line 1"
    # What was learned from is known as seen afterwards, whatever test comes.
    fresh = read_labelled(
        replace(
            examples_of(home), test=str(write_rows(tmp_path / "new.csv", planted(40, seed=7)[:6]))
        )
    )
    assert clean_items(tmp_path, fresh.test) == [False] * 6


def test_what_a_teacher_has_seen_its_student_has(home, tmp_path):
    test = planted(30, seed=9)
    examples = replace(
        examples_of(home), train=str(write_rows(tmp_path / "other.csv", planted(60, seed=9)))
    )
    transfer(transferring(home / "trunk", examples, settings(epochs=1)), tmp_path / "teacher")
    begin_transfer(taught_by(home, tmp_path / "teacher"), tmp_path / "student", Watch())
    fresh = replace(examples_of(home), test=str(write_rows(tmp_path / "test.csv", test)))
    assert clean_items(tmp_path / "student", read_labelled(fresh).test) == [False] * len(test)


@pytest.mark.parametrize(("draw", "is_known"), [(0, False), (1, True)])
def test_a_teacher_that_has_learned_what_is_chosen_by_is_told(home, tmp_path, draw, is_known):
    examples = replace(examples_of(home), valid=None)
    teacher = replace(examples, draw=draw)
    transfer(transferring(home / "trunk", teacher, settings(epochs=1)), tmp_path / "teacher")
    said = []
    wanted = replace(taught_by(home, tmp_path / "teacher"), examples=examples)
    begin_transfer(wanted, tmp_path / "student", Watch(say=said.append))
    assert any("what validation shows will be too good" in line for line in said) == is_known


def test_a_teacher_is_told_of_by_what_it_has_seen_and_not_by_its_draw(home, tmp_path):
    # With a file to choose by it has learned from all that a student would hold out.
    own = replace(
        taught_by(home, home / "teacher"), examples=replace(examples_of(home), valid=None)
    )
    said = []
    begin_transfer(own, tmp_path / "one", Watch(say=said.append))
    num_valid = len(read_labelled(own.examples).valid)
    words = f"may have learned from {num_valid} of the {num_valid} validation texts"
    assert any(words in line for line in said)
    other = replace(
        examples_of(home),
        train=str(write_rows(tmp_path / "other.csv", planted(60, seed=9))),
        valid=None,
        draw=1,
    )
    transfer(transferring(home / "trunk", other, settings(epochs=1)), tmp_path / "stranger")
    said.clear()
    stranger = replace(own, teaching=replace(own.teaching, teachers=(tmp_path / "stranger",)))
    begin_transfer(stranger, tmp_path / "two", Watch(say=said.append))
    assert not any("may have learned from" in line for line in said)


def test_a_teacher_that_does_not_know_what_it_has_seen_may_teach(home, tmp_path):
    given_away = tmp_path / "teacher"
    shutil.copytree(home / "teacher", given_away)
    for name in ("examples.seen", "examples.json"):
        (given_away / name).unlink()
    said = []
    begin_transfer(taught_by(home, given_away), tmp_path / "run", Watch(say=said.append))
    assert any("has no examples.seen" in line for line in said)
    assert read_teaching(tmp_path / "run")["shares"] == [1.0]


def test_teachers_ask_whether_to_stop_where_they_are_told_to_and_never_the_watch(home, tmp_path):
    wanted = taught_by(home, home / "teacher", "tfidf")
    # Who is asked by the watch takes it that there is a step to keep.
    watch = Watch(should_stop=lambda: pytest.fail("asked before there is anything to keep"))
    begin_transfer(wanted, tmp_path / "begun", watch)
    for num_asked in (1, 2, 3):
        asked = iter(range(num_asked))
        with pytest.raises(ScoringStopped):
            begin_transfer(
                wanted,
                tmp_path / "stopped",
                watch,
                lambda asked=asked, last=num_asked - 1: next(asked) == last,
            )
        assert not (tmp_path / "stopped" / "recipe.json").exists()


def test_tables_are_read_by_the_column_that_was_named(home, tmp_path):
    rows = [(f"{number}", text) for number, (text, _) in enumerate(planted(12, seed=8))]
    table = write_rows(tmp_path / "texts.csv", rows, columns=("text", "review"))
    wanted = taught_by(home, "tfidf", text_column="review")
    wanted = replace(wanted, teaching=replace(wanted.teaching, unlabelled=(str(table),)))
    begin_transfer(wanted, tmp_path / "run", Watch())
    taught = read_taught(tmp_path / "run", wanted.examples.reading(), Watch())
    assert taught.texts == [text for _, text in rows]


def test_files_and_teachers_are_noted_with_what_they_were(home, tmp_path):
    transfer(taught_by(home, home / "teacher", "tfidf", most=15, seed=4), tmp_path)
    facts = read_teaching(tmp_path)
    texts = str(home / "texts.txt")
    assert facts["sources"] == {texts: sha256_of(home / "texts.txt")}
    run, tfidf = facts["teachers"]
    digest = sha256_of(home / "teacher" / "weights.safetensors")
    assert run == {"name": "teacher", "sha256": digest, "voice": 0}
    assert (tfidf["name"], tfidf["strength"] > 0, tfidf["voice"]) == ("tfidf", True, 1)
    assert facts["num_texts"] == 15
    manifest = read_sealed_json(tmp_path / "manifest.json")
    assert manifest["sources"][texts] == sha256_of(home / "texts.txt")
    assert manifest["files"]["taught.safetensors"] == facts["sha256"]


def test_an_epoch_reads_every_text_once_and_there_are_many_looks(home, tmp_path):
    wanted = taught_by(home, "tfidf")
    wanted = replace(wanted, settings=replace(HOW["full"], epochs=3, examples_per_step=4))
    run = transfer(wanted, tmp_path)
    assert run.recipe.plan.num_steps == 3 * (24 + 40) // 4
    looks = [row for row in read_log(tmp_path / "log.jsonl") if row["kind"] == "valid"]
    assert len(looks) >= 10
    assert looks[-1]["epoch"] == 3


@pytest.mark.parametrize("mode", HOW)
@pytest.mark.parametrize("is_killed", [False, True])
def test_stopped_or_killed_and_without_its_teachers_it_ends_as_if_undisturbed(
    home, tmp_path, mode, is_killed
):
    teacher = shutil.copytree(home / "teacher", tmp_path / "teacher")
    wanted = replace(taught_by(home, teacher, "tfidf"), settings=HOW[mode])
    begin_transfer(wanted, tmp_path / "begun", Watch())
    for name in ("whole", "torn"):
        shutil.copytree(tmp_path / "begun", tmp_path / name)
    shutil.rmtree(teacher)
    assert go_on(tmp_path / "whole")
    for step in (3, 8, 20):
        if is_killed:
            with pytest.raises(Killed):
                go_on(tmp_path / "torn", Witness(die_at=step))
        else:
            assert not go_on(tmp_path / "torn", Witness(stop_at=step))
    assert go_on(tmp_path / "torn")
    assert_same_run(content(tmp_path / "torn"), content(tmp_path / "whole"))


def test_texts_that_changed_are_refused_even_if_forced(home, tmp_path):
    texts = shutil.copy(home / "texts.txt", tmp_path / "texts.txt")
    wanted = taught_by(home, "tfidf")
    wanted = replace(wanted, teaching=replace(wanted.teaching, unlabelled=(str(texts),)))
    begin_transfer(wanted, tmp_path / "run", Watch())
    (tmp_path / "texts.txt").write_text("another text\n")
    with pytest.raises(RunError, match=r"texts\.txt changed since the run began, and its teachers"):
        resume_transfer(tmp_path / "run", Resumption(is_forced=True), Watch())


def test_a_begin_without_teachers_leaves_nothing_of_one_with_them(home, tmp_path):
    begin_transfer(taught_by(home, "tfidf"), tmp_path, Watch())
    # As it would be had it been killed before its recipe was written.
    (tmp_path / "recipe.json").unlink()
    (tmp_path / BEGUN).touch()
    begin_transfer(transferring(home / "trunk", examples_of(home)), tmp_path, Watch())
    assert not (tmp_path / "taught.safetensors").exists()
    assert read_teaching(tmp_path) is None
    assert read_recipe(tmp_path).plan.num_steps == 5 * 24 // 4


def test_who_cannot_teach_is_refused_before_any_text_is_read(home, tmp_path):
    other = write_rows(tmp_path / "two.csv", [row for row in planted(24) if row[1] != "fair"])
    two = ExamplesConfig(train=str(other), valid=str(other))
    transfer(transferring(home / "trunk", two, settings(epochs=1)), tmp_path / "two")
    with pytest.raises(
        RecipeError, match=r"two knows the labels bad, good, but .* bad, fair, good"
    ):
        transfer(taught_by(home, tmp_path / "two"), tmp_path / "out")
    begin_transfer(transferring(home / "trunk", two), tmp_path / "begun", Watch())
    with pytest.raises(RunError, match=r"begun is not finished\. Go on with it by: headstart"):
        transfer(taught_by(home, tmp_path / "begun"), tmp_path / "out")
    with pytest.raises(RunError, match="knows no labels"):
        transfer(taught_by(home, home / "trunk"), tmp_path / "out")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"teachers": ()}, "1 files of texts without labels and 0 teachers"),
        ({"unlabelled": ()}, "0 files"),
        ({"teachers": ((), "tfidf")}, "one of which names nobody"),
        ({"teachers": ("tfidf", (Path("a"), "tfidf"))}, "The teacher tfidf is named twice"),
        ({"most": 0}, "most is 0"),
    ],
)
def test_a_teaching_that_cannot_be_is_refused(changes, words):
    given = {"unlabelled": ("texts.txt",), "teachers": ("tfidf",)} | changes
    with pytest.raises(RecipeError, match=words):
        Teaching(**given)


def test_the_usual_settings_are_those_of_a_warm_start_with_long_epochs():
    assert replace(TAUGHT, epochs=WARM.epochs, examples_per_step=WARM.examples_per_step) == WARM
    assert (TAUGHT.epochs, TAUGHT.examples_per_step) == (3, 32)
