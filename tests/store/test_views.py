"""Test that user queries are read-only, and that the reference lists the views they may use."""

from __future__ import annotations

import re
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from swecli.models.errors import BadInput, LimitReached
from swecli.models.message import ChatMessage, RequestRecord, Role, ToolCall, Usage
from swecli.store import views
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import Database
from swecli.store.views import copy_with_views, run_query
from tests.support.databases import open_database

ROOT = Path(__file__).parents[2]
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {} FROM n"


@pytest.fixture
def stored_session(manager: SessionManager) -> SessionManager:
    """Store one session of one turn with a call."""
    manager.start("/shop", "m")
    manager.begin_interaction("what is the tax?")
    call = ToolCall("c1", "read_file", {"path": "prices.py"})
    manager.append(ChatMessage(Role.ASSISTANT, "", [call]))
    call.result = "TAX = 0.19"
    manager.record_call(call)
    usage = Usage(input=10, cache_read=30, output=5)
    manager.record_request(RequestRecord("m", "turn", 1, 1, usage, cost=None, duration_ms=1_500))
    manager.append(
        ChatMessage(Role.ASSISTANT, "0.19; api_key = sk-proj-Ab12Cd34Ef56Gh78Ij90Kl12Mn34Op56")
    )
    manager.finish_interaction("done", shown_names=["P-1", "P-2"], cited=["P-2"])
    return manager


def test_the_reference_lists_the_views_and_their_columns(memory: Database) -> None:
    pages = (ROOT / "docs/reference/sql.md").read_text(encoding="utf-8").split("\n## ")[1:]
    listed = [
        (page.split("\n")[0], ", ".join(re.findall(r"^\| `(\w+)` \|", page, re.M)))
        for page in pages
    ]
    assert listed == list(run_query(memory, "").rows)


def test_views_show_what_is_stored(stored_session: SessionManager) -> None:
    db = stored_session.database
    assert run_query(db, "SELECT directory, turns, undone FROM sessions").rows == (("/shop", 1, 0),)
    turn = "SELECT turn, status, query, requests, tokens_in, tokens_cached, tokens_out, cost FROM turns"
    assert run_query(db, turn).rows == ((1, "done", "what is the tax?", 1, 40, 30, 5, None),)
    assert run_query(db, "SELECT turn, tool, path, result FROM calls").rows == (
        (1, "read_file", "prices.py", "TAX = 0.19"),
    )
    assert run_query(db, "SELECT strategy, cited FROM shown_strategies").records == [
        {"strategy": "P-1", "cited": 0},
        {"strategy": "P-2", "cited": 1},
    ]


def test_every_view_can_be_read(memory: Database) -> None:
    for name, columns in run_query(memory, "").rows:
        assert run_query(memory, f"SELECT {columns} FROM {name}").rows == ()


def test_secrets_in_results_are_redacted(stored_session: SessionManager) -> None:
    result = run_query(
        stored_session.database, "SELECT content FROM messages WHERE content LIKE '%api_key%'"
    )
    assert "[redacted" in result.rows[0][0]
    assert "sk-proj" not in result.rows[0][0]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM session",
        "UPDATE message SET content = ''",
        "INSERT INTO check_result (id) VALUES (1)",
        "DROP VIEW turns",
        "CREATE TEMP TABLE mine AS SELECT 1",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA query_only = OFF",
        "ATTACH 'other.db' AS other",
        "VACUUM INTO 'other.db'",
        "BEGIN IMMEDIATE",
        "SELECT load_extension('x')",
        "SELECT 1; DELETE FROM session",
        "-- nothing",
        "SELEC",
    ],
)
def test_statements_that_do_not_only_read_are_refused(
    stored_session: SessionManager, path: Path, statement: str
) -> None:
    before = path.read_bytes()
    with pytest.raises(BadInput) as refused:
        run_query(stored_session.database, statement)
    assert "\n" not in refused.value.message
    assert path.read_bytes() == before
    assert not Path("other.db").exists()
    assert run_query(stored_session.database, "SELECT count(*) FROM sessions").rows == ((1,),)


def test_rows_over_the_limit_are_cut_with_a_note(memory: Database) -> None:
    result = run_query(memory, ENDLESS.format("x"), 3)
    assert (result.rows, result.more) == (((1,), (2,), (3,)), True)
    assert "Only the first 3 rows" in result.note
    assert not run_query(memory, "SELECT 1 UNION SELECT 2 UNION SELECT 3", 3).more


def test_large_values_are_limited(memory: Database) -> None:
    endless = ENDLESS.format("hex(zeroblob(40000))")
    result = run_query(memory, endless, 100, max_characters=500_000)
    assert result.more
    assert len(result.rows) < 10
    with pytest.raises(BadInput, match="too big"):
        run_query(memory, "SELECT zeroblob(900000000)")


def test_an_endless_query_is_stopped_at_the_timeout(memory: Database) -> None:
    with pytest.raises(LimitReached, match="stopped after 0.1 seconds"):
        run_query(memory, ENDLESS.format("count(*)"), seconds=0.1)


def test_another_thread_can_stop_a_query(stored_session: SessionManager) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        run_query(stored_session.database, ENDLESS.format("count(*)"), stop=stop)


def test_a_query_does_not_block_writers(stored_session: SessionManager, path: Path) -> None:
    with views._connect(stored_session.database) as connection:
        cursor = connection.execute("SELECT content FROM messages")
        cursor.fetchone()
        stored_session.begin_interaction("and without tax?")
    assert run_query(open_database(path), "SELECT count(*) FROM turns").rows == ((2,),)


def test_a_path_with_special_characters_can_be_queried(
    stored_session: SessionManager, tmp_path: Path
) -> None:
    odd = tmp_path / "50% of #1?.db"
    stored_session.database.close()
    shutil.copy(tmp_path / "data" / "swecli.db", odd)
    database = open_database(odd)
    assert run_query(database, "SELECT count(*) FROM sessions").rows == ((1,),)
    database.close()


def test_a_copy_with_views_is_a_valid_database(
    stored_session: SessionManager, tmp_path: Path
) -> None:
    copy = copy_with_views(stored_session.database, tmp_path / "copy.db")
    with closing(sqlite3.connect(copy)) as plain:
        assert plain.execute("SELECT query FROM turns").fetchall() == [("what is the tax?",)]
    ours = open_database(copy)
    assert ours.check() == []
    assert run_query(ours, "SELECT query FROM turns").rows == (("what is the tax?",),)
    ours.close()
