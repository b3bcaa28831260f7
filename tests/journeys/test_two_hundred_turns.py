"""Test two hundred turns of mixed work over HTTP: requests stay valid and bounded, reductions are reported, and undo
works."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.llm.registry import make_model
from tests.support.runtime import User, make_runtime, make_start, run_turn
from tests.support.strict_provider import Call, Received, Reply, StrictProvider
from tests.support.strict_provider.server import OPENAI_MODEL

TURNS = 200
FINDING = {
    "path": "src/f1.py",
    "line": 3,
    "code_smell_type": "MAGIC_NUMBERS",
    "message": "19 has no name",
}
CONSTRAINT = "Never touch vendor/, whatever happens."
pytestmark = pytest.mark.slow


def turn_replies() -> Iterator[Reply]:
    """Return the replies of each turn, one to five steps long: reading, searching, editing, running and answering."""
    yield Reply(f"A finding:\n```json\n{json.dumps([FINDING])}\n```")
    for turn in range(2, TURNS + 10):
        file = f"src/f{turn % 9}.py"
        kind = turn % 5
        if kind == 0:
            yield Reply(
                "I read.",
                calls=(Call("read_file", {"path": file}), Call("list_files", {"path": "src"})),
            )
        elif kind == 1:
            yield Reply(calls=(Call("search_files", {"pattern": f"value_{turn % 9}_1"}),))
            yield Reply("And so.", calls=(Call("read_file", {"path": file}),))
        elif kind == 2:
            old, new = f"value_{turn % 9}_2 = ", f"value_{turn % 9}_2 = 1 + "
            yield Reply(calls=(Call("read_file", {"path": file}),))
            yield Reply(
                calls=(
                    Call(
                        "edit_file", {"path": file, "edits": [{"old_text": old, "new_text": new}]}
                    ),
                )
            )
            yield Reply(calls=(Call("run_command", {"command": f"python3 -m py_compile {file}"}),))
        elif kind == 3:
            yield Reply(calls=(Call("run_command", {"command": "seq 1 400"}),))
        yield Reply(f"Turn {turn} is done. " + "That is how it stands. " * 8)


def script_answers() -> Any:
    steps = turn_replies()

    def answer(request: Received) -> Reply:
        if request.body.get("tools"):
            return next(steps)
        return Reply('{"strategies": [], "lessons": []}')

    return answer


def estimate_tokens(body: dict[str, Any]) -> int:
    """Return the tokens of a request body, at four characters each."""
    return len(json.dumps(body["messages"], ensure_ascii=False)) // 4


@pytest.fixture
def project() -> None:
    Path("src").mkdir()
    for number in range(9):
        lines = [f"value_{number}_{line} = {line}  # {'why not ' * 4}" for line in range(60)]
        Path(f"src/f{number}.py").write_text("\n".join(lines) + "\n")


async def run_turns(
    runtime: Runtime, server: StrictProvider
) -> list[tuple[int, dict[str, Any], int]]:
    """Run the turns; return for each request its turn, its body, and the number of reductions stored before it."""
    session = runtime.sessions.current_session
    assert session is not None
    sent: list[tuple[int, dict[str, Any], int]] = []
    for turn in range(1, TURNS + 1):
        query = f"turn {turn}: go on with the work" if turn > 1 else f"Look at src/. {CONSTRAINT}"
        before = len(server.bodies)
        await run_turn(runtime, query)
        if turn == 2:
            runtime.context_control.pin(2)
        rows = len(
            [
                row
                for row in runtime.sessions.context.log(session)
                if row.how not in ("begin", "undo")
            ]
        )
        sent += [(turn, body, rows) for body in server.bodies[before:] if body.get("tools")]
    return sent


async def test_two_hundred_turns_send_valid_bounded_requests_and_the_last_reduction_is_undone(
    project: None,
) -> None:
    with StrictProvider(script_answers()) as server:
        os.environ.update(server.environ())  # The `own_home` fixture restores them.
        model = make_model(f"openai/{OPENAI_MODEL}", make_start().settings, dict(os.environ))
        runtime = make_runtime(model, User(), max_turns=30)
        sent = await run_turns(runtime, server)
        assert server.refusals == [], "no request was illegal"

        changed, announced = 0, 0
        for (_, earlier, _), (_, later, rows) in pairwise(sent):
            head = later["messages"][: len(earlier["messages"])]
            changed += head != earlier["messages"]
            assert changed <= rows, "bytes that were sent changed without a row"
            announced = rows
        assert changed == announced, "a reduction row without a change of bytes"
        assert 5 <= changed <= TURNS // 3

        early = mean(estimate_tokens(body) for turn, body, _ in sent if 20 <= turn <= 70)
        late = mean(estimate_tokens(body) for turn, body, _ in sent if 150 <= turn <= TURNS)
        assert abs(late / early - 1) <= 0.15

        last = json.dumps(sent[-1][1]["messages"], ensure_ascii=False)
        for survivor in (CONSTRAINT, "src/f1.py:3 MAGIC_NUMBERS: 19 has no name", "turn 2: go on"):
            assert survivor in last

        session = runtime.sessions.current_session
        assert session is not None
        logged = runtime.sessions.context.log(session)
        moved = logged[0].interaction
        older = next(body["messages"] for turn, body, _ in reversed(sent) if turn < moved)
        assert runtime.context_control.undo().id == logged[0].id
        restarted = make_runtime(model, User(), resume=session.id)
        before = len(server.bodies)
        await run_turn(restarted, "and now")
        first = next(body for body in server.bodies[before:] if body.get("tools"))
        assert first["messages"][: len(older)] == older
