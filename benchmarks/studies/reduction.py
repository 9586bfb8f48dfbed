"""What a record keeps of a run and of a comparison: numbers, and neither texts nor folders."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from record import without_folders

from headstart.files import read_json, read_sealed_json
from headstart.models.accounting.parameters import count_parameters
from headstart.pipeline.run_files import (
    MANIFEST_FILE,
    RESULTS_FILE,
    START_FACTS_FILE,
    read_recipe,
    read_results,
)

Json = dict[str, Any]
# Of results.json; `errors` quotes the test, and `jobs` and `ledger` are of no use to a reader.
PARTS = (
    "version",
    "question",
    "systems",
    "scores",
    "differences",
    "curves",
    "epochs_to_cold_best",
    "label_worth",
    "verdict",
)
# Of a comparison of two splits: what was found is texts.
COUNTS = ("kind", "split", "source", "items")


def comparison_facts(folder: Path) -> Json:
    """Returns what a comparison found."""
    results = read_json(folder / RESULTS_FILE)
    assert isinstance(results, dict)
    return reduced(results)


def reduced(results: Mapping[str, Any]) -> Json:
    """Returns the parts of a comparison's results that a record keeps."""
    leaks = results["leaks"]
    facts = {part: results[part] for part in PARTS if part in results}
    facts["leaks"] = {
        "findings": [{key: row[key] for key in COUNTS if key in row} for row in leaks["findings"]],
        **{key: leaks[key] for key in ("sketches", "num_clean", "num_test")},
    }
    # A baseline that draws nothing is one job for all seeds.
    facts["num_jobs"] = len({job["folder"] for job in results["jobs"]})
    facts["seconds"] = results["made"]["seconds"]
    facts["device"] = results["made"]["environment"]["device"]
    found: Json = without_folders(facts)
    return found


def run_facts(folder: Path) -> Json:
    """Returns how a pretraining run was done and how well it came out."""
    recipe, manifest = read_recipe(folder), read_sealed_json(folder / MANIFEST_FILE)
    assert recipe.plan is not None
    assert isinstance(manifest, dict)
    is_masked = recipe.objective != "causal"
    facts = {
        "recipe": recipe.name,
        "objective": recipe.objective,
        "num_parameters": count_parameters(recipe.model),
        "num_pieces": recipe.model.trunk.vocabulary_size,
        "length": recipe.length,
        "sequences_per_step": recipe.sequences_per_step,
        "peak_rate": recipe.learning.peak_rate,
        "schedule": recipe.learning.schedule,
        "head": recipe.learning.head,
        "hidden_share": recipe.hiding.share if is_masked else None,
        "hides_words": recipe.hiding.hides_words if is_masked else None,
        "num_steps": recipe.plan.num_steps,
        "precision": recipe.plan.precision,
        "is_compiled": recipe.plan.is_compiled,
        "seed": recipe.plan.seed,
        "device": manifest["environment"]["device"],
        "torch": manifest["environment"]["torch"],
        "begun_from": begun_from(folder),
        "sources": {Path(name).name: digest for name, digest in manifest["sources"].items()},
        "results": read_results(folder),
    }
    found: Json = without_folders(facts)
    return found


def begun_from(folder: Path) -> str | None:
    """Returns the name of the run that a run went on from."""
    if not (folder / START_FACTS_FILE).exists():
        return None
    facts = read_sealed_json(folder / START_FACTS_FILE)
    assert isinstance(facts, dict)
    return Path(facts["from"]).name


def strings_in(value: object) -> Iterator[str]:
    """Yields every string of a record, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from (name, *strings_in(one))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from strings_in(one)
