"""Run one turn of sixty calls with a given window and condenser, for tests and for a script."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swecli.models.events import ContextReduced, Notice
from swecli.models.message import ModelRequest
from swecli.models.window_spec import WindowSpec
from tests.support.histories import complaint
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedModel

CALLS = 60
SUMMARY = "## Request\nRead the files and find the leak.\n## Done\nThe first files were read; there is no leak in them."
READ, CACHED, WRITTEN = 1.0, 0.1, 5.0  # cost per token


@dataclass
class LongTurn:
    """The outcome of a turn: reductions by name, number of requests and of summary requests (`asked`), cost in units
    of one input token, the largest request in tokens (four characters each), the last event's type or reason,
    notices, the last system prompt and the invalid requests."""

    rungs: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    asked: int = 0
    cost: float = 0.0
    largest: int = 0
    end: str = ""
    notices: list[str] = field(default_factory=list)
    system: str = ""
    illegal: list[str] = field(default_factory=list)


def scripted_turn(summary: Callable[[int], Any]) -> Callable[[ModelRequest], Any]:
    """Return a model that makes its calls one at a time; `summary` answers the n-th summary request, from 1."""
    made, asked = iter(range(CALLS + 1)), iter(range(1, 99))

    def answer(request: ModelRequest) -> Any:
        if request.purpose == "condense":
            return summary(next(asked))
        number = next(made)
        if number == CALLS:
            return "There is no leak."
        if number == 2:
            return calls(
                ("write_file", {"path": "found.txt", "content": "one leak in f1\n"}),
                text="I note it.",
            )
        if number == 3:
            items = [{"text": "mend the leak in f1", "status": "pending"}]
            return calls(("todo", {"items": items}), text="I promise it.")
        reading = {"path": f"f{number % 9}.txt", "start_line": 1 + number, "end_line": 60 + number}
        return calls(
            ("read_file", reading),
            text=f"I look at part {number}. " + "Nothing leaks here as far as I see. " * 12,
        )

    return answer


async def run_long_turn(
    context_window: int, summary: Callable[[int], Any] = lambda _: SUMMARY
) -> LongTurn:
    """Run the turn in the working directory."""
    for number in range(9):
        Path(f"f{number}.txt").write_text(
            "".join(f"line {n} of {number} {'x' * 40}\n" for n in range(200))
        )
    model = ScriptedModel(scripted_turn(summary), context_window=context_window, max_output=4_096)
    runtime = make_runtime(model, window=WindowSpec(5, 3), learn=False, max_turns=CALLS + 10)
    found = LongTurn()
    for event in await run_turn(
        runtime, "Find the leak in these files; never touch setup.py.", learn=False
    ):
        if isinstance(event, ContextReduced):
            found.rungs[event.how] += 1
        elif isinstance(event, Notice):
            found.notices.append(event.text)
        elif event.type in ("turn_finished", "turn_failed"):
            found.end = getattr(event, "reason", "failed")
    before = ""
    for request in model.requests:
        text = json.dumps(request.messages, ensure_ascii=False)[:-1]
        shared = next(
            (n for n, (a, b) in enumerate(zip(before, text, strict=False)) if a != b), len(before)
        )
        found.cost += (READ * (len(text) - shared) + CACHED * shared) / 4
        found.cost += WRITTEN * (len(SUMMARY) // 4 if request.purpose == "condense" else 30)
        found.largest = max(found.largest, len(text) // 4)
        found.requests += 1
        found.asked += request.purpose == "condense"
        found.illegal += [problem] if (problem := complaint(request.messages)) else []
        before = text
    found.system = model.requests[-1].messages[0]["content"] or ""
    runtime.close()
    return found


def failing_condenser(times: int, how: Any) -> Callable[[int], Any]:
    """Return a condenser that answers with `how` that many times and correctly afterwards."""
    return lambda number: how if number <= times else SUMMARY


CONDENSERS: dict[str, Callable[[int], Any]] = {
    "works": failing_condenser(0, ""),
    "fails once": failing_condenser(1, ""),
    "fails three times": failing_condenser(3, ""),
    "answers with nothing": failing_condenser(99, ""),
    "answers with more than it got": failing_condenser(99, "word " * 60_000),
    "answers with calls": failing_condenser(
        99, Reply("", calls=calls(("todo", {"items": []})).calls)
    ),
}
