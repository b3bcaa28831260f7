"""Test `/playbook tidy`: what it changed, what is left to the user, and what it says when there is nothing."""

from __future__ import annotations

import json

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput
from swecli.models.message import ModelRequest
from swecli.models.playbook import Delta, Op
from tests.support.command_context import ScriptedContext
from tests.support.playbook import perform
from tests.support.runtime import make_runtime, run_turn


async def begin(*findings: dict[str, object], trust: str = "tool") -> Runtime:
    """Return a runtime with two strategies, whose model has these findings about them."""

    def answer(request: ModelRequest) -> str:
        return json.dumps({"findings": findings}) if request.purpose == "reflect" else "Done."

    runtime = make_runtime(answer)
    await run_turn(runtime, "hello", learn=False)
    contents = ("We use tabs", "Indent with tabs")
    fields = [{"content": text, "scope": "project", "trust": trust} for text in contents]
    ops = tuple(Op("ADD", fields=row) for row in fields)
    runtime.sessions.playbook.apply(Delta("taught", ops, "import"), runtime.session)
    return runtime


SAME: dict[str, object] = {"what": "same", "ids": ["P-2"], "keep": "P-1"}


async def test_a_double_goes_and_one_undo_brings_it_back() -> None:
    runtime = await begin(SAME)
    printed = await ScriptedContext(runtime).type("/playbook tidy")
    assert "P-2 removed" in printed
    assert "P-2" not in runtime.session.playbook.bullets
    perform(runtime, "undo", [])
    assert "P-2" in runtime.session.playbook.bullets


async def test_a_double_of_the_users_is_named_with_both_texts_and_asked_about() -> None:
    runtime = await begin(SAME, trust="user")
    printed = await ScriptedContext(runtime).type("/playbook tidy")
    assert 'P-1 "We use tabs" and P-2 "Indent with tabs" say the same' in printed
    assert "P-2" in runtime.session.playbook.bullets
    asked = ScriptedContext(runtime, "1")
    assert "P-2 is removed, P-1 holds" in await asked.type("/playbook review")


async def test_nothing_found_is_said() -> None:
    runtime = await begin()
    assert "Nothing to tidy." in await ScriptedContext(runtime).type("/playbook tidy")


async def test_without_a_model_that_reflects_it_says_what_to_do() -> None:
    runtime = make_runtime(lambda request: "Done.", reflect_with_model=False)
    perform(runtime, "add", ["one"])
    perform(runtime, "add", ["two"])
    with pytest.raises(BadInput, match="No model can be asked"):
        await ScriptedContext(runtime).type("/playbook tidy")
