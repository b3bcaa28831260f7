"""Figures of a run without a screen against a bare httpx script: its first request, its first text, processor time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from scripts.benchmarks.place import Place, swecli
from scripts.benchmarks.rows import Effort, MeasuringError, Row, in_turn
from tests.support.strict_provider import Received, Reply, StrictProvider

MODEL = "gpt-4.1"
BARE = f"""
import json, os, sys
import httpx

body = {{"model": {MODEL!r}, "stream": True, "messages": [{{"role": "user", "content": "hello"}}]}}
headers = {{"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
with httpx.Client() as client, client.stream("POST", url, json=body, headers=headers) as answer:
    for line in answer.iter_lines():
        data = line.removeprefix("data: ")
        if line and data != "[DONE]":
            for choice in json.loads(data)["choices"]:
                print(choice["delta"].get("content") or "", end="", flush=True)
print()
"""
HTTPX = "a bare httpx script"
ASKED = swecli("-p", "hello", "-m", f"openai/{MODEL}")


@dataclass(frozen=True, slots=True)
class Run:
    """One run: milliseconds until its request came, until it wrote its first text, and of processor time."""

    request: float
    text: float
    processor: float


class Service:
    """A model service on the loopback that answers at once. `with Service() as service:`"""

    def __init__(self) -> None:
        self._asked_at: list[float] = []
        self._server = StrictProvider(self._answer)

    def __enter__(self) -> Service:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__(None, None, None)

    def environ(self) -> dict[str, str]:
        """Return the variables that select the service, by an address that is not taken for a local server: those are
        asked for their models first."""
        return {
            name: value.replace("//127.0.0.1:", "//127.1:")
            for name, value in self._server.environ().items()
        }

    def _answer(self, _: Received) -> Reply:
        self._asked_at.append(time.perf_counter())
        return Reply("Hello.")

    def run(self, place: Place, command: Sequence[str], home: str) -> Run:
        """Run a program that asks the model once. Raises MeasuringError if it fails."""
        self._asked_at.clear()
        began = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=place.project,
            env=place.environ(home, self.environ()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout is not None, "it is a pipe"
        with process.stdout as output:
            first = output.read(1)
            written = time.perf_counter()
            output.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode or not first or len(self._asked_at) != 1:
            raise MeasuringError(
                f"{' '.join(command[1:4])[:60]}: exit code {process.returncode}, "
                f"{len(self._asked_at)} requests"
            )
        return Run(
            request=(self._asked_at[0] - began) * 1000,
            text=(written - began) * 1000,
            processor=(used.ru_utime + used.ru_stime) * 1000,
        )


def asking(place: Place, effort: Effort) -> Iterator[Row]:
    """Yield the rows as they are measured."""
    bare = (sys.executable, "-c", BARE)
    ours, least = measure_runs(place, effort, {"home": ASKED, "bare": bare})
    for name, goal, value in (
        ("exec to first request", 1.3, lambda run: run.request),
        ("exec to first text", 1.7, lambda run: run.text),
        ("processor time", 1.7, lambda run: run.processor),
    ):
        yield Row(f"-p, {name}", "ms", middle(ours, value), middle(least, value), HTTPX, goal)


def measure_runs(
    place: Place, effort: Effort, commands: Mapping[str, Sequence[str]]
) -> list[list[Run]]:
    """Return the runs of a command in each home, alternating, after one in each that makes its database."""
    runs: list[list[Run]] = [[] for _ in commands]
    with Service() as service:

        def once(number: int, command: Sequence[str], home: str) -> float:
            runs[number].append(service.run(place, command, home))
            return runs[number][-1].request

        works = [
            partial(once, number, command, home)
            for number, (home, command) in enumerate(commands.items())
        ]
        in_turn(effort.processes + 1, *works)
    return [measured[1:] for measured in runs]


def middle(runs: Sequence[Run], value: Callable[[Run], float]) -> float:
    """Return the median of one of the runs' values."""
    return median(value(run) for run in runs)
