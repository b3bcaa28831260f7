"""Test a session's workspace: it is looked up on demand, and a missing folder yields no evidence."""

from __future__ import annotations

from pathlib import Path

from swecli.models.playbook import Delta, Op
from swecli.models.session import Session
from swecli.playbook.learning.service import _check_anchors
from swecli.playbook.workspace import WorkspaceLookup
from tests.support.runtime import make_runtime


def test_a_session_without_an_existing_directory_has_no_workspace(tmp_path: Path) -> None:
    assert WorkspaceLookup.of(Session("s", str(tmp_path / "gone"))) is None
    assert WorkspaceLookup.of(Session("s")) is None


async def test_anchors_are_not_checked_without_strategies_of_the_project() -> None:
    runtime = make_runtime()
    session = runtime.sessions.current_session
    assert session is not None
    assert await _check_anchors(runtime.sessions, session) == ()
    ops = (Op("ADD", fields={"content": "Use `nowhere.py`", "scope": "user"}),)
    runtime.sessions.playbook.apply(Delta("d", ops, "user"), session)
    assert await _check_anchors(runtime.sessions, session) == (), (
        "strategies for all projects are not checked"
    )


async def test_a_missing_file_is_reported_in_one_line_for_all_strategies_that_name_it() -> None:
    runtime = make_runtime()
    session = runtime.sessions.current_session
    assert session is not None
    for number in range(5):
        ops = (
            Op(
                "ADD", fields={"content": f"Read `gone.py` for matter {number}", "scope": "project"}
            ),
        )
        runtime.sessions.playbook.apply(Delta(f"d{number}", ops, "user"), session)
    [line] = await _check_anchors(runtime.sessions, session)
    assert line.startswith("P-1, P-2, P-3 and 2 more are stale and stay out of prompts: ")


async def test_a_stale_pinned_strategy_is_reported_as_still_in_prompts() -> None:
    runtime = make_runtime()
    session = runtime.sessions.current_session
    assert session is not None
    for state in ("pinned", "active"):
        ops = (
            Op(
                "ADD",
                fields={"content": f"Read `gone.py` {state}", "scope": "project", "state": state},
            ),
        )
        runtime.sessions.playbook.apply(Delta(state, ops, "user"), session)
    first, second = await _check_anchors(runtime.sessions, session)
    assert first.startswith("P-2 is stale and stays out of prompts: ")
    assert second.startswith("P-1 is stale and stays in prompts, being pinned: ")
