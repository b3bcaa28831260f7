"""Test resuming a session: it keeps its window, and its requests are valid."""

from __future__ import annotations

import pytest

from swecli.models.window_spec import WindowSpec
from tests.support.runtime import make_runtime, run_turn


async def test_a_resumed_session_sends_its_earlier_queries() -> None:
    first = make_runtime(["One.", "Two."])
    await run_turn(first, "first question")
    await run_turn(first, "second question")
    session = first.sessions.current_session
    assert session is not None
    first.close()
    again = make_runtime(["Three."], resume="")
    assert again.sessions.current_session is not None
    assert again.sessions.current_session.id == session.id
    await run_turn(again, "third question")
    sent = [m["content"] for m in again.agent.model.requests[0].messages if m["role"] == "user"]  # type: ignore[attr-defined]
    assert [text.splitlines()[0] for text in sent] == [
        "first question",
        "second question",
        "third question",
    ]


@pytest.mark.slow
async def test_the_window_limits_the_turns_in_the_next_request() -> None:
    runtime = make_runtime(lambda request: "Yes.")
    for number in range(8):
        await run_turn(runtime, f"question {number}")
    runtime.sessions.set_window(WindowSpec.parse("2"))
    await run_turn(runtime, "last")
    sent = [m["content"] for m in runtime.agent.model.requests[-1].messages if m["role"] == "user"]  # type: ignore[attr-defined]
    assert [text.splitlines()[0] for text in sent] == ["question 6", "question 7", "last"]
    runtime.sessions.set_window(WindowSpec.parse("4"))
    await run_turn(runtime, "again")
    sent = [m["content"] for m in runtime.agent.model.requests[-1].messages if m["role"] == "user"]  # type: ignore[attr-defined]
    assert len(sent) == 5


async def test_a_request_begins_with_the_messages_of_the_previous_one() -> None:
    runtime = make_runtime(lambda request: "Yes.")
    await run_turn(runtime, "one")
    await run_turn(runtime, "two")
    first, second = (r.messages for r in runtime.agent.model.requests)  # type: ignore[attr-defined]
    assert second[: len(first)] == first


async def test_a_person_continues_their_own_session_and_a_script_the_newest() -> None:
    mine = make_runtime(["One."])
    await run_turn(mine, "my question")
    script = make_runtime(["Two."])
    script.sessions.is_attended = False  # as in `swecli -p`
    await run_turn(script, "a script's question")
    manager, folder = script.sessions, str(script.cwd)
    ids = [runtime.sessions.session.id for runtime in (mine, script)]
    assert manager.resume(None, folder, attended=True).id == ids[0]
    assert manager.resume(None, folder).id == ids[1]
    again = make_runtime(["Three."], resume=ids[1])
    await run_turn(again, "I go on with it")
    assert manager.resume(None, folder, attended=True).id == ids[1], "it is no script's alone"


async def test_where_only_scripts_ran_the_last_one_is_continued() -> None:
    script = make_runtime(["One."])
    script.sessions.is_attended = False
    await run_turn(script, "a script's question")
    own = script.sessions.session.id
    assert script.sessions.resume(None, str(script.cwd), attended=True).id == own
