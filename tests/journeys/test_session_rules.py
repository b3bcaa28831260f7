"""Test what a user allows "for this session": it holds as long as the session, for its folder, and for nobody else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swecli.app import Runtime
from swecli.models.approval import Decision
from swecli.models.errors import DamagedDatabase
from swecli.store.session_files.importing import import_session
from swecli.store.session_manager import SessionManager
from tests.support.databases import open_database
from tests.support.runtime import User, calls, make_runtime, run_turn

MAKE = calls(("run_command", {"command": "mkdir -p out"}))
FOR_THE_SESSION = Decision(True, scope="session")


async def allow_for_the_session() -> Runtime:
    """Return a runtime in whose session `mkdir` was allowed."""
    runtime = make_runtime([MAKE, "Made."], User([FOR_THE_SESSION]))
    await run_turn(runtime, "make it", learn=False)
    return runtime


async def test_what_is_allowed_for_a_session_holds_after_it_is_resumed_and_is_named() -> None:
    (await allow_for_the_session()).close()
    user = User()
    again = make_runtime([MAKE, "Made."], user, resume="")
    await run_turn(again, "make it again", learn=False)
    assert user.asked == []
    assert "allowed in this session: run(mkdir *) (/permissions)" in again.notices


async def test_a_new_session_asks_again_and_a_fork_does_not() -> None:
    first = await allow_for_the_session()
    first.sessions.fork()
    assert [rule.text for rule in first.agent.permissions.session] == ["run(mkdir *)"]
    copy = first.sessions.session.id
    first.new_session()
    assert first.agent.permissions.session == []
    first.close()
    assert make_runtime(resume=copy).agent.permissions.session != []


async def test_a_session_resumed_in_another_folder_asks_again(tmp_path: Path) -> None:
    first = await allow_for_the_session()
    session = first.sessions.session.id
    first.close()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    user = User([FOR_THE_SESSION])
    there = make_runtime([MAKE, "Made."], user, cwd=elsewhere, resume=session)
    await run_turn(there, "make it here", learn=False)
    assert len(user.asked) == 1
    there.close()
    assert make_runtime(resume=session).agent.permissions.session != [], "the other's are kept"


async def test_an_export_allows_nothing_not_even_one_that_says_so() -> None:
    first = await allow_for_the_session()
    session = first.sessions.session.id
    whole = json.loads(json.dumps(first.sessions.archive.export(session), default=str))
    first.close()
    assert "allowed" not in whole
    other = SessionManager(open_database("other.db"))
    hostile = whole | {"allowed": {str(Path.cwd()): ["run(*)"]}}
    import_session(other.database, hostile)
    assert other.resume(session, "").allowed == {}
    other.database.close()


async def test_a_removed_rule_stays_removed() -> None:
    first = await allow_for_the_session()
    first.agent.permissions.remove(first.agent.permissions.session[0])
    first.close()
    again = make_runtime(resume="")
    assert again.agent.permissions.session == []
    assert again.notices == []


@pytest.mark.parametrize(
    "stored", ['["run(*)"]', "3", '{"/p": 3}', '{"/p": "run"}', '{"/p": [3]}', "not JSON"]
)
async def test_damaged_rules_are_an_error_in_one_line(stored: str) -> None:
    first = await allow_for_the_session()
    first.close()
    database = open_database(database_of(first))
    with database.write() as db:
        db.execute("UPDATE session SET allowed = ?", (stored,))
    database.close()
    with pytest.raises(DamagedDatabase, match="The session cannot be read"):
        make_runtime(resume="")


async def test_a_rule_of_another_version_is_not_applied() -> None:
    first = await allow_for_the_session()
    first.close()
    database = open_database(database_of(first))
    rules = json.dumps({str(Path.cwd()): ["!new syntax", "run(mkdir *)"]})
    with database.write() as db:
        db.execute("UPDATE session SET allowed = ?", (rules,))
    database.close()
    again = make_runtime(resume="")
    assert [rule.text for rule in again.agent.permissions.session] == ["run(mkdir *)"]


def database_of(runtime: Runtime) -> Path:
    return Path(runtime.start.database)
