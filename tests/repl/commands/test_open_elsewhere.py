"""Test what a user is asked and shown when a session is open in two programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.app import OPEN_ELSEWHERE, Runtime
from swecli.repl.commands.open_elsewhere import settle_open_elsewhere
from tests.store.test_presence import other_process
from tests.support.command_context import ScriptedContext
from tests.support.runtime import make_runtime, run_turn


async def closed_session() -> str:
    """Return the id of a session with a turn that no program has open."""
    runtime = make_runtime(["answer"], reflect_with_model=False)
    await run_turn(runtime, "first")
    session = runtime.session.id
    runtime.close()
    return session


def open_folder(runtime: Runtime) -> Path:
    return Path(f"{runtime.sessions.database.path}.open")


async def test_a_session_that_nobody_else_has_open_is_resumed_without_a_question() -> None:
    await closed_session()
    runtime = make_runtime(resume="")
    ctx = ScriptedContext(runtime)
    await settle_open_elsewhere(ctx)
    assert ctx.titles == []
    assert OPEN_ELSEWHERE not in runtime.opening_lines()
    runtime.close()
    assert list(open_folder(runtime).iterdir()) == []


@pytest.mark.parametrize("answer", ["1", "2", "3", None])
async def test_one_that_is_open_elsewhere_is_continued_where_the_user_says(
    answer: str | None,
) -> None:
    session = await closed_session()
    runtime = make_runtime()
    with other_process(open_folder(runtime), session):
        ctx = ScriptedContext(runtime, answer)
        await ctx.type(f"/resume {session}")
        assert ctx.titles == ["This session is open in another swecli. Continue where?"]
        is_same = runtime.session.id == session
        assert is_same == (answer == "2")
        assert runtime.session.parent_id == (session if answer == "1" else None)
        assert runtime.session.interactions == (0 if answer in ("3", None) else 1)
        assert not runtime.is_open_elsewhere or is_same
    runtime.close()


async def test_a_run_without_a_screen_says_that_the_session_is_open_elsewhere() -> None:
    session = await closed_session()
    probe = make_runtime()
    with other_process(open_folder(probe), session):
        runtime = make_runtime(resume=session)
        assert OPEN_ELSEWHERE in runtime.opening_lines()
        runtime.close()
    probe.close()


async def test_turns_that_came_and_went_elsewhere_are_named_when_they_are_loaded() -> None:
    here = make_runtime(["one", "two"], reflect_with_model=False)
    await run_turn(here, "first")
    await run_turn(here, "second")
    there = make_runtime(["three"], resume="", reflect_with_model=False)
    await ScriptedContext(there).type("/undo")
    await run_turn(there, "third")
    assert here.load_again() == [
        "T2 was undone in another swecli: second",
        "T2 is of another swecli: third → three",
    ]
    assert [message.content for message in here.session.messages] == [
        "first",
        "one",
        "third",
        "three",
    ]
    here.close()
    there.close()
