"""kill -9 at random moments of a run."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import defaultdict
from pathlib import Path

from lab.assurance.measurements.killed_runs import KilledRun, answer, judge
from lab.assurance.measurements.rows import Measurement, Row
from tests.support.strict_provider import StrictProvider

_SEED = 3
_EARLY = 6  # one in so many is killed before its first event
# what was going on, by the last event that the run had written
_DOING = {
    "": "starting",
    "turn_started": "beginning a turn",
    "step_started": "asking the model",
    "context_measured": "waiting for the model",
    "text_delta": "reading an answer",
    "usage_reported": "between answer and call",
    "tool_started": "in a tool",
    "tool_progress": "in a command that prints",
    "tool_finished": "after a tool",
    "turn_finished": "between two turns",
    "result": "between two turns",
}


def measure(count: int) -> list[Row]:
    """Kill `count` runs."""
    chance = random.Random(_SEED)
    until_first, rest = _time_a_run()
    made: dict[str, int] = defaultdict(int)
    failures: dict[str, list[str]] = defaultdict(list)
    for number in range(count):
        is_early = number % _EARLY == 0
        moment = until_first * chance.random() if is_early else rest * chance.random()
        with StrictProvider(answer) as server:
            run = KilledRun(Path(f"run{number}").absolute(), server)
            process = run.start()
            if not is_early:
                run.wait_for_first_event(process)
            time.sleep(moment)
            os.kill(process.pid, signal.SIGKILL)
            run.finish(process)
            doing = _DOING.get(run.last, run.last) if run.was_killed else "after its end"
            made[doing] += 1
            if complaint := judge(run):
                failures[doing].append(f"{run.folder.name}, after {moment:.2f} s: {complaint}")
    return [Row(f"killed {doing}", made[doing], failures[doing]) for doing in sorted(made)]


def _time_a_run() -> tuple[float, float]:
    """Return the seconds until the first event of a run that is not killed, and from there to its end."""
    with StrictProvider(answer) as server:
        run = KilledRun(Path("whole").absolute(), server)
        begun = time.monotonic()
        process = run.start()
        run.wait_for_first_event(process)
        first = time.monotonic()
        run.finish(process)
        assert not run.was_killed
        assert run.last == "result"
        return first - begun, time.monotonic() - first


_METHOD = """\
`swecli -p` plays two turns, each with a file written, a command and an answer that streams, and is killed with
`kill -9` at moments spread over the whole run. A kill holds if no process is left; if the store is sound and has each
line, result and answer that the run had reported; if the file is whole; if the session goes on with a request that
real services accept, has those lines, and runs no command again; and if `/undo` brings back the file as it was before
the turn that was killed, if need be after its question about what it does not know to be its own."""

KILLED_AT_MOMENTS = Measurement(
    "Killed at any moment",
    _METHOD,
    measure,
    quick=3,
    whole=48,
    is_slow=True,
)
