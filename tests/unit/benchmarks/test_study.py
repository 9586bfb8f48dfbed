"""A study types what a reader would, goes on where it was stopped, and keeps folders to itself."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import study as module
from plain_plans import plain_plan
from study import DESCRIPTION_FILE, RECIPE_FILE, Options, Study, options_of, require_no_folders

from headstart.errors import RunError
from headstart.pipeline.run_files import MANIFEST_FILE

PRETRAIN = "headstart pretrain DATA/text.xz --recipe lab --tokenizer WORK/pieces --out WORK/trunk"
TOKENIZER = "headstart tokenizer DATA/text.xz --out WORK/pieces"
COMPARE = "headstart compare --from WORK/trunk --train DATA/train.csv --out WORK/compared"


class Told(Study):
    """A study that only notes which commands it would run."""

    def __init__(self, options: Options) -> None:
        super().__init__("told", "What is typed?", options)
        self.done: list[list[list[str]]] = []

    def do(self, batch):
        self.done.append([list(words) for words in batch])

    def require_as_asked(self, line):
        pass


@pytest.fixture
def options(tmp_path):
    return Options(data=tmp_path / "data", work=tmp_path / "work")


@pytest.fixture
def told(options):
    return Told(options)


def made(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text("{}")


def typed(told) -> list[str]:
    return [" ".join(words) for batch in told.done for words in batch]


def test_lines_are_done_in_their_order_and_kept_as_they_are_typed(told):
    told.prepare(TOKENIZER)
    told.pretrain(PRETRAIN)
    told.compare(COMPARE)
    assert told.commands == typed(told) == [TOKENIZER, PRETRAIN, COMPARE]


def test_what_was_asked_of_the_machine_is_typed_too(tmp_path):
    told = Told(Options(data=tmp_path, work=tmp_path, device="cpu", num_threads=1, num_workers=2))
    told.pretrain(PRETRAIN)
    told.compare(COMPARE)
    assert told.commands == [
        f"{PRETRAIN} --device cpu --threads 1",
        f"{COMPARE} --device cpu --threads 1 --workers 2",
    ]


def test_a_finished_trunk_is_not_made_again_nor_its_tokenizer(told, options):
    made(options.work / "trunk", RECIPE_FILE, MANIFEST_FILE)
    told.prepare(TOKENIZER)
    told.pretrain(PRETRAIN)
    assert typed(told) == []
    assert told.commands == [TOKENIZER, PRETRAIN]
    assert told.runs == ["trunk"]


def test_a_trunk_that_was_stopped_is_gone_on_with(told, options):
    made(options.work / "trunk", RECIPE_FILE)
    made(options.work / "pieces", DESCRIPTION_FILE)
    told.prepare(TOKENIZER)
    told.pretrain(PRETRAIN)
    assert typed(told) == [f"headstart resume {options.work / 'trunk'}"]
    assert told.commands == [TOKENIZER, PRETRAIN]


@pytest.mark.parametrize(("is_side_by_side", "sizes"), [(True, [2]), (False, [1, 1])])
def test_trunks_are_made_at_once_where_that_is_asked_for(tmp_path, is_side_by_side, sizes):
    told = Told(Options(data=tmp_path, work=tmp_path, is_side_by_side=is_side_by_side))
    told.pretrain(PRETRAIN, PRETRAIN.replace("trunk", "other"))
    assert [len(batch) for batch in told.done] == sizes


def test_a_trunk_made_elsewhere_is_taken_without_its_checkpoints(tmp_path):
    made(tmp_path / "elsewhere", RECIPE_FILE, MANIFEST_FILE)
    made(tmp_path / "elsewhere" / "checkpoints", "large")
    work = tmp_path / "work"
    told = Told(Options(data=tmp_path, work=work, trunks={"trunk": tmp_path / "elsewhere"}))
    told.pretrain(PRETRAIN)
    assert typed(told) == []
    assert {path.name for path in (work / "trunk").iterdir()} == {RECIPE_FILE, MANIFEST_FILE}


def test_nothing_is_compared_or_kept_where_only_trunks_are_wanted(tmp_path):
    told = Told(Options(data=tmp_path, work=tmp_path, makes_trunks_only=True))
    told.pretrain(PRETRAIN)
    told.compare(COMPARE)
    assert typed(told) == [PRETRAIN]
    assert told.keep() is None


def test_words_stand_for_folders(told, options):
    words = ["DATA/a/b.xz", "WORK/c", "DATABASE/d", "film-en", "--out"]
    assert [told.real(word) for word in words] == [
        str(options.data / "a" / "b.xz"),
        str(options.work / "c"),
        *words[2:],
    ]


def test_budgets_are_the_studys_own_or_what_was_asked(tmp_path):
    usual = Told(Options(data=tmp_path, work=tmp_path))
    asked = Told(Options(data=tmp_path, work=tmp_path, minutes=0.5, num_seeds=2, sizes="10"))
    assert (usual.minutes(8), usual.minutes(8, 0.25), usual.seeds(5)) == ("8", "2", 5)
    assert (usual.sizes("100,400"), asked.sizes("100,400")) == ("100,400", "10")
    assert (asked.minutes(8), asked.minutes(8, 0.25), asked.seeds(5)) == ("0.5", "0.125", 2)
    assert usual.steps_or_minutes(90) == "--steps 90"
    assert asked.steps_or_minutes(90) == "--minutes 0.5"


def test_options_are_read(tmp_path):
    words = ["--data", str(tmp_path), "--work", str(tmp_path / "w"), "--trunk", f"lab={tmp_path}"]
    given = options_of("any", None, [*words, "--device", "cpu", "--minutes", "1", "--side-by-side"])
    assert given == Options(
        data=tmp_path,
        work=tmp_path / "w",
        device="cpu",
        minutes=1.0,
        trunks={"lab": tmp_path},
        is_side_by_side=True,
    )
    with pytest.raises(SystemExit):
        options_of("any", None, ["--trunk", "lab"])


def test_a_run_of_another_recipe_is_refused(options, toy):
    from headstart.pipeline.run_files import write_recipe

    write_recipe(options.work / "trunk", toy.recipe("masked"))
    study = Study("any", "?", options)
    study.require_as_asked(PRETRAIN.replace("lab", "compact"))
    with pytest.raises(RunError, match="made with --recipe compact, and lab was asked for"):
        study.require_as_asked(PRETRAIN)


def test_a_run_of_other_steps_is_refused(options, toy):
    from headstart.pipeline.run_files import write_recipe

    plan = plain_plan(7)
    write_recipe(options.work / "trunk", replace(toy.recipe("masked"), plan=plan))
    study, line = Study("any", "?", options), PRETRAIN.replace("lab", "compact")
    study.require_as_asked(f"{line} --steps 7")
    with pytest.raises(RunError, match="made with --steps 7, and 15000 was asked for"):
        study.require_as_asked(f"{line} --steps 15000")


def test_a_command_that_fails_ends_the_study(options, capfd):
    study = Study("any", "?", options)
    study.do([["headstart", "--version"]])
    with pytest.raises(SystemExit) as caught:
        study.do([["headstart", "no-such-command"]])
    assert caught.value.code == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert "$ headstart no-such-command" in err


@pytest.mark.parametrize("text", ["/etc/passwd", f"see {Path.home()}/data", str(module.ROOT / "x")])
def test_a_record_that_names_a_folder_is_refused(text):
    require_no_folders({"asked": "and/or", "paths": ["WORK/a", "train.csv"]})
    with pytest.raises(RunError, match="a folder of this machine"):
        require_no_folders({"deep": [{"inside": text}]})


def test_the_record_goes_where_the_variable_says(options, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSTART_RECORDS", str(tmp_path / "records"))
    study = Study("any", "What is it?", Options(data=tmp_path, work=tmp_path, device="cpu"))
    study.commands.append("headstart check WORK/x")
    path = study.keep_answer({"number": 3})
    assert path.parent == tmp_path / "records"
    record = json.loads(path.read_text())
    assert (record["question"], record["asked"], record["number"]) == ("any", "What is it?", 3)
    assert record["commands"] == ["headstart check WORK/x"]


def test_every_study_is_a_program_of_its_own():
    programs = {path.stem for path in Path(module.__file__).parent.glob("*.py")}
    studies = programs - {"study", "reduction"}
    assert studies == {
        "documents",
        "every_way",
        "few_labels",
        "few_labels_settings",
        "home_en_fr",
        "imdb",
        "multi30k",
        "objectives",
        "strong",
        "strong_causal",
        "tfidf_strengths",
        "topics_and_spam",
    }
