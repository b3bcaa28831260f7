"""Test opening a database, transactions, and failures of the disk or the file."""

from __future__ import annotations

import random
import sqlite3
import threading
from pathlib import Path

import pytest

from swecli.models.errors import BadInput, DamagedDatabase, StoreError
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import Database
from swecli.store.sqlite.files import locate
from swecli.store.tables.playbook import BulletRow
from tests.support.databases import open_database


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


@pytest.mark.parametrize(
    ("location", "file"),
    [
        ("/x/y.db", Path("/x/y.db")),
        (Path("/x/y?z.db"), Path("/x/y?z.db")),
        ("sqlite:////x/y.db", Path("/x/y.db")),
        (":memory:", None),
        ("sqlite://", None),
        ("sqlite:///:memory:", None),
    ],
)
def test_paths_and_urls_are_valid_locations(location: str | Path, file: Path | None) -> None:
    assert locate(location) == file


def test_relative_locations_are_resolved_against_the_working_directory() -> None:
    assert locate("y.db") == locate("sqlite:///y.db") == Path.cwd() / "y.db"
    assert locate("~/y.db") == Path.home() / "y.db"


@pytest.mark.parametrize(
    "location", ["", "  ", "postgresql://user:secret@host/db", "://", "nonsense://x"]
)
def test_invalid_locations_are_refused(location: str) -> None:
    with pytest.raises(BadInput) as caught:
        open_database(location)
    assert "secret" not in str(caught.value)


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
    noise, size = random.Random(seed), path.stat().st_size
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
