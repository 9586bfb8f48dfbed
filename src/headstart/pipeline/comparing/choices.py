"""What a sweep chooses as it goes: rates by validation, and seeds by the time there is."""

from dataclasses import replace

from headstart.files import json_digest, read_sealed_json, write_sealed_json
from headstart.pipeline.comparing.results import ChosenSettings
from headstart.pipeline.comparing.sweeping import Round, Sweeping
from headstart.pipeline.run_files import read_results
from headstart.transfers.settings import TransferSettings

BUDGET_FILE = "budget.json"
# Below two seeds nothing can be said of other seeds.
FEWEST_SEEDS = 2


def chosen_settings(sweeping: Sweeping) -> ChosenSettings | None:
    """Returns the settings of each network at each size; rates to try are tried on validation.

    Every network has the same number of tries, with the first seed. None means that someone said
    stop.
    """
    chosen: ChosenSettings | None = sweeping.own_settings()
    if not sweeping.wanted.rates:
        return chosen
    # Students last: they are tried with teachers whose rates are chosen.
    for is_student in (False, True):
        keys = {
            one.key
            for one in sweeping.systems
            if one.is_neural and (one.kind == "taught") == is_student
        }
        if chosen is not None and keys:
            chosen = with_best_rates(sweeping, chosen, keys)
    return chosen


def with_best_rates(
    sweeping: Sweeping, own: ChosenSettings, keys: set[str]
) -> ChosenSettings | None:
    """Returns settings with the best of all rates for some systems; None if someone said stop."""
    places = [place for place in own if place[0] in keys]
    # Of rates that do as well, the one nearest to the system's own.
    rates = sorted(sweeping.wanted.rates, key=lambda rate: max(rate, 1 / rate))
    rounds: dict[float, Round] = {}
    for rate in rates:
        settings = dict(own) | {place: with_rate(own[place], rate) for place in places}
        jobs = [job for job in sweeping.jobs(settings, num_seeds=1) if job.system.key in keys]
        rounds[rate] = (jobs, settings)
    # At once, so that no worker waits for the last job of a rate.
    if not sweeping.finish(*rounds.values()):
        return None
    tried: dict[tuple[str, int], dict[float, float]] = {place: {} for place in places}
    for rate, (done, _) in rounds.items():
        for job in done:
            results = read_results(sweeping.jobs_folder / job.name)
            tried[job.system.key, job.size][rate] = results["valid"]["accuracy"]
    return dict(own) | {
        place: with_rate(own[place], max(found, key=lambda rate: found[rate]))
        for place, found in tried.items()
    }


def with_rate(settings: TransferSettings, rate: float) -> TransferSettings:
    """Returns settings with so many times their rate."""
    learning = settings.learning
    # No rate beyond 1 is a rate.
    peak_rate = min(1.0, learning.peak_rate * rate)
    return replace(settings, learning=replace(learning, peak_rate=peak_rate))


def affordable_seeds(sweeping: Sweeping, chosen: ChosenSettings) -> int | None:
    """Returns how many seeds fit the budget, once the jobs of the first have shown what they take.

    What was decided once is kept, so that a sweep that is gone on with stays the same. None means
    that someone said stop.
    """
    wanted, path = sweeping.wanted, sweeping.folder / BUDGET_FILE
    if wanted.minutes is None or wanted.num_seeds <= FEWEST_SEEDS:
        return wanted.num_seeds
    jobs = [job for job in sweeping.jobs(chosen, wanted.num_seeds) if job.seed == 0]
    key = json_digest([wanted.minutes, wanted.num_seeds, [job.name for job in jobs]])
    if path.exists():
        kept = read_sealed_json(path)
        if isinstance(kept, dict) and kept.get("key") == key:
            return int(kept["num_seeds"])
    if not sweeping.finish((jobs, chosen)):
        return None
    # A job that stands for several seeds is done once.
    seconds = sum(sweeping.seconds_of(job) for job in jobs) / sweeping.num_workers
    num_fitting = int(60 * wanted.minutes / max(seconds, 1e-9))
    num_seeds = max(FEWEST_SEEDS, min(wanted.num_seeds, num_fitting))
    if num_seeds < wanted.num_seeds:
        sweeping.watch.say(
            f"One seed takes {seconds / 60:.1f} minutes, so {num_seeds} of {wanted.num_seeds} "
            f"seeds are done in the {wanted.minutes:g} minutes that were given."
        )
    write_sealed_json(path, {"key": key, "num_seeds": num_seeds})
    return num_seeds
