"""`/new`, `/sessions`, `/rename`, `/search`: between sessions."""

from __future__ import annotations

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput, UsageError
from tests.support.desk import Desk
from tests.support.runtime import run_turn


async def test_a_new_session_leaves_the_old_one_and_states_its_id(runtime: Runtime, desk: Desk) -> None:
    await run_turn(runtime, "first thing")
    old = runtime.sessions.current_session
    assert old is not None
    printed = await desk.type("/new second")
    now = runtime.sessions.current_session
    assert now is not None
    assert now.id != old.id
    assert now.title == "second"
    assert old.id in printed
    assert desk.settled


async def test_an_empty_session_is_not_worth_a_word(desk: Desk) -> None:
    assert "stays" not in await desk.type("/clear")


@pytest.mark.slow
async def test_a_session_is_picked_from_a_list_and_shown(runtime: Runtime) -> None:
    await run_turn(runtime, "first thing")
    first = runtime.sessions.current_session
    assert first is not None
    desk = Desk(runtime, first.id)
    await desk.type("/new")
    printed = await desk.type("/sessions")
    assert [value for value, _ in desk.offered[0]] == [first.id]
    assert "first thing · 1 turn" in desk.offered[0][0][1]
    assert runtime.sessions.current_session is not None
    assert runtime.sessions.current_session.id == first.id
    assert "> first thing" in printed
    assert "ok" in printed


async def test_the_list_shows_how_a_session_began_and_ended(runtime: Runtime) -> None:
    await run_turn(runtime, "Repair the parser. It fails on tabs.")
    await run_turn(runtime, "and the lexer")
    desk = Desk(runtime, None)
    await desk.type("/new")
    await desk.type("/resume")
    [[(_, label)], [details]] = desk.offered[0], desk.detailed
    assert label.startswith("Repair the parser · 2 turns · ")
    assert details[:3] == ["> Repair the parser. It fails on tabs.", "> and the lexer", "ok"]
    assert "no cost" in details[3] or "$" in details[3]


async def test_picking_nothing_changes_nothing(runtime: Runtime) -> None:
    await run_turn(runtime, "first thing")
    desk = Desk(runtime, None)
    await desk.type("/new")
    here = runtime.sessions.current_session
    await desk.type("/sessions")
    assert runtime.sessions.current_session is here


async def test_without_other_sessions_there_is_nothing_to_pick(desk: Desk) -> None:
    assert "no other session" in await desk.type("/sessions")


async def test_a_session_is_resumed_by_its_name(runtime: Runtime, desk: Desk) -> None:
    await run_turn(runtime, "first thing")
    assert "this session is now the big one" in await desk.type("/rename  the   big one")
    await desk.type("/new")
    assert "session the big one · 1 turn" in await desk.type("/resume the big one")


async def test_an_unknown_session_is_one_clear_line(desk: Desk) -> None:
    with pytest.raises(BadInput):
        await desk.type("/resume nosuch")


async def test_a_name_is_asked_for(desk: Desk) -> None:
    with pytest.raises(UsageError, match=r"To name it: /rename NAME"):
        await desk.type("/rename")


async def test_words_are_found_in_all_sessions(runtime: Runtime, desk: Desk) -> None:
    await run_turn(runtime, "where is the teapot")
    await desk.type("/new")
    assert "teapot" in await desk.type("/search teapot")
    assert "no matches" in await desk.type("/search samovar")
    with pytest.raises(UsageError):
        await desk.type("/search")


def test_sessions_are_offered_as_arguments(runtime: Runtime, desk: Desk) -> None:
    found = desk.table.find("resume")
    assert found is not None
    assert found.complete is not None
    assert found.complete(runtime) == []
