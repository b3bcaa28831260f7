"""Test learning from answers that are late, concurrent or too large: nothing is lost or counted twice."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from swecli.agent.sender import send
from swecli.app import Runtime
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from swecli.models.message import ModelRequest
from swecli.models.playbook import Bullet, Delta, Op
from swecli.playbook.learning.reflector_model import Question, ReflectorCall, ReflectorModel
from swecli.playbook.transfer import to_markdown
from tests.support.playbook import perform
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import ScriptedModel
from tests.support.virtual_time import run_virtually

TAGS = json.dumps({"strategies": [{"id": "P-1", "effect": "helped"}]})


def bullets_of(runtime: Runtime) -> dict[str, Bullet]:
    session = runtime.sessions.current_session
    assert session is not None
    return session.playbook.bullets


def tagging_runtime(replies: list[Any], **settings: Any) -> Runtime:
    def answer(request: ModelRequest) -> Any:
        return TAGS if request.purpose == "reflect" else replies.pop(0)

    return make_runtime(answer, reflect="always", reflect_percent=100, **settings)


async def test_a_strategy_edited_during_a_reflection_keeps_the_edit_and_gets_no_evidence() -> None:
    runtime = tagging_runtime(["Noted.", "Yes."])
    await run_turn(runtime, "remember that answers are short")
    await run_turn(runtime, "hello", learn=False)
    part = runtime.learning.after_turn()
    reflecting = asyncio.ensure_future(
        runtime.learning.reflect(part.interaction, is_requested=True)
    )
    await asyncio.sleep(0)
    perform(runtime, "edit", ["P-1", "Answers", "are", "long"])
    await reflecting
    bullet = bullets_of(runtime)["P-1"]
    assert (bullet.content, bullet.helpful) == ("Answers are long", 0)


async def test_a_strategy_removed_during_a_reflection_stays_removed_until_undo() -> None:
    runtime = tagging_runtime(["Noted.", "Yes."])
    await run_turn(runtime, "remember that answers are short")
    await run_turn(runtime, "hello", learn=False)
    part = runtime.learning.after_turn()
    reflecting = asyncio.ensure_future(
        runtime.learning.reflect(part.interaction, is_requested=True)
    )
    await asyncio.sleep(0)
    perform(runtime, "remove", ["P-1"])
    assert not any(isinstance(event, ReflectionFailed) for event in await reflecting)
    assert bullets_of(runtime) == {}
    perform(runtime, "undo", [])
    assert list(bullets_of(runtime)) == ["P-1"]


def test_a_reflector_that_does_not_answer_times_out_after_60_seconds() -> None:
    question = Question("template", "question", {}, lambda answer: (answer, ""))

    async def slowly() -> ReflectorCall[str]:
        class Slow(ScriptedModel):
            async def stream(self, request: ModelRequest) -> Any:
                await asyncio.sleep(600)
                yield

        asked = ReflectorCall[str]("scripted/test")
        began = asyncio.get_running_loop().time()
        await ReflectorModel("template", Slow()).ask(question, asked, send)
        assert asyncio.get_running_loop().time() - began <= 61
        return asked

    assert "did not answer within 60 s" in (run_virtually(slowly()).failure or "")


@pytest.mark.parametrize(
    "path", ["src/other/place.py", "/home/other/project/place.py", "../other/place.py"]
)
async def test_a_remembered_strategy_about_a_path_that_is_not_there_yet_is_shown(path: str) -> None:
    query = f"always edit {path} first"
    called = calls(("remember", {"text": f"Always edit `{path}` first", "quote": query}))
    runtime = make_runtime([called, "Noted.", "Yes."], reflect_with_model=False)
    await run_turn(runtime, query)
    assert bullets_of(runtime)["P-1"].stale == ""
    runtime.new_session()
    assert await runtime.learning.check_anchors() == []
    await run_turn(runtime, "hello")
    info = runtime.sessions.turns.turn(runtime.sessions.session.id, 1)
    assert info is not None
    assert info.shown == ("P-1",)


async def test_a_typed_strategy_with_a_make_target_that_is_not_there_yet_is_used() -> None:
    runtime = make_runtime(["Noted."], reflect_with_model=False)
    events = await run_turn(runtime, "remember that `make check` comes before a commit")
    lines = [line for event in events if isinstance(event, PlaybookUpdated) for line in event.lines]
    assert lines == ["+ `make check` comes before a commit (P-1)"]


@pytest.mark.slow
async def test_an_import_of_2000_strategies_is_reverted_by_one_undo(tmp_path: Path) -> None:
    runtime = make_runtime([])
    made = [
        Bullet(f"P-{n}", f"Run `make part-{n}` for module{n} word{n * 7}", scope="project")
        for n in range(1, 2_001)
    ]
    file = tmp_path / "many.md"
    file.write_text(to_markdown(made, {}, {}))
    perform(runtime, "add", ["--from", str(file), "--trust"])
    assert len(bullets_of(runtime)) == 2_000
    perform(runtime, "undo", [])
    assert bullets_of(runtime) == {}


async def test_a_fork_learns_from_new_turns_and_not_again_from_copied_ones() -> None:
    runtime = tagging_runtime(["Noted.", "Yes.", "Yes."])
    await run_turn(runtime, "remember that answers are short")
    await run_turn(runtime, "hello")
    before = bullets_of(runtime)["P-1"]
    runtime.sessions.fork()
    assert runtime.learning.pending() == []
    assert bullets_of(runtime)["P-1"] == before
    await run_turn(runtime, "hello again")
    await runtime.learning.mark(True)
    assert bullets_of(runtime)["P-1"].helpful > before.helpful
    runtime.sessions.playbook.apply(
        Delta("pin", (Op("PIN", "P-1"),), "user"), runtime.sessions.session
    )
    perform(runtime, "undo", [])
    assert bullets_of(runtime)["P-1"].state == "active"
