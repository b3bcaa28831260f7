"""Faults of a service in the middle of a turn, over HTTP, on three wires."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import cycle, islice, product
from pathlib import Path

from lab.assurance.measurements.rows import Measurement, Row
from swecli.models.events import Event
from tests.support.model_requests import model_at
from tests.support.runtime import make_runtime, run_turn
from tests.support.strict_provider import Call, Received, Refusal, Reply, StrictProvider, Wire

MODELS = ("openai/gpt-4.1", "anthropic/claude-haiku-4-5", "openai/gpt-6.1-sol")  # one a wire
_SEED = 7
_AT_ONCE = 16  # turns that run side by side: most of their time is the wait before a retry
_QUIET = 2.0  # seconds without data after which a service counts as stalled
_HANGS = 900  # seconds after which a turn is given up
_LINES = "one\ntwo\nthree\n"
_FIRST, _SECOND = "The lines are written.", "Nothing else."
_TURN = (
    Reply("I write.", calls=(Call("write_file", {"path": "lines.txt", "content": _LINES}),)),
    Reply(_FIRST),
)
Answer = Reply | Refusal
Fault = Callable[[Reply, int], Answer]


def _wire(**faults: int | bytes | str | float) -> Wire:
    return Wire(**faults)  # type: ignore[arg-type]


# what becomes of a reply; the number is a random offset into it, in bytes
FAULTS: dict[str, Fault] = {
    "429 with `retry-after`": lambda reply, at: Refusal(429, headers={"retry-after": "0"}),
    "429 without it": lambda reply, at: Refusal(429, "slow down"),
    "500": lambda reply, at: Refusal(500, "boom"),
    "502 with a page of HTML": lambda reply, at: Refusal(502, body=b"<html>Bad \x1b[31mgateway"),
    "503": lambda reply, at: Refusal(503, "busy"),
    "529": lambda reply, at: Refusal(529, "overloaded"),
    "401": lambda reply, at: Refusal(401, "no such key"),
    "404": lambda reply, at: Refusal(404, "no such model"),
    "closed without an answer": lambda reply, at: replace(reply, wire=_wire(broken_at=0)),
    "cut off": lambda reply, at: replace(reply, wire=_wire(cut_at=at)),
    "closed in the middle": lambda reply, at: replace(reply, wire=_wire(broken_at=at)),
    "reset in the middle": lambda reply, at: replace(reply, wire=_wire(reset_at=at)),
    "silent from the middle on": lambda reply, at: replace(reply, wire=_wire(stall_at=at)),
    "only pings from the middle on": lambda reply, at: replace(reply, wire=_wire(pings_at=at)),
    "an event of broken JSON": lambda reply, at: replace(reply, wire=_wire(malformed=at % 5)),
    "no reason for the end": lambda reply, at: replace(reply, finish=None),
    "an empty answer": lambda reply, at: Reply(""),
    "a page of HTML with 200": lambda reply, at: Reply(wire=_wire(body=b"<html>", content_type="text/html")),
    "a byte at a time": lambda reply, at: replace(reply, wire=_wire(split=1)),
    "an unfinished call": lambda reply, at: replace(
        reply, calls=(Call("write_file", '{"path": "lines.txt", "content": "on'),)
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Trial:
    """A turn whose reply of that number (0 or 1) fails, once or each time it is asked for."""

    fault: str
    model: str
    reply: int
    lasts: bool
    at: int


def measure(count: int) -> list[Row]:
    """Make `count` turns with a fault each."""
    chance = random.Random(_SEED)
    kinds = list(product((0, 1), (False, True), MODELS, FAULTS))
    chance.shuffle(kinds)
    trials = [
        Trial(fault, model, reply, lasts, chance.randrange(20, 900))
        for reply, lasts, model, fault in islice(cycle(kinds), count)
    ]
    complaints = asyncio.run(_make_all(trials))
    made = Counter(trial.fault for trial in trials)
    failures: dict[str, list[str]] = {fault: [] for fault in FAULTS}
    for trial, complaint in zip(trials, complaints, strict=True):
        if complaint:
            failures[trial.fault].append(f"{trial}: {complaint}")
    return [Row(fault, made[fault], failures[fault]) for fault in FAULTS if made[fault]]


async def _make_all(trials: list[Trial]) -> list[str]:
    slots = asyncio.Semaphore(_AT_ONCE)

    async def make(number: int, trial: Trial) -> str:
        async with slots:
            try:
                return await asyncio.wait_for(
                    _make(trial, Path(f"trial{number}").absolute()), _HANGS
                )
            except Exception as error:  # noqa: BLE001  whatever it is, the turn did not hold
                return f"{type(error).__name__}: {error}"

    return await asyncio.gather(*(make(number, trial) for number, trial in enumerate(trials)))


def _script(trial: Trial) -> Callable[[Received], Answer]:
    """Return a service with the trial's fault in the first turn, and none in the second."""
    failed = False

    def answer(request: Received) -> Answer:
        nonlocal failed
        said = str(request.body)
        if "and now?" in said:
            return Reply(_SECOND)
        number = int("lines.txt" in said)  # the call is in the history: it was made
        reply = _TURN[number]
        if number != trial.reply or (failed and not trial.lasts):
            return reply
        failed = True
        return FAULTS[trial.fault](reply, trial.at)

    return answer


async def _make(trial: Trial, folder: Path) -> str:
    """Run a turn with the fault and one after it. Returns what did not hold, or ""."""
    folder.mkdir()
    names = tuple(name.partition("/")[2] for name in MODELS)
    with StrictProvider(_script(trial), models=names) as server:
        model = model_at(server, trial.model, quiet=_QUIET, first_byte=_QUIET * 3)
        runtime = make_runtime(
            model, cwd=folder, db=str(folder / "store.db"), mode="auto", reflect_with_model=False
        )
        try:
            return "; ".join(
                [
                    *_judge_first(await run_turn(runtime, "write the lines")),
                    *_judge_file(folder / "lines.txt"),
                    *_judge_second(await run_turn(runtime, "and now?")),
                    *(f"illegal request: {refusal}" for refusal in server.refusals),
                    *(["the first question was not sent again"] if not _has_first(server) else []),
                ]
            )
        finally:
            runtime.close()


def _judge_first(events: list[Event]) -> Iterator[str]:
    last = events[-1]
    if last.type == "turn_failed":
        if not last.error or "\n" in last.error or "fault of swecli" in last.error:
            yield f"it failed with {last.error!r}"
    elif last.type != "turn_finished":
        yield f"it ended with {last.type}"
    elif last.reason == "done" and last.text != _FIRST:
        yield f"it answered {last.text!r}"


def _judge_file(path: Path) -> Iterator[str]:
    if path.exists() and path.read_text() != _LINES:
        yield f"half of a file was written: {path.read_text()!r}"


def _judge_second(events: list[Event]) -> Iterator[str]:
    last = events[-1]
    if last.type != "turn_finished" or last.text != _SECOND:
        yield f"the turn after it ended with {last!r}"


def _has_first(server: StrictProvider) -> bool:
    return "write the lines" in str(server.bodies[-1])


_METHOD = """\
A turn writes a file and answers; one of its two replies fails, once or each time it is asked for, at a random byte, on
each of the three wires. A turn holds if it ends with its answer or with one line about the error; if nothing of an
unfinished reply was done; if no request was one that real services refuse; and if the turn after it is answered and
still has the first question. [What else services do](../reference/quirks.md)."""

PROVIDER_FAULTS = Measurement(
    "Faults of the service",
    _METHOD,
    measure,
    quick=6,
    whole=480,
    is_slow=True,
)
