"""Test a session's workspace: it is looked up on demand, and a missing folder yields no evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.app import Runtime
from swecli.models.playbook import Delta, Op
from swecli.models.session import Session
from swecli.playbook.learning.service import _check_anchors
from swecli.playbook.workspace import WorkspaceLookup, note_anchors
from tests.support.playbook import perform
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


def add(runtime: Runtime, content: str, **fields: str) -> None:
    """Add a strategy that a model proposed, as the program does: it is noted whether what it names is there."""
    session = runtime.sessions.session
    op = Op("ADD", fields={"content": content, "scope": "project"} | fields)
    applied = runtime.sessions.playbook.apply(Delta(content, (op,), "user"), session)
    note_anchors(runtime.sessions, session, applied.added)


async def check(runtime: Runtime) -> list[str]:
    """Check the anchors, as at a start, and return the lines."""
    return [*await _check_anchors(runtime.sessions, runtime.sessions.session)]


def in_prompts(runtime: Runtime) -> list[str]:
    return [bullet.id for bullet in runtime.sessions.session.playbook.live_bullets()]


async def test_a_missing_file_is_reported_in_one_line_for_all_strategies_that_name_it() -> None:
    runtime = make_runtime()
    Path("gone.py").write_text("")
    for number in range(5):
        add(runtime, f"Read `gone.py` for matter {number}")
    assert await check(runtime) == []
    Path("gone.py").unlink()
    [line] = await check(runtime)
    assert line.startswith("P-1, P-2, P-3 and 2 more are stale and stay out of prompts: ")
    assert in_prompts(runtime) == []


async def test_a_stale_strategy_that_is_pinned_or_the_users_is_reported_as_still_in_prompts() -> (
    None
):
    runtime = make_runtime()
    Path("gone.py").write_text("")
    add(runtime, "Read `gone.py` as it is pinned", state="pinned")
    add(runtime, "Read `gone.py` as a result says")
    add(runtime, "Read `gone.py` as I say", trust="user")
    Path("gone.py").unlink()
    first, second, third = await check(runtime)
    assert first.startswith("P-2 is stale and stays out of prompts: ")
    assert second.startswith("P-1 is stale and stays in prompts, being pinned: ")
    assert third.startswith("P-3 is stale and stays in prompts, being your word: ")
    assert in_prompts(runtime) == ["P-1", "P-3"]
    states = [row[1] for row in perform(runtime, "list", []).rows]
    assert sorted(states) == ["active, stale", "active, stale?", "pinned, stale?"]


@pytest.mark.parametrize(
    "sentence",
    [
        "a file news/NAME.txt per change, one sentence",
        "secrets live in config/local.env, which is never committed",
        "write migrations as db/YYYY-MM-DD_name.sql",
        "new tests go to tests/test_AREA.py",
        "put a file changes/NNN.md beside each change",
        "bug reports: attach out/trace.json",
        "`make ship` comes last",
    ],
)
@pytest.mark.parametrize("trust", ["user", "tool"])
async def test_what_never_existed_makes_nothing_stale(sentence: str, trust: str) -> None:
    runtime = make_runtime()
    add(runtime, sentence, trust=trust)
    assert await check(runtime) == []
    assert in_prompts(runtime) == ["P-1"]


async def test_what_an_earlier_version_called_stale_at_birth_is_in_prompts_after_a_check() -> None:
    runtime = make_runtime()
    add(runtime, "Write news/NAME.txt", trust="tool")
    stale = {"P-1": "news/NAME.txt does not exist"}
    runtime.sessions.playbook.record_anchor_checks(runtime.sessions.session, stale, ())
    assert in_prompts(runtime) == []
    await check(runtime)
    assert in_prompts(runtime) == ["P-1"]


async def test_a_strategy_is_used_again_when_its_file_comes_back() -> None:
    runtime = make_runtime()
    Path("gone.py").write_text("")
    add(runtime, "Read `gone.py` first")
    Path("gone.py").unlink()
    await check(runtime)
    Path("gone.py").write_text("")
    assert await check(runtime) == []
    assert in_prompts(runtime) == ["P-1"]
    Path("gone.py").unlink()
    assert len(await check(runtime)) == 1, "it was there again"


@pytest.mark.parametrize("fields", [{}, {"trust": "user"}, {"state": "pinned"}])
async def test_a_yes_settles_that_a_file_is_gone(fields: dict[str, str]) -> None:
    runtime = make_runtime()
    Path("gone.py").write_text("")
    add(runtime, "Read `gone.py` first", **fields)
    state = runtime.sessions.session.playbook.bullets["P-1"].state
    Path("gone.py").unlink()
    await check(runtime)
    assert [row["id"] for row in perform(runtime, "review", []).value] == ["P-1"]
    perform(runtime, "review", ["P-1", "use"])
    for _ in range(2):
        bullet = runtime.sessions.session.playbook.bullets["P-1"]
        assert (bullet.stale, bullet.state) == ("", state)
        assert in_prompts(runtime) == ["P-1"]
        assert await check(runtime) == []
    assert perform(runtime, "review", []).value == []


async def test_a_new_text_of_a_strategy_was_never_there() -> None:
    runtime = make_runtime()
    Path("here.py").write_text("")
    add(runtime, "Read `here.py` first", trust="tool")
    perform(runtime, "edit", ["P-1", "Read", "`later.py`", "first"])
    assert await check(runtime) == []
    assert in_prompts(runtime) == ["P-1"]
