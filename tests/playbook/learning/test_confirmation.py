"""Test what the curator takes for a confirmation of a lesson that waits for one."""

from __future__ import annotations

import json
from typing import Any

from swecli.app import Runtime
from swecli.models.message import ModelRequest
from tests.support.runtime import calls, make_runtime, run_turn

HOOK = "commit subject needs a ticket id"


def answer_with_one_lesson(request: ModelRequest) -> Any:
    """Run a command that prints the same line in each turn, and read the same lesson in it each time."""
    if request.purpose == "reflect":
        lesson = {"text": f"A {HOOK}", "quote": HOOK, "kind": "fact", "from": "result"}
        return json.dumps({"lessons": [lesson]})
    if request.messages[-1]["role"] == "tool":
        return "It was refused."
    return calls(("run_command", {"command": f"echo '{HOOK}'; false"}))


def make_learning_runtime() -> Runtime:
    return make_runtime(answer_with_one_lesson, mode="auto", reflect="always", reflect_percent=100)


async def see_the_line_again(runtime: Runtime) -> str:
    """Run a turn in which the line is printed, reflect on it, and return the state of the lesson."""
    await run_turn(runtime, "commit it", learn=False)
    await runtime.learning.learn(asked=True)
    [bullet] = runtime.sessions.session.playbook.bullets.values()
    return bullet.state


def start_another_session(runtime: Runtime) -> None:
    old = runtime.sessions.session
    new = runtime.sessions.start(old.working_directory, old.model, project=old.project)
    runtime.sessions.playbook.refresh(new)


async def test_a_line_that_is_printed_again_in_the_same_session_confirms_nothing() -> None:
    runtime = make_learning_runtime()
    assert await see_the_line_again(runtime) == "quarantined"
    assert await see_the_line_again(runtime) == "quarantined"
    start_another_session(runtime)
    assert await see_the_line_again(runtime) == "unconfirmed"
