"""A comparison of translators does each job once, goes on where it was stopped, and adds up."""

from pathlib import Path

import pytest

from headstart.corpora.pairs import Pair
from headstart.corpora.places import Place
from headstart.errors import DamagedFileError, DataError
from headstart.evaluation.translation import corpus_bleu
from headstart.pipeline.compare_translators import compare_translators, jobs
from headstart.reports.translator_comparison_tables import comparison_tables, verdict_lines

TEST = [
    Pair(f"source {n}", f"the {n} old dogs run through the deep snow {n}", Place(Path("t"), n))
    for n in range(1, 81)
]
TRUTH = [pair.target for pair in TEST]


class Worker:
    """Translates well where warm; counts what it was asked for, and may be stopped."""

    def __init__(self, most=100):
        self.asked, self.most = [], most

    def __call__(self, job, folder):
        if len(self.asked) == self.most:
            return None
        self.asked.append((job.name, folder))
        first = 9 if job.system == "warm" else 40 + job.seed
        return [
            line.replace("old dogs", "cats") if number < first else line
            for number, line in enumerate(TRUTH)
        ]


def test_every_job_is_done_once_and_gone_on_with(tmp_path):
    stopped = Worker(most=3)
    assert compare_translators(tmp_path, 3, TEST, stopped) is None
    assert [name for name, _ in stopped.asked] == ["warm-0", "cold-0", "warm-1"]
    rest = Worker()
    found = compare_translators(tmp_path, 3, TEST, rest)
    assert [name for name, _ in rest.asked] == ["cold-1", "warm-2", "cold-2"]
    assert rest.asked[0][1] == tmp_path / "jobs" / "cold-1"
    whole = compare_translators(tmp_path / "whole", 3, TEST, Worker())
    assert found == whole
    assert compare_translators(tmp_path, 3, TEST, Worker(most=0)) == found


def test_results_are_of_the_translations(tmp_path):
    worker = Worker()
    found = compare_translators(tmp_path, 2, TEST, worker)
    (job,) = [job for job in jobs(2) if job.name == "cold-1"]
    assert found["bleu"]["to_by_seed"][1] == corpus_bleu(worker(job, tmp_path), TRUTH)
    assert found["bleu"]["to"]["mean"] == pytest.approx(sum(found["bleu"]["to_by_seed"]) / 2)
    assert found["bleu"]["difference"]["mean"] == pytest.approx(
        found["bleu"]["of"]["mean"] - found["bleu"]["to"]["mean"]
    )
    assert (found["num_seeds"], found["num_sentences"]) == (2, 80)


def test_another_test_or_a_damaged_file_is_refused(tmp_path):
    compare_translators(tmp_path, 1, TEST, Worker())
    with pytest.raises(DataError, match="another test"):
        compare_translators(tmp_path, 1, TEST[:-1], Worker())
    (tmp_path / "translations" / "cold-0.json").write_text("{}")
    with pytest.raises(DamagedFileError):
        compare_translators(tmp_path, 1, TEST, Worker())


def test_a_job_that_leaves_sentences_out_is_refused(tmp_path):
    with pytest.raises(DataError, match="warm-0 gave 1 translations of 80 sentences"):
        compare_translators(tmp_path, 1, TEST, lambda *_: ["one"])
    with pytest.raises(DataError, match="0 seeds"):
        compare_translators(tmp_path, 0, TEST, Worker())


def test_tables_and_verdict_say_what_was_found(tmp_path):
    found = compare_translators(tmp_path, 3, TEST, Worker())
    whole, by_seed = comparison_tables(found)
    bleu = found["bleu"]
    assert whole.rows[0][1].startswith(f"{bleu['of']['mean']:.2f} (")
    assert whole.rows[0][3].startswith(f"{bleu['difference']['mean']:+.2f} (")
    assert any("tok:13a" in note for note in whole.notes)
    assert len(by_seed.rows) == 3
    assert next(verdict_lines(found)).startswith("Pretraining helps: +")
    assert len(list(verdict_lines(found))) == 1


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(0.1, 2.0, "helps"), (-2.0, -0.1, "hurts"), (-0.1, 2.0, "no evidence")],
)
def test_a_verdict_goes_by_the_interval(low, high, words):
    difference = {"mean": (low + high) / 2, "low": low, "high": high}
    facts = {"num_seeds": 1, "num_sentences": 1_000, "num_copied": 7}
    first, copied, second = verdict_lines({"bleu": {"difference": difference}, **facts})
    assert copied.startswith("7 of the 1,000 test sources")
    assert words in first
    assert "1 seed and 1,000 sentences" in first
    assert "at least 3 seeds" in second
