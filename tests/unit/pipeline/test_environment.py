"""What a run's numbers depend on, and what is told where it is no longer what it was."""

from headstart.pipeline.environment import COMPILED_CODE, differences, environment


def test_nothing_is_told_of_what_is_as_it_was():
    assert not list(differences(environment("cpu"), environment("cpu")))


def test_other_rounding_and_other_draws_are_told_apart():
    then = environment("cpu")
    now = {**then, "threads": "64", COMPILED_CODE: "unheard of"}
    threads, code = differences(then, now)
    assert "The threads was" not in code
    assert f"{then['threads']} and is now 64" in threads
    assert "last bits" in threads
    assert "other numbers may be dropped" in code
    assert "last bits" not in code


def test_a_run_of_before_is_told_what_is_not_known_of_it():
    then = {name: value for name, value in environment("cpu").items() if name != "numpy"}
    (told,) = differences(then, environment("cpu"))
    assert told.startswith("The numpy was unknown and is now ")
