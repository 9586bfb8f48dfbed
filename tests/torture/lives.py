"""Processes that go on with a run until they end or are ended, and say what they are doing.

They are forked from a process that has imported everything and run no kernel, so that one costs
milliseconds and not the seconds of an import.
"""

import contextlib
import hashlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

CONTEXT = multiprocessing.get_context("forkserver")
# PyTorch imports its compiler with the first step of an optimiser, which takes a second.
CONTEXT.set_forkserver_preload(
    [
        "tiny_runs",
        "tiny_translators",
        "headstart.pipeline.transfer",
        "headstart.apps.cli.main",
        "torch._dynamo",
    ]
)
LONGEST_SECONDS = 120.0


class Event(NamedTuple):
    """What a life tells: what it does, the step it is at, and when."""

    what: str
    step: int
    at: float
    about: str = ""


class Life:
    """One process at work on a run."""

    def __init__(self, target: Callable[..., None], *arguments: object) -> None:
        receiver, sender = CONTEXT.Pipe(duplex=False)
        self.events: list[Event] = []
        self.receiver = receiver
        self.process = CONTEXT.Process(target=target, args=(sender, *arguments))
        self.process.start()
        sender.close()

    def read(self) -> Iterator[Event]:
        """Yields what the life tells, until it has no more to say."""
        while self.receiver.poll(LONGEST_SECONDS):
            try:
                event = self.receiver.recv()
            except (EOFError, OSError):
                return
            self.events.append(event)
            yield event
        raise TimeoutError(f"Nothing was heard for {LONGEST_SECONDS} seconds.")

    def wait_for(self, what: str, times: int = 1) -> bool:
        """Waits until something is told, so many times from now on; returns whether it was."""
        if times == 0:
            return True
        told = (event for event in self.read() if event.what == what)
        return any(number == times for number, _ in enumerate(told, start=1))

    def num_told(self, what: str) -> int:
        return sum(event.what == what for event in self.events)

    def steps(self, what: str = "step done") -> list[int]:
        return [event.step for event in self.events if event.what == what]

    def send(self, number: signal.Signals) -> float:
        """Sends a signal, unless it is too late; returns when."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, number)
        return time.monotonic()

    def end(self) -> int:
        """Waits for the end and hears the last words; returns the exit code."""
        for _ in self.read():
            pass
        self.process.join(LONGEST_SECONDS)
        code = self.process.exitcode
        self.process.close()
        self.receiver.close()
        assert code is not None
        return code


def report_to(sender: Connection) -> None:
    """Has this process tell of each step, each save and each flush; it draws no curves."""
    from headstart.pipeline import training_run
    from headstart.training.loop import Trainer

    def tell(what: str, step: int) -> None:
        sender.send(Event(what, step, time.monotonic()))

    do_step, save, flush = Trainer.do_step, training_run.save_checkpoint, os.fsync

    def told_step(trainer, state, *arguments):
        tell("step begins", state.step + 1)
        report = do_step(trainer, state, *arguments)
        tell("step done", state.step)
        return report

    def told_save(folder, step, *arguments):
        tell("save begins", step)
        save(folder, step, *arguments)
        tell("save done", step)

    def told_flush(descriptor):
        flush(descriptor)
        tell("flushed", 0)

    os.fsync = told_flush
    Trainer.do_step = told_step
    training_run.save_checkpoint = told_save
    training_run.write_curves = lambda _folder: None


def resume_life(sender: Connection, folder: Path, cache: Path, save_every: int) -> None:
    """Goes on with a run to its end."""
    from tiny_runs import cache_in, go_on

    report_to(sender)
    with cache_in(cache):
        go_on(folder, save_every=save_every)


def pretrain_life(
    sender: Connection, folder: Path, cache: Path, text: Path, objective: str
) -> None:
    """Begins a run and goes on to its end."""
    from tiny_runs import cache_in, wanted

    from headstart.pipeline.pretrain import pretrain

    report_to(sender)
    with cache_in(cache):
        sender.send(Event("begins", 0, time.monotonic()))
        pretrain(wanted(text, objective), folder)


def transfer_life(sender: Connection, folder: Path, world: Path, mode: str) -> None:
    """Begins a transfer of a world's trunk to its examples, and goes on to its end."""
    from tiny_transfers import SETTINGS, examples_in, transferring

    from headstart.pipeline.transfer import transfer

    report_to(sender)
    sender.send(Event("begins", 0, time.monotonic()))
    transfer(transferring(world / "trunk", examples_in(world / "examples"), SETTINGS[mode]), folder)


def translate_life(sender: Connection, folder: Path, world: Path) -> None:
    """Begins a translator of a world's pairs, and goes on to its end."""
    from tiny_translators import begun_translator, translating

    from headstart.locks import locked
    from headstart.pipeline.resumption import Resumption
    from headstart.pipeline.train_translator import resume_translator
    from headstart.pipeline.watch import Watch

    report_to(sender)
    sender.send(Event("begins", 0, time.monotonic()))
    with locked(folder):
        begun_translator(folder, translating(world / "pairs"))
        resume_translator(folder, Resumption(), Watch())


def command_life(sender: Connection, cache: Path, errors: Path, *words: str) -> None:
    """Runs the command line, with its own handling of signals, in a process that is warm."""
    from headstart.apps.cli.main import main

    report_to(sender)
    os.environ["HEADSTART_CACHE"] = str(cache)
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    main(words)


def slow_command_life(sender: Connection, cache: Path, errors: Path, *words: str) -> None:
    """Runs the command line where reading text, and every step but the first, last a minute."""
    from headstart.apps.cli import training_progress
    from headstart.apps.cli.stopping import Stopping
    from headstart.training.loop import Trainer

    receive, backward = Stopping.receive, Trainer.backward

    def tell(what: str) -> None:
        sender.send(Event(what, 0, time.monotonic()))

    def doze(what: str) -> None:
        tell(what)
        for _ in range(600):
            time.sleep(0.1)

    def told_receive(asked, *arguments):
        receive(asked, *arguments)
        tell("asked to stop")

    def slow_backward(trainer, step, *arguments):
        if step > 0:
            doze("long step begins")
        return backward(trainer, step, *arguments)

    Stopping.receive = told_receive
    Trainer.backward = slow_backward
    training_progress.read_with_progress = lambda *_: doze("long reading begins")
    command_life(sender, cache, errors, *words)


def deaf_command_life(sender: Connection, cache: Path, errors: Path, *words: str) -> None:
    """Runs the command line where learning a tokenizer hears of no signal for a minute."""
    from headstart.pipeline import pretrain

    def learn(*_arguments: object) -> None:
        sender.send(Event("long learning begins", 0, time.monotonic()))
        # One call of a library that comes back when it is done.
        hashlib.pbkdf2_hmac("sha256", b"", b"", 100_000_000)

    pretrain.learn_tokenizer = learn
    command_life(sender, cache, errors, *words)


def holding_life(sender: Connection, folder: Path) -> None:
    """Holds a run as one that works on it does."""
    from headstart.locks import locked

    with locked(folder):
        sender.send(Event("held", 0, time.monotonic()))
        time.sleep(600)


def other_processor_life(sender: Connection, folder: Path, cache: Path) -> None:
    """Goes on with a run as on a processor that has no vector instructions."""
    from tiny_runs import cache_in

    from headstart.locks import locked
    from headstart.pipeline.pretrain import resume_run
    from headstart.pipeline.resumption import Resumption
    from headstart.pipeline.watch import Watch

    # Read when the first kernel is chosen, which in a process that was just forked is still ahead.
    os.environ["ATEN_CPU_CAPABILITY"] = "default"
    watch = Watch(say=lambda line: sender.send(Event("said", 0, time.monotonic(), line)))
    with cache_in(cache), locked(folder):
        resume_run(folder, Resumption(), watch)


def limited_life(sender: Connection, folder: Path, cache: Path, what: int, limit: int) -> None:
    """Goes on with a run under one of the system's limits, and tells what it is refused with."""
    import resource

    from tiny_runs import cache_in, go_on

    from headstart.errors import FileError

    resource.setrlimit(what, (limit, resource.RLIM_INFINITY))
    try:
        with cache_in(cache):
            go_on(folder)
    except FileError as error:
        sender.send(Event("refused", 0, time.monotonic(), str(error)))


def encoding_life(sender: Connection, cache: Path, text: Path, tokenizer: Path, gate: Path) -> None:
    """Encodes a text, and after its first document waits until there is a file at the gate."""
    from tiny_runs import cache_in

    from headstart.pipeline.corpus_stores import CorpusConfig, corpus_stores
    from headstart.pipeline.watch import Watch, read_quietly
    from headstart.tokenizers.folder import load_tokenizer

    def tell(what: str, about: str = "") -> None:
        sender.send(Event(what, 0, time.monotonic(), about))

    def slowly(*arguments):
        for number, document in enumerate(read_quietly(*arguments)):
            yield document
            if number == 0:
                tell("reads")
            while not gate.exists():
                time.sleep(0.01)

    watch = Watch(say=lambda line: tell("said", line), read=slowly)
    with cache_in(cache):
        config = CorpusConfig(corpus=(str(text),))
        stores = corpus_stores(config, load_tokenizer(tokenizer), 1, watch)
    tell("encoded", f"{stores.train.num_tokens} {stores.held_out.num_tokens}")
