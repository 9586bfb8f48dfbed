"""A comparison's report is written whole, and again from results.json alone."""

import pytest

from headstart.errors import DamagedFileError, DataError, FileError
from headstart.files import write_json
from headstart.pipeline.comparing.report import redraw_report, write_report

NAMES = [
    "report.html",
    "curves.png",
    "curves.svg",
    "accuracy-by-labels.png",
    "accuracy-by-labels.svg",
    "differences.png",
    "differences.svg",
]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_page_and_every_figure_are_written(comparison_results, tmp_path):
    paths = write_report(comparison_results(), tmp_path / "new")
    assert [path.name for path in paths] == NAMES
    assert all(path.stat().st_size > 1_000 for path in paths)
    assert (tmp_path / "new" / "report.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_a_report_is_drawn_again_from_its_results_to_the_byte(comparison_results, tmp_path):
    results = comparison_results(sizes=(250,))
    write_json(tmp_path / "results.json", results)
    write_report(results, tmp_path)
    before = contents(tmp_path)
    for path in tmp_path.iterdir():
        if path.name != "results.json":
            path.unlink()
    assert [path.name for path in redraw_report(tmp_path)] == NAMES
    assert contents(tmp_path) == before


def test_a_figure_with_nothing_to_show_is_not_written(comparison_results, tmp_path):
    names = [path.name for path in write_report(comparison_results(kinds=("warm",)), tmp_path)]
    assert "differences.svg" not in names
    assert "curves.svg" in names


@pytest.mark.parametrize("text", ["", "{", '{"version": NaN}', "\x00"])
def test_a_damaged_file_is_one_sentence(text, tmp_path):
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(DamagedFileError, match=r"results\.json"):
        redraw_report(tmp_path)


def test_results_of_something_else_are_one_sentence_and_change_nothing(tmp_path):
    (tmp_path / "results.json").write_text('{"steps": 10, "held_out": {}}')
    with pytest.raises(DataError, match=r"results\.json does not hold the results of a compari"):
        redraw_report(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_a_folder_without_results_is_one_sentence(tmp_path):
    with pytest.raises(FileError, match=r"Cannot read .*results\.json"):
        redraw_report(tmp_path)
