"""Run a whole turn with its learning in a process that kills itself at a given stage, or resume after such a run.

Run as `python dying.py DATABASE begin STAGE` or `python dying.py DATABASE resume`. The latter resumes the session and
prints the playbook and the next request.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import replace
from typing import Any

from swecli.models.message import ModelRequest
from swecli.models.playbook import Delta, Op
from swecli.store.playbook.store import PlaybookStore
from tests.support.runtime import NO, User, calls, catch_up, make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedModel

STAGES = ("rules", "ruled", "reflect", "apply", "applied", "prompt", "never")
ANSWER = {
    "strategies": [{"id": "P-1", "effect": "hurt", "why": "make was refused"}],
    "lessons": [
        {
            "text": "Build in the `release` profile",
            "quote": "build in the release profile",
        }
    ],
}


def kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class KillingStore(PlaybookStore):
    """A learning store whose process ends between two steps."""

    stage = "never"

    def record_lessons(self, *args: Any, **more: Any) -> Any:
        """Kill the process at its stage: before or after the rules' or the model's lessons are applied."""
        by_model = args[1].final
        if self.stage == ("apply" if by_model else "rules"):
            kill_self()
        applied = super().record_lessons(*args, **more)
        if self.stage == ("applied" if by_model else "ruled"):
            kill_self()
        return applied


def make_model(stage: str) -> ScriptedModel:
    steps = iter([calls(("run_command", {"command": "make"})), "As you wish, see [P-1].", "Hello."])

    def answer(request: ModelRequest) -> Any:
        if request.purpose != "reflect":
            return next(steps)
        if stage == "reflect":
            kill_self()
        return Reply(json.dumps(ANSWER), cost=0.01)

    return ScriptedModel(answer)


async def begin(db: str, stage: str) -> None:
    runtime = make_runtime(make_model(stage), User([NO]), db=db)
    KillingStore.stage = stage
    runtime.sessions.playbook = KillingStore(runtime.sessions.database)
    session = runtime.sessions.current_session
    assert session is not None
    taught = Op("ADD", fields={"content": "run make", "scope": "project", "trust": "user"})
    runtime.sessions.playbook.apply(Delta("taught", (taught,), "user"), session)
    await run_turn(runtime, "Build in the release profile! No, not with make", learn=False)
    await runtime.learning.learn()
    if stage == "prompt":
        runtime.agent.prepare("hello")
        kill_self()


async def resume(db: str) -> None:
    runtime = make_runtime(make_model("never"), User([NO]), resume="", db=db)
    await catch_up(runtime)
    session = runtime.sessions.current_session
    assert session is not None
    store = runtime.sessions.playbook
    # nothing but the end of the session is left to react to the turn
    left = [one.interaction for one in runtime.sessions.turns.pending(session.id)]
    await runtime.learning.reflect(*left, has_ended=True)
    bullets = [replace(b, created_at=b.created_at.min, updated_at=None, last_used=None, verified_at=None)
               for b in session.playbook.bullets.values()]  # fmt: skip
    evidence = {
        b.id: [(e.source, e.quote, e.interaction) for e in store.evidence(b.id)] for b in bullets
    }
    sent = "\n".join(
        str(message.get("content")) for message in runtime.agent.prepare("hello").messages
    )
    pending = len(runtime.sessions.turns.pending(session.id))
    log = [row.delta.id for row in store.log(session) if row.delta.id != "taught"]
    state = {
        "bullets": [repr(b) for b in bullets],
        "evidence": evidence,
        "pending": pending,
        "changes": len(log),
    }
    print(json.dumps(state | {"prompt": [line for line in sent.splitlines() if "P-" in line]}))


if __name__ == "__main__":
    asyncio.run(begin(sys.argv[1], sys.argv[3]) if sys.argv[2] == "begin" else resume(sys.argv[1]))
