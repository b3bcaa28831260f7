"""Test the turns that left the window: their outline, and one that is sent again with the next request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from swecli.agent.left_turns import LeftTurns
from swecli.app import Runtime
from swecli.context.replay.history import History
from swecli.models.errors import BadInput
from swecli.models.message import ChatMessage, ModelRequest, Role
from swecli.models.window_spec import WindowSpec
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedModel

SECRET_OF_TURN_1 = "the discount is 15 percent\n  def rebate(price):\n      return price * 0.85"


async def runtime_after(
    turns: int, first_query: str = "query 1", **settings: Any
) -> tuple[Runtime, ScriptedModel]:
    """Return the runtime of a session whose first turn reads a file, and its model."""
    Path("notes.txt").write_text("discounts are rounded down\n")
    reading = calls(("read_file", {"path": "notes.txt"}))
    answers: list[Reply | str] = [reading, SECRET_OF_TURN_1, *(f"answer {n}" for n in range(2, 60))]
    window = settings.pop("context_window", 128_000)
    model = ScriptedModel(answers, context_window=window)
    runtime = make_runtime(model, learn=False, **{"window": WindowSpec(2, 1)} | settings)
    for number in range(1, turns + 1):
        query = first_query if number == 1 else f"query {number}"
        await run_turn(runtime, query, learn=False)
    return runtime, model


def brought_back(runtime: Runtime) -> list[int]:
    return list(runtime.session.context.brought_back)


def texts_of(request: ModelRequest) -> list[str]:
    return [str(message["content"]) for message in request.messages]


async def test_the_outline_lists_the_turns_that_the_next_request_leaves_out() -> None:
    runtime, _ = await runtime_after(6)
    outline = runtime.left_turns.outline()
    assert [left.turn.number for left in outline.turns] == [1, 2, 3, 4]
    assert outline.turns[0].turn.query == "query 1"
    assert all(left.tokens > 0 for left in outline.turns)
    assert outline.older == 0


async def test_pinned_turns_did_not_leave() -> None:
    runtime, _ = await runtime_after(6)
    runtime.context_control.pin(2)
    assert 2 not in [left.turn.number for left in runtime.left_turns.outline().turns]


async def test_nothing_left_while_everything_is_sent() -> None:
    runtime, _ = await runtime_after(3, window=WindowSpec.parse("full"))
    assert runtime.left_turns.outline().turns == ()
    with pytest.raises(BadInput, match="T1 is sent with the next request anyway"):
        runtime.left_turns.bring_back(1)


async def test_a_turn_goes_with_the_next_request_whole_and_with_no_other() -> None:
    runtime, model = await runtime_after(6)
    runtime.left_turns.bring_back(1)
    await run_turn(runtime, "what was the discount?", learn=False)
    query = texts_of(model.requests[-1])[-1]
    assert query.startswith("what was the discount?")
    assert "user: query 1" in query
    assert 'call: read_file {"path": "notes.txt"}' in query
    assert "discounts are rounded down" in query
    assert "    def rebate(price):\n        return price * 0.85" in query
    await run_turn(runtime, "and then?", learn=False)
    assert "rebate" not in "\n".join(texts_of(model.requests[-1]))


async def test_what_was_sent_before_keeps_its_bytes_and_only_its_own_turn_is_sent_anew() -> None:
    runtime, model = await runtime_after(7, window=WindowSpec(2, 3))
    before = model.requests[-1].messages
    runtime.left_turns.bring_back(1)
    await run_turn(runtime, "now", learn=False)
    sent = model.requests[-1].messages
    assert sent[: len(before)] == before
    following = runtime.agent.prepare("later").request
    assert following.epoch_row is None
    assert following.messages[: len(sent) - 1] == sent[:-1]
    assert following.messages[len(sent) - 1] != sent[-1]
    assert following.first_new == 8
    meter = runtime.context_control.meter("later")
    assert 0 < meter.cached < meter.total


async def test_it_is_sent_again_with_each_step_of_its_turn() -> None:
    runtime, model = await runtime_after(6)
    model._replies = [calls(("read_file", {"path": "notes.txt"})), "done"]
    runtime.left_turns.bring_back(1)
    await run_turn(runtime, "now", learn=False)
    first, second = model.requests[-2:]
    assert second.messages[: len(first.messages)] == first.messages


async def test_it_survives_a_restart_until_it_was_sent() -> None:
    runtime, _ = await runtime_after(6)
    runtime.left_turns.bring_back(1)
    again = make_runtime(["seven", "eight"], resume=runtime.session.id, learn=False)
    assert brought_back(again) == [1]
    request = again.agent.prepare("now").request
    assert [segment.name for segment in request.brought_back] == ["brought back 1"]
    await run_turn(again, "now", learn=False)
    assert brought_back(again) == []
    last = make_runtime(["eight"], resume=runtime.session.id, learn=False)
    assert brought_back(last) == []


async def test_the_stored_request_is_rebuilt_as_it_was_sent() -> None:
    runtime, model = await runtime_after(6)
    runtime.left_turns.bring_back(1)
    await run_turn(runtime, "now", learn=False)
    sent = model.requests[-1].messages
    await run_turn(runtime, "later", learn=False)
    past = runtime.context_control.past_prompt(7)
    assert past.messages == sent


async def test_a_fork_takes_it_along_if_it_has_the_turn() -> None:
    runtime, _ = await runtime_after(6)
    runtime.left_turns.bring_back(3)
    original = runtime.session.id
    runtime.sessions.fork()
    assert brought_back(runtime) == [3]
    runtime.sessions.resume(original, "")
    runtime.sessions.fork(2)
    assert brought_back(runtime) == []


async def test_a_turn_that_was_undone_cannot_be_brought_back() -> None:
    runtime, _ = await runtime_after(6)
    runtime.left_turns.bring_back(3)
    history = runtime.history
    assert history is not None
    history.undo(3, ("conversation",), history.plan(3), False)
    runtime.resume(runtime.session.id)
    assert brought_back(runtime) == []
    with pytest.raises(BadInput, match="There is no turn T3 in this session"):
        runtime.left_turns.bring_back(3)


async def test_one_that_was_chosen_by_mistake_is_left_out_again() -> None:
    runtime, _ = await runtime_after(6)
    runtime.left_turns.bring_back(1)
    runtime.left_turns.leave_out(1)
    assert runtime.agent.prepare("now").request.brought_back == ()
    with pytest.raises(BadInput, match="T1 was not brought back"):
        runtime.left_turns.leave_out(1)


async def test_a_turn_without_room_is_refused_with_its_size() -> None:
    runtime, _ = await runtime_after(6, "word " * 40_000)
    runtime.agent.use_model(ScriptedModel(context_window=40_000))
    with pytest.raises(BadInput, match=r"T1 has \d\d,\d{3} tokens, and in the next request [\d,]+"):
        runtime.left_turns.bring_back(1)
    assert brought_back(runtime) == []


async def test_a_window_of_everything_makes_it_needless() -> None:
    runtime, _ = await runtime_after(6)
    runtime.left_turns.bring_back(1)
    runtime.sessions.set_window(WindowSpec.parse("full"))
    assert runtime.agent.prepare("now").request.brought_back == ()


async def test_marks_of_a_block_in_a_turn_do_not_end_the_block() -> None:
    runtime, _ = await runtime_after(6, "a </turn_notes>\n- b")
    runtime.left_turns.bring_back(1)
    [*_, query] = runtime.agent.prepare("now").messages
    assert str(query["content"]).count("</turn_notes>") == 1
    assert "\n  - b" in str(query["content"])


def test_the_outline_of_a_long_session_is_bounded() -> None:
    runtime = make_runtime(learn=False)
    for number in range(1, 121):
        runtime.sessions.begin_interaction(f"query {number}")
        runtime.sessions.append(ChatMessage(Role.ASSISTANT, "ok"))
        runtime.sessions.finish_interaction("complete")
    outline = LeftTurns(runtime.agent).outline()
    assert len(outline.turns) == 50
    assert outline.older == 120 - 5 - 50
    assert outline.turns[-1].turn.number == 115


def test_a_session_without_a_turn_says_so() -> None:
    runtime = make_runtime()
    with pytest.raises(BadInput, match="Nothing has been sent"):
        runtime.left_turns.outline()


async def test_a_replay_brings_back_what_the_session_did() -> None:
    runtime, _ = await runtime_after(6)
    runtime.left_turns.bring_back(1)
    await run_turn(runtime, "now", learn=False)
    history = History.read(runtime.sessions.read_whole(), 128_000, ())
    assert history.turns[-1].brought_back == (1,)
