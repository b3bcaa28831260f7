"""Test the database: opening, transactions, copies, processes that share it, and failures of the disk or the file."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from swecli.models.errors import BadInput, DamagedDatabase, StoreError
from swecli.models.message import Role
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite import files
from swecli.store.sqlite.database import Database
from swecli.store.sqlite.migrations import newest_format
from swecli.store.tables.playbook import BulletRow
from tests.store.test_session_manager import turn
from tests.support.databases import open_database

ROOT = Path(__file__).parents[3]
PRAGMAS = {"synchronous": 2, "foreign_keys": 1, "journal_mode": "wal", "busy_timeout": 10_000}


def test_a_connection_has_durable_commits_and_foreign_keys(database: Database) -> None:
    with database.reading() as db:
        asked = {
            name: db.connection().exec_driver_sql(f"PRAGMA {name}").scalar() for name in PRAGMAS
        }
    assert asked == PRAGMAS


def test_the_file_has_application_id_and_schema_version(database: Database, path: Path) -> None:
    other = sqlite3.connect(path)
    assert other.execute("PRAGMA application_id").fetchone() == (files.APPLICATION_ID,)
    assert other.execute("PRAGMA user_version").fetchone() == (newest_format(),)
    other.close()


def count_bullets(database: Database) -> int:
    with database.reading() as db:
        return int(db.connection().exec_driver_sql("SELECT count(*) FROM bullet").scalar_one())


def test_only_the_user_can_access_a_new_database_and_its_side_files(
    database: Database, path: Path
) -> None:
    with database.transaction() as db:
        db.add(BulletRow(content="x"))
    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert {"swecli.db", "swecli.db-wal", "swecli.db-shm"} <= set(modes)
    assert set(modes.values()) == {0o600}


def test_an_existing_database_is_made_private_again(database: Database, path: Path) -> None:
    database.close()
    path.chmod(0o666)
    open_database(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_transaction_that_raises_is_rolled_back(database: Database) -> None:
    def fail() -> None:
        with database.transaction() as db:
            db.add(BulletRow(content="x"))
            db.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert count_bullets(database) == 0
    with database.transaction() as db:
        db.add(BulletRow(content="y"))
    assert count_bullets(database) == 1


def test_nested_transactions_are_refused(database: Database) -> None:
    with database.transaction(), pytest.raises(RuntimeError), database.transaction():
        pass
    assert count_bullets(database) == 0


def test_a_database_can_be_used_in_another_thread_than_it_was_opened_in(path: Path) -> None:
    opened: list[Database] = []
    thread = threading.Thread(target=lambda: opened.append(open_database(path)))
    thread.start()
    thread.join()
    with opened[0].transaction() as db:
        db.add(BulletRow(content="x"))
    assert count_bullets(opened[0]) == 1
    opened[0].close()


def test_concurrent_threads_can_write(database: Database) -> None:
    def add() -> None:
        for _ in range(20):
            with database.transaction() as db:
                db.add(BulletRow(content="x"))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count_bullets(database) == 80


def test_using_a_closed_database_is_an_error(database: Database) -> None:
    database.close()
    database.close()
    with pytest.raises(StoreError, match="closed"), database.transaction():
        pass


def test_closing_removes_the_write_ahead_log(path: Path) -> None:
    database = open_database(path)
    with database.transaction() as db:
        db.add(BulletRow(content="x"))
    database.close()
    assert not Path(f"{path}-wal").exists()


def test_a_folder_is_refused_as_a_database(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="folder"):
        open_database(tmp_path)


def test_a_path_below_a_file_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError) as caught:
        open_database(tmp_path / "file" / "db")
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_an_empty_file_becomes_a_database(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    open_database(path).close()
    assert path.stat().st_size > 0


def test_a_text_file_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes\n" * 100)
    path.chmod(0o644)
    with pytest.raises(DamagedDatabase, match="not a database"):
        open_database(path)
    assert path.read_text() == "these are my notes\n" * 100
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["notes.txt"]
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_file_is_usable_or_reported_in_one_line(
    manager: SessionManager, path: Path, seed: int
) -> None:
    manager.start("/p", "scripted/test")
    for number in range(20):
        manager.begin_interaction(f"message {number} " * 40)
    manager.database.close()
    noise = random.Random(seed)
    size = path.stat().st_size
    with path.open("r+b") as file:
        if seed % 3 == 0:
            file.truncate(noise.randrange(4096, size))
        for _ in range(seed % 3 * 2):
            file.seek(noise.randrange(100, size - 64))
            file.write(noise.randbytes(64))
    before = path.read_bytes()
    try:
        again = SessionManager(open_database(path))
        again.start("/q", "scripted/test")
        again.begin_interaction("it goes on")
        assert again.resume(None, "/q").messages[0].content == "it goes on"
        again.database.close()
    except StoreError as error:
        assert "\n" not in str(error)  # noqa: PT017
        assert error.hint  # noqa: PT017
        assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "places.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE bookmark (url TEXT)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(DamagedDatabase, match="another program"):
        open_database(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["places.db"]


def test_a_newer_database_is_refused_and_not_changed(database: Database, path: Path) -> None:
    database.close()
    other = sqlite3.connect(path)
    other.execute("PRAGMA user_version = 99")
    other.close()
    with pytest.raises(StoreError, match="newer swecli") as caught:
        open_database(path)
    assert "Update" in caught.value.hint
    other = sqlite3.connect(path)
    assert other.execute("PRAGMA user_version").fetchone() == (99,)
    other.close()


def test_a_full_disk_is_reported_in_one_line_and_loses_nothing(manager: SessionManager) -> None:
    manager.start("/p", "scripted/test")
    manager.begin_interaction("kept")
    with manager.database.reading() as db:
        pages = db.connection().exec_driver_sql("PRAGMA page_count").scalar_one()
        db.connection().exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="No space") as caught:
        manager.begin_interaction("x" * 1_000_000)
    assert "\n" not in str(caught.value)
    session = manager.current_session
    assert session
    assert [message.content for message in session.messages] == ["kept"]
    assert session.interactions == 1
    assert manager.resume(None, "/p").to_api_messages() == [{"role": "user", "content": "kept"}]


def test_writing_a_read_only_database_is_an_error(manager: SessionManager) -> None:
    manager.start("/p", "scripted/test")
    with manager.database.reading() as db:
        db.connection().exec_driver_sql("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match="cannot be written"):
        manager.begin_interaction("hello")


def test_a_writer_times_out_while_another_process_writes(database: Database, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with database.reading() as db:
        db.connection().exec_driver_sql("PRAGMA busy_timeout = 20")
        assert bullets_in(db) == 0  # Readers do not wait for writers.
    with pytest.raises(StoreError, match="in use"), database.transaction() as db:
        db.add(BulletRow(content="x"))
    other.execute("COMMIT")
    with database.transaction() as db:
        db.add(BulletRow(content="x"))
    other.close()


def bullets_in(db: object) -> int:
    return int(db.connection().exec_driver_sql("SELECT count(*) FROM bullet").scalar_one())  # type: ignore[attr-defined]


def test_databases_in_memory_are_separate() -> None:
    first, second = open_database(":memory:"), open_database("sqlite://")
    with first.transaction() as db:
        db.add(BulletRow(content="x"))
    assert (count_bullets(first), count_bullets(second)) == (1, 0)
    assert first.path is None
    first.close()
    second.close()


def ask(manager: SessionManager, query: str) -> None:
    if manager.current_session is None:
        manager.start("/p", "scripted/test")
    manager.begin_interaction(query)


def test_a_backup_is_one_complete_private_file(manager: SessionManager, path: Path) -> None:
    ask(manager, "hello")
    copy = manager.database.backup()
    assert copy.parent == path.parent
    assert copy.name.startswith("swecli.db.backup-")
    assert copy.stat().st_mode & 0o777 == 0o600
    assert not Path(f"{copy}-wal").exists()
    ask(manager, "later")
    other = SessionManager(open_database(copy))
    assert [message.content for message in other.resume(None, "/p").messages] == ["hello"]
    other.database.close()


def test_a_backup_is_written_to_the_given_file_or_folder(
    manager: SessionManager, tmp_path: Path
) -> None:
    ask(manager, "hello")
    assert manager.database.backup(tmp_path / "here.db") == tmp_path / "here.db"
    assert manager.database.backup(tmp_path).parent == tmp_path


def test_a_backup_does_not_overwrite_a_file(manager: SessionManager, tmp_path: Path) -> None:
    (tmp_path / "here.db").write_text("mine")
    with pytest.raises(BadInput, match="already"):
        manager.database.backup(tmp_path / "here.db")
    assert (tmp_path / "here.db").read_text() == "mine"


def test_a_backup_that_cannot_be_written_leaves_no_file(
    manager: SessionManager, tmp_path: Path
) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        manager.database.backup(tmp_path / "no" / "such" / "folder.db")
    assert not (tmp_path / "no").exists()


def test_a_database_in_memory_can_be_backed_up_only_to_a_given_path(
    memory: Database, tmp_path: Path
) -> None:
    with pytest.raises(BadInput):
        memory.backup()
    assert memory.backup(tmp_path / "copy.db").exists()


# Prints each acknowledged write after its call returned: "query N", "answer N", "result N".
WRITER = """
import sys
from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.store.sqlite.database import open_database
from swecli.store.session_manager import SessionManager

manager = SessionManager(open_database(sys.argv[1]))
session = manager.start("/p", "scripted/test", title=sys.argv[2])
for number in range(1, int(sys.argv[3]) + 1):
    manager.begin_interaction(f"query {number} " + "x" * 3000)
    print("query", number, flush=True)
    call = ToolCall(f"c{number}", "run_command", {"n": number})
    manager.append(ChatMessage(Role.ASSISTANT, f"answer {number}", [call]))
    print("answer", number, flush=True)
    call.result = f"result {number}"
    manager.record_call(call, "full " * 4000)
    print("result", number, flush=True)
    manager.finish_interaction("done")
manager.database.close()
"""


def start_writer(path: Path, title: str, turns: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", WRITER, str(path), title, str(turns)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.slow
def test_a_killed_process_loses_no_acknowledged_write(path: Path) -> None:
    moment = random.Random(3)
    for number in range(6):
        with start_writer(path, f"run {number}", 100_000) as process:
            assert process.stdout
            lines = [process.stdout.readline() for _ in range(moment.randrange(1, 60))]
            time.sleep(moment.random() / 50)
            process.kill()
            lines += process.stdout.readlines()
        acknowledged = [line.split() for line in lines if line.endswith("\n")]

        manager = SessionManager(open_database(path))
        assert manager.database.notices == []
        assert manager.database.check() == []
        session = manager.resume(f"run {number}", "/p", window_hint=1_000_000)
        stored = {(message.role, message.interaction) for message in session.messages}
        for kind, interaction in acknowledged:
            if kind == "result":
                assert manager.read_result(f"c{interaction}") == "full " * 4000
            else:
                assert (
                    Role.USER if kind == "query" else Role.ASSISTANT,
                    int(interaction),
                ) in stored
        assert session.interactions == len(session.group_by_interaction())
        last = manager.turns.turn(manager.session.id, session.interactions)
        assert last
        assert last.status in ("interrupted", "done")
        assert manager.begin_interaction("on we go").interaction == session.interactions
        manager.database.close()


@pytest.mark.slow
def test_concurrent_processes_lose_no_write(path: Path) -> None:
    processes = [start_writer(path, f"writer {number}", 40) for number in range(4)]
    for process in processes:
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        assert len(output.splitlines()) == 120
    manager = SessionManager(open_database(path))
    assert manager.database.check() == []
    assert [info.messages for info in manager.catalog.list_sessions()] == [80] * 4
    assert {len(manager.resume(f"writer {n}", "/p", 1000).messages) for n in range(4)} == {80}
    manager.database.close()


def stored_texts(path: Path) -> list[str]:
    """Reopen the database and return the message texts of its newest session."""
    manager = SessionManager(open_database(path))
    try:
        assert manager.database.check() == []
        return [message.content for message in manager.resume(None, "/p").messages]
    finally:
        manager.database.close()


@pytest.mark.parametrize("what", ["deleted", "moved", "replaced"])
def test_turns_fail_after_the_database_file_was_deleted_moved_or_replaced(
    manager: SessionManager, what: str
) -> None:
    path = manager.database.path
    assert path
    manager.start("/p", "demo")
    turn(manager, "before")
    aside = path.with_name("aside.db")
    path.rename(aside)
    if what == "replaced":
        path.write_bytes(aside.read_bytes())
    for _ in range(2):
        with pytest.raises(StoreError, match="was deleted, moved or replaced while swecli ran"):
            manager.begin_interaction("after")
    assert manager.current_session
    assert [message.content for message in manager.current_session.messages] == ["before", "done"]
    if what == "moved":
        aside.rename(path)
        turn(manager, "later")
        assert stored_texts(path) == ["before", "done", "later", "done"]


def test_the_journal_of_a_lost_database_is_not_used_for_a_new_one(path: Path) -> None:
    manager = SessionManager(open_database(path))
    manager.start("/p", "demo")
    turn(manager, "before")
    shutil.copy(f"{path}-wal", f"{path}.copy")  # as after kill -9
    manager.database.close()
    aside = path.rename(f"{path}.aside")
    shutil.copy(f"{path}.copy", f"{path}-wal")
    for empty in (False, True):
        if empty:
            path.touch()
        with pytest.raises(
            DamagedDatabase, match=r"is empty \(0 bytes\)" if empty else "is gone"
        ) as caught:
            open_database(path)
        assert f"{path}-wal" in caught.value.hint
    assert Path(f"{path}-wal").read_bytes() == Path(f"{path}.copy").read_bytes()
    aside.replace(path)
    assert stored_texts(path) == ["before", "done"]


def test_an_empty_old_file_is_reported_and_a_new_one_is_not(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    open_database(path).close()
    other = path.with_name("old.db")
    other.touch()
    os.utime(other, (1, 1))
    database = open_database(other)
    assert "was empty (0 bytes)" in database.notices[0]
    database.close()


OPENING = """
import sys
from swecli.store.sqlite.database import open_database
print(*open_database(sys.argv[1]).notices)
"""


@pytest.mark.slow
def test_concurrent_processes_create_one_database_without_notices(path: Path) -> None:
    command = [sys.executable, "-c", OPENING, str(path)]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    started = [
        subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    assert [(process.communicate()[0].strip(), process.returncode) for process in started] == [
        ("", 0)
    ] * 4
