"""Run long conversations over HTTP with a given window and reflector, and measure their requests, for tests and for
a script."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from swecli.app import Runtime
from swecli.llm.registry import make_model
from swecli.models.window_spec import WindowSpec
from tests.support.runtime import User, make_runtime, make_start
from tests.support.strict_provider import Call, Received, Refusal, Reply, StrictProvider, Wire
from tests.support.strict_provider.script import Answer
from tests.support.strict_provider.server import OPENAI_MODEL

REFLECTORS = ("works", "fails", "never answers", "none")
_QUERY = re.compile(r"turn (\d+):")


@dataclass
class WindowRun:
    """Measurements of a conversation.

    `most` is the largest number of completed interactions in one body; `tokens` the size of each turn's last body,
    by turn number (four characters per token); `pairs` the number of consecutive bodies, `broken` those of which the
    later does not extend the earlier, `announced` the stored reductions; `waiting` the turns without a reflection.
    """

    most: int = 0
    tokens: dict[int, int] = field(default_factory=dict)
    pairs: int = 0
    broken: int = 0
    announced: int = 0
    waiting: int = 0
    refused: list[str] = field(default_factory=list)

    @property
    def extended(self) -> float:
        """Return the share of bodies that begin with the whole previous one, 0 to 1."""
        return 1 - self.broken / self.pairs if self.pairs else 1.0


def steps(turns: int) -> Iterator[Reply]:
    """Return the replies of each turn. Two turns in five fail at something, so that there is something to reflect
    on."""
    for turn in range(1, turns + 1):
        file = f"src/f{turn % 9}.py"
        if turn % 5 in (0, 1):
            yield Reply(
                "I read.",
                calls=(Call("read_file", {"path": file}), Call("list_files", {"path": "src"})),
            )
        elif turn % 5 in (2, 3):
            yield Reply(calls=(Call("read_file", {"path": f"src/no_{turn}.py"}),))
            yield Reply("And so.", calls=(Call("run_command", {"command": f"seq 1 {100 + turn}"}),))
        yield Reply(f"Turn {turn} is done. " + "That is how it stands. " * 8)


def script_answers(turns: int, reflector: str) -> Any:
    """Return the script of a conversation whose reflector works, fails, or never answers."""
    script = steps(turns)

    def answer(request: Received) -> Answer:
        if request.body.get("tools"):
            return next(script)
        if reflector == "fails":
            return Refusal(400, "no such thing")
        quiet = Wire(stall_at=0) if reflector == "never answers" else Wire()
        return Reply('{"strategies": [], "lessons": []}', wire=quiet)

    return answer


def make_project() -> None:
    """Write files to read into the working directory."""
    Path("src").mkdir()
    for number in range(9):
        lines = [f"value_{number}_{line} = {line}  # {'why not ' * 4}" for line in range(60)]
        Path(f"src/f{number}.py").write_text("\n".join(lines) + "\n")


async def run_window(window: str, reflector: str, turns: int) -> WindowRun:
    """Run a conversation of that many turns, with reflections in the background as in the REPL."""
    found, behind = WindowRun(), set[asyncio.Task[Any]]()
    with StrictProvider(script_answers(turns, reflector)) as server:
        environ = {**os.environ, **server.environ()}
        model = make_model(f"openai/{OPENAI_MODEL}", make_start().settings, environ)
        wanted = reflector != "none"
        spec = WindowSpec.parse(window)
        learning: dict[str, Any] = {
            "reflect_with_model": wanted,
            "reflect_percent": 100,
            "reflect": "always",
        }
        runtime = make_runtime(model, User(), max_turns=30, window=spec, **learning)
        sent: list[dict[str, Any]] = []
        for turn in range(1, turns + 1):
            before = len(server.bodies)
            long = "go on with the work as it was agreed on"
            query = (
                f"turn {turn}: {'implement it' if turn % 7 == 0 else 'go on' if turn % 3 else long}"
            )
            async with aclosing(runtime.agent.run(runtime.agent.prepare(query))) as events:
                async for _ in events:
                    pass
            part = runtime.learning.after_turn()
            if part.needs_model:
                task = asyncio.create_task(_reflect(runtime, part.interaction))
                behind.add(task)
                if reflector in ("works", "fails"):
                    await task
            bodies = [body for body in server.bodies[before:] if body.get("tools")]
            found.tokens[turn] = len(json.dumps(bodies[-1]["messages"], ensure_ascii=False)) // 4
            found.most = max(found.most, *(count_interactions(body, turn) for body in bodies))
            sent += bodies
        for task in behind:
            task.cancel()
        await asyncio.gather(*behind, return_exceptions=True)
        session = runtime.sessions.current_session
        assert session is not None
        found.pairs = len(sent) - 1
        found.broken = sum(
            later["messages"][: len(earlier["messages"])] != earlier["messages"]
            for earlier, later in pairwise(sent)
        )
        found.announced = len(
            [row for row in runtime.sessions.context.log(session) if row.how != "begin"]
        )
        found.waiting = len(runtime.sessions.turns.pending(session.id))
        found.refused = server.refusals
        runtime.close()
    return found


async def _reflect(runtime: Runtime, interaction: int) -> None:
    await runtime.learning.reflect(interaction)


def count_interactions(body: dict[str, Any], turn: int) -> int:
    """Return the number of completed interactions in a body of that turn."""
    texts = (str(message["content"]) for message in body["messages"] if message["role"] == "user")
    return len({int(found[1]) for text in texts if (found := _QUERY.match(text))} - {turn})
