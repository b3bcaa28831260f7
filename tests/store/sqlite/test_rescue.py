"""A damaged database is set aside, and what is readable of it is saved."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from swecli.models.errors import DamagedDatabase, StoreError
from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.models.playbook import Delta, Op
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database
from swecli.store.tables.sessions import MessageRow

pytestmark = pytest.mark.slow

PAGE = 4096


def fill(path: Path, messages: int = 600) -> None:
    manager = SessionManager(open_database(path))
    session = manager.start("/p", "scripted/test", title="long")
    manager.begin_interaction("first")
    calls = [ToolCall("c1", "read_file", {"path": "x"})]
    manager.append(ChatMessage(Role.ASSISTANT, "answer", calls))
    calls[0].result = "short"
    manager.record_call(calls[0], "the whole text " * 2000)
    manager.playbook.apply(Delta("d1", (Op("ADD", fields={"content": "use uv"}),) * 3, "user"), session)
    manager.playbook.undo(session)
    manager.playbook.apply(Delta("d2", (Op("ADD", fields={"content": "run tests"}),), "user"), session)
    with manager.database.transaction() as db:
        for number in range(messages):
            text = f"message {number} " * 20
            db.add(MessageRow(session_id=session.id, interaction=1, role="assistant", content=text))
    manager.database.close()


def scribble(path: Path, pages: range) -> None:
    noise = random.Random(7)
    with path.open("r+b") as file:
        for page in pages:
            file.seek(page * PAGE)
            file.write(noise.randbytes(PAGE))


def table_pages(path: Path, table: str) -> list[int]:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'", (table,)).fetchall()
    connection.close()
    return [row[0] for row in rows]


def has_dbstat() -> bool:
    with closing(sqlite3.connect(":memory:")) as connection:
        return ("ENABLE_DBSTAT_VTAB",) in connection.execute("PRAGMA compile_options").fetchall()


needs_dbstat = pytest.mark.skipif(not has_dbstat(), reason="this SQLite cannot tell which page holds what")


@needs_dbstat
def test_what_is_readable_is_saved_and_it_is_said(path: Path) -> None:
    fill(path)
    leaves = table_pages(path, "message")
    broken = leaves[len(leaves) // 2]
    scribble(path, range(broken - 1, broken))
    damaged = path.read_bytes()

    database = open_database(path)
    [notice] = database.notices
    [aside] = path.parent.glob("swecli.db.damaged-*")
    assert str(aside) in notice
    assert "was damaged" in notice
    assert "\n" not in notice
    assert aside.read_bytes() == damaged
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
    assert not list(path.parent.glob("*.rescued-*"))

    manager = SessionManager(database)
    session = manager.resume("long", "/p")
    assert 500 < len(session.messages) < 602
    assert session.messages[0].content == "first"
    assert session.messages[-1].content.startswith("message 599")
    assert manager.read_result("c1") == "the whole text " * 2000
    assert [b.content for b in session.playbook.live()] == ["run tests"]
    assert manager.search("message 599")[0].session_id == session.id
    assert database.check() == []
    database.close()
    assert open_database(path).notices == []


@needs_dbstat
def test_one_of_an_older_shape_is_saved_and_then_upgraded(path: Path) -> None:
    fill(path)
    with closing(sqlite3.connect(path)) as older, older:
        older.execute("ALTER TABLE message DROP COLUMN blocks")
        older.execute("PRAGMA user_version = 11")
    page = table_pages(path, "message")[5]
    scribble(path, range(page - 1, page))
    manager = SessionManager(open_database(path))
    assert "was damaged" in manager.database.notices[0]
    session = manager.resume("long", "/p", window_hint=100)
    assert len(session.messages) > 500
    assert {message.blocks for message in session.messages} == {None}
    manager.database.close()


@needs_dbstat
def test_numbers_are_not_given_again_after_a_rescue(path: Path) -> None:
    fill(path)
    scribble(path, range(table_pages(path, "message")[3] - 1, table_pages(path, "message")[3]))
    manager = SessionManager(open_database(path))
    assert manager.database.notices
    session = manager.resume(None, "/p")
    manager.playbook.undo(session)
    assert manager.playbook.apply(Delta("d3", (Op("ADD", fields={"content": "x"}),), "user"), session).added == ("P-5",)
    manager.database.close()


@needs_dbstat
def test_messages_outlive_their_session(path: Path) -> None:
    fill(path)
    for page in table_pages(path, "session"):
        scribble(path, range(page - 1, page))
    manager = SessionManager(open_database(path))
    [info] = manager.list_sessions()
    assert (info.title, info.messages) == ("recovered", 602)
    assert manager.resume("recovered", "").messages[0].content == "first"
    assert manager.database.check() == []
    manager.database.close()


@pytest.mark.parametrize("seed", range(12))
def test_any_damage_ends_in_a_usable_database_or_one_clear_line(path: Path, seed: int) -> None:
    fill(path, messages=60)
    noise = random.Random(seed)
    size = path.stat().st_size
    with path.open("r+b") as file:
        if seed % 3 == 0:
            file.truncate(noise.randrange(PAGE, size))
        else:
            for _ in range(noise.randrange(1, 6)):
                file.seek(noise.randrange(100, size - 64))
                file.write(noise.randbytes(64))
    before = path.read_bytes()
    try:
        database = open_database(path)
    except StoreError as error:
        assert "\n" not in str(error)  # noqa: PT017
        assert path.read_bytes() == before
        return
    if database.notices:
        [aside] = path.parent.glob("swecli.db.damaged-*")
        assert aside.read_bytes() == before
    manager = SessionManager(database)
    manager.start("/q", "scripted/test")
    manager.begin_interaction("it goes on")
    assert SessionManager(database).resume(None, "/q").messages[0].content == "it goes on"
    database.close()


@needs_dbstat
def test_damage_met_in_use_is_looked_for_at_the_next_start(path: Path) -> None:
    fill(path)
    page = table_pages(path, "message")[5]
    scribble(path, range(page - 1, page))
    with path.open("r+b") as file:
        file.truncate(70 * 2**20)  # too large to be checked each time
    database = open_database(path)
    assert database.notices == []
    with pytest.raises(DamagedDatabase, match="damaged") as caught:
        SessionManager(database).resume(None, "/p", window_hint=100)
    assert "Start again" in caught.value.hint
    database.close()
    again = open_database(path)
    assert "was damaged" in again.notices[0]
    again.close()
    assert not Path(f"{path}-suspect").exists()


@needs_dbstat
@pytest.mark.slow
def test_a_damaged_database_that_another_process_has_open_is_left_alone(path: Path) -> None:
    fill(path)
    code = (
        "import sys; from swecli.store.sqlite.database import open_database\n"
        f"database = open_database({str(path)!r}); print('open', flush=True); sys.stdin.read()"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    other = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    assert other.stdout
    assert other.stdout.readline() == "open\n"
    page = table_pages(path, "message")[5]
    scribble(path, range(page - 1, page))
    with pytest.raises(DamagedDatabase, match="another program has it open"):
        open_database(path)
    assert not list(path.parent.glob("swecli.db.damaged-*"))
    other.communicate("")
    open_database(path).close()
    assert list(path.parent.glob("swecli.db.damaged-*"))
