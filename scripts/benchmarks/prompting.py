"""Figures of the prompt: how soon it is usable, how quick keys are behind it, what memory it takes."""

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
STREAMING = 3  # the program that is typed at while it answers
ANSWER = "".join(f"This is paragraph {n}, with *some* words and `code` in it.\n\n- an item\n\n" for n in range(1_500))
PIECE, PAUSE = 100, 0.003  # 100 KB in a little more than the typing takes
LOADED = 6.0  # seconds after which all is loaded behind the prompt
KEY = {"OPENAI_API_KEY": "never-sent"}
MODEL = ("-m", "openai/gpt-4.1")  # nothing is sent to it: no line is entered
# litellm as any program has it that makes one call with a tool, here to a port where nobody listens
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
    """The rows, as they are measured."""
    yield from _starts(place, effort)
    yield from _long_session(place, effort)
    yield from _keys(place, effort)


def _starts(place: Place, effort: Effort) -> Iterator[Row]:
    ours, floor = _measure_starts(place, effort.starts, (swecli(), "home"), (place.floor(), "home"))
    yield Row("exec to usable prompt", "ms", _usable(ours), _usable(floor), FLOOR, 1.5)
    yield Row("memory at the prompt", "MiB", _memory(ours), _memory(floor), FLOOR, 1.3)


def _long_session(place: Place, effort: Effort) -> Iterator[Row]:
    long_session(place.database("long"), place.project, messages=10_000)
    again, plain = _measure_starts(place, effort.starts, (swecli("-c"), "long"), (swecli(), "home"))
    yield Row("the same with -c, 10,000 messages", "ms", _usable(again), _usable(plain), "without -c", 1.1)


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
        "memory with litellm loaded", "MiB", loaded, _memory_of_litellm(place), "litellm, token table, one call", 1.1
    )


def _measure_starts(place: Place, times: int, *programs: tuple[Sequence[str], str]) -> list[list[Start]]:
    """The starts of each (command, home), taken in turn after one that does not count."""
    found: list[list[Start]] = [[] for _ in programs]

    def once(number: int) -> float:
        command, home = programs[number]
        with Typist(command, place.project, place.environ(home)) as typist:
            found[number].append(typist.first_letter())
        return found[number][-1].usable

    in_turn(times + 1, *(partial(once, number) for number in range(len(programs))))
    return [starts[1:] for starts in found]


def _type_in_turn(place: Place, times: int) -> list[list[Typing]]:
    """Three seconds of typing right after the prompt: demo model, a model by litellm, floor; and under an answer."""
    found: list[list[Typing]] = [[], [], [], []]
    (place.project / "long.json").write_text(json.dumps([{"text": ANSWER, "piece": PIECE, "delay": PAUSE}]))
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


def _usable(starts: Sequence[Start]) -> float:
    return statistics.median(start.usable for start in starts)


def _memory(starts: Sequence[Start]) -> float:
    return statistics.median(start.memory for start in starts)


def _echo(runs: Sequence[Typing], part: float) -> float:
    """The percentile of each run, and of these the median: one hiccup of the machine is not the program's."""
    return statistics.median(percentile(run.echoes, part) for run in runs)
