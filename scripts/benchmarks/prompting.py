"""Figures of the prompt: the time until it is usable, the latency of keys, and memory."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from functools import partial

from scripts.benchmarks.place import Place, run_once, swecli
from scripts.benchmarks.rows import Effort, Row, in_turn, percentile
from scripts.benchmarks.stored import long_session
from scripts.benchmarks.typist import Start, Typing, Typist

FLOOR = "the floor program"
LETTERS, GAP = 60, 0.05  # three seconds of typing
STREAMING = 3  # the program that answers while keys are typed
ANSWER = "".join(
    f"This is paragraph {n}, with *some* words and `code` in it.\n\n- an item\n\n"
    for n in range(1_500)
)
PIECE, PAUSE = 100, 0.003  # 100 KB, over a little more time than the typing
LOADED = 6.0  # seconds until all background loading is finished
KEY = {"OPENAI_API_KEY": "never-sent"}
MODEL = ("-m", "openai/gpt-4.1")  # It receives no request, because no line is entered.
# litellm as a program loads it that makes one call with a tool, here to a closed port
LITELLM = """
import os
from pathlib import Path
from swecli.llm.price_table import prepare_environment
prepare_environment(os.environ)
import litellm, openai, tiktoken
tiktoken.get_encoding("o200k_base")
litellm.suppress_debug_info = True
tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
try:
    litellm.completion(
        "openai/gpt-4.1", [{"role": "user", "content": "x"}], tools=[tool], stream=True,
        api_key="x", api_base="http://127.0.0.1:9/v1", max_retries=0, num_retries=0,
    )
except openai.APIError:
    pass
status = Path("/proc/self/status").read_text().split()
print(status[status.index("VmHWM:") + 1])
"""


def prompting(place: Place, effort: Effort) -> Iterator[Row]:
    """Yield the rows as they are measured."""
    yield from _starts(place, effort)
    yield from _long_session(place, effort)
    yield from _keys(place, effort)


def _starts(place: Place, effort: Effort) -> Iterator[Row]:
    ours, floor = measure_starts(place, effort.starts, (swecli(), "home"), (place.floor(), "home"))
    yield Row("exec to usable prompt", "ms", usable(ours), usable(floor), FLOOR, 1.5)
    yield Row("memory at the prompt", "MiB", memory(ours), memory(floor), FLOOR, 1.3)


def _long_session(place: Place, effort: Effort) -> Iterator[Row]:
    long_session(place.database("long"), place.project, messages=10_000)
    again, plain = measure_starts(place, effort.starts, (swecli("-c"), "long"), (swecli(), "home"))
    yield Row(
        "the same with -c, 10,000 messages", "ms", usable(again), usable(plain), "without -c", 1.1
    )


def _keys(place: Place, effort: Effort) -> Iterator[Row]:
    runs = _type_in_turn(place, effort.typings)
    for name, number in (("demo model", 0), ("litellm loads", 1)):
        for what, part, goal in (("p95", 0.95, 2.5), ("max", 1.0, 4.0)):
            ours, floor = _echo(runs[number], part), _echo(runs[2], part)
            yield Row(f"key to echo, first 3 s, {what}, {name}", "ms", ours, floor, FLOOR, goal)
    for what, part, goal in (("p95", 0.95, 2.5), ("max", 1.0, 4.0)):
        ours, floor = _echo(runs[3], part), _echo(runs[2], part)
        yield Row(f"key to echo while 100 KB stream, {what}", "ms", ours, floor, FLOOR, goal)
    loaded = statistics.median(run.memory for run in runs[1])
    yield Row(
        "memory with litellm loaded",
        "MiB",
        loaded,
        _memory_of_litellm(place),
        "litellm, token table, one call",
        1.1,
    )


def measure_starts(
    place: Place, times: int, *programs: tuple[Sequence[str], str]
) -> list[list[Start]]:
    """Return the starts of each (command, home), alternating, after one warm-up each."""
    found: list[list[Start]] = [[] for _ in programs]

    def once(number: int) -> float:
        command, home = programs[number]
        with Typist(command, place.project, place.environ(home)) as typist:
            found[number].append(typist.first_letter())
        return found[number][-1].usable

    in_turn(times + 1, *(partial(once, number) for number in range(len(programs))))
    return [starts[1:] for starts in found]


def _type_in_turn(place: Place, times: int) -> list[list[Typing]]:
    """Type for three seconds right after the prompt: with the demo model, a model through litellm, the floor, and
    during an answer."""
    found: list[list[Typing]] = [[], [], [], []]
    (place.project / "long.json").write_text(
        json.dumps([{"text": ANSWER, "piece": PIECE, "delay": PAUSE}])
    )
    programs = (
        (swecli("-m", "demo"), place.environ(), 0.0),
        (swecli(*MODEL), place.environ(more=KEY), LOADED),
        (place.floor(), place.environ(), 0.0),
        (swecli("-m", "scripted/long.json"), place.environ(), 0.0),
    )

    def once(number: int) -> float:
        command, environ, after = programs[number]
        with Typist(command, place.project, environ) as typist:
            typist.first_letter()
            if number == STREAMING:
                typist.send("go", until="paragraph")
            echoes = typist.letters(LETTERS, GAP).echoes
            found[number].append(Typing(echoes, typist.rest(after)))
        return 0.0

    in_turn(times, *(partial(once, number) for number in range(len(programs))))
    return found


def _memory_of_litellm(place: Place) -> float:
    return int(run_once(place, sys.executable, "-c", LITELLM).splitlines()[-1]) / 1024


def usable(starts: Sequence[Start]) -> float:
    """Return the median time to the usable prompt, in milliseconds."""
    return statistics.median(start.usable for start in starts)


def memory(starts: Sequence[Start]) -> float:
    """Return the median memory at the prompt, in MiB."""
    return statistics.median(start.memory for start in starts)


def _echo(runs: Sequence[Typing], part: float) -> float:
    """Return the median over runs of each run's percentile, so that one hiccup of the machine does not count."""
    return statistics.median(percentile(run.echoes, part) for run in runs)
