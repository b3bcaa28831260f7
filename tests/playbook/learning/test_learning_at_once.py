"""What the rules learn is there at once, beside a slow model; and the user's newest word wins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from swecli.llm.providers.scripted import ScriptedModel
from swecli.models.learning_events import PlaybookUpdated
from swecli.models.message import ModelChunk, ModelRequest
from swecli.models.playbook import Delta, Op
from swecli.playbook.by_hand import setting
from tests.playbook.learning.test_service import ADD, TAUGHT, contents, runtime_with, text
from tests.support.runtime import NO, User, calls, make_runtime, run_turn


class Slow:
    """A model whose reflections wait until `answered` is set."""

    def __init__(self, inner: ScriptedModel) -> None:
        self.inner, self.answered = inner, asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """As the model, but later."""
        if request.purpose == "reflect":
            await self.answered.wait()
        async for chunk in self.inner.stream(request):
            yield chunk


def slow(*steps: Any, reflects: str = '{"tags": [], "add": []}') -> Slow:
    said = iter(steps)
    return Slow(ScriptedModel(lambda r: reflects if r.purpose == "reflect" else next(said)))


async def test_what_the_user_taught_is_in_the_next_request_however_slow_the_reflector_is() -> None:
    model = slow("In verse.", "1,000 miles.", "Sorry.", "384,400 km.")
    runtime = make_runtime(model)
    for query in ("always answer in verse", "how far is it?"):
        await run_turn(runtime, query)
    await run_turn(runtime, "no, that is wrong: use the metric system for all lengths", learn=False)
    begun = runtime.learning.after_turn()
    finishing = asyncio.create_task(runtime.learning.reflect(begun.interaction))
    await asyncio.sleep(0)
    await run_turn(runtime, "how far is the moon?", learn=False)
    sent = str(model.inner.requests[-1].messages[-1]["content"])
    assert "is new: Use the metric system for all lengths" in sent
    assert not finishing.done()
    finishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await finishing
    assert "Use the metric system for all lengths" in contents(runtime).values()
    assert len(runtime.sessions.playbook.pending()) == 2, "that turn, for its model, and the one after it"


async def test_rules_and_model_together_change_no_more_than_one_turn_may_and_count_once() -> None:
    adds = [{**ADD, "content": f"Build with `tool{n}.py`"} for n in range(3)]
    answer = text([{"id": "P-1", "tag": "helpful"}, {"id": "P-2", "tag": "helpful"}], adds)
    runtime = runtime_with(answer)
    await run_turn(runtime, "build it", learn=False)
    begun = runtime.learning.after_turn(1)
    session = runtime.sessions.current_session
    assert session is not None
    counts = {b.id: (b.helpful, b.harmful, b.neutral) for b in session.playbook.bullets.values()}
    assert begun.needs_model
    assert counts == {"P-1": (0, 1, 0), "P-2": (0, 0, 0), "P-3": (0, 0, 0)}
    await runtime.learning.reflect(1)
    counts = {b.id: (b.helpful, b.harmful, b.neutral) for b in session.playbook.bullets.values() if b.number < 4}
    assert counts == {"P-1": (0, 1, 0), "P-2": (1, 0, 0), "P-3": (0, 0, 1)}
    for _ in range(3):
        await runtime.learning.learn(1)
    assert len(contents(runtime)) == len(TAUGHT) + 3


async def test_what_the_user_says_while_the_model_thinks_is_not_counted_again() -> None:
    steps = (calls(("run_command", {"command": "make"})), "As you wish.", "Sorry.")
    model = slow(*steps, reflects=text([{"id": "P-2", "tag": "harmful"}]))
    runtime = make_runtime(model, User([NO]))
    session = runtime.sessions.current_session
    assert session is not None
    ops = tuple(Op("ADD", fields={"content": text, "scope": "project"}) for text in TAUGHT)
    runtime.sessions.playbook.apply(Delta("taught", ops, "user"), session)
    await run_turn(runtime, "build it", learn=False)
    runtime.learning.after_turn(1)
    thinking = asyncio.create_task(runtime.learning.reflect(1))
    await asyncio.sleep(0)
    await run_turn(runtime, "no, that was wrong, because of P-2", learn=False)
    runtime.learning.after_turn(2)
    assert session.playbook.bullets["P-2"].harmful == 1
    model.answered.set()
    await thinking
    assert session.playbook.bullets["P-2"].harmful == 1


async def test_what_the_user_says_against_a_pinned_strategy_is_asked_in_review_and_their_yes_counts() -> None:
    runtime = make_runtime(["Noted."] * 3)
    session = runtime.sessions.current_session
    assert session is not None
    await run_turn(runtime, "always use tabs for indentation")
    store = runtime.sessions.playbook
    store.apply(setting(session, session.playbook.bullets["P-1"], "PIN", "pin P-1"), session)
    events = await run_turn(runtime, "from now on never use tabs for indentation")
    [learned] = [event for event in events if isinstance(event, PlaybookUpdated)]
    assert "waits for your yes: it contradicts P-1, which you pinned" in learned.lines[0]
    assert session.playbook.bullets["P-2"].state == "quarantined"
    store.apply(setting(session, session.playbook.bullets["P-2"], "RESTORE", "accepted in review: P-2"), session)
    assert {name: b.state for name, b in session.playbook.bullets.items()} == {"P-1": "quarantined", "P-2": "active"}
    store.undo(session)
    assert {name: b.state for name, b in session.playbook.bullets.items()} == {"P-1": "pinned", "P-2": "quarantined"}


async def test_the_users_newer_words_are_in_the_next_prompt_and_the_older_ones_come_back_with_undo() -> None:
    runtime = make_runtime(["Noted."] * 3)
    for folder in ("unit", "integration"):
        await run_turn(runtime, f"remember that the tests run with `pytest -q tests/{folder}`")
    runtime.new_session()
    sent = str(runtime.agent.prepare("run the tests").messages[0]["content"])
    assert "tests/integration" in sent
    assert "tests/unit" not in sent
    session = runtime.sessions.current_session
    assert session is not None
    runtime.sessions.playbook.undo(session)
    assert [b.content for b in session.playbook.live()] == ["The tests run with `pytest -q tests/unit`"]
