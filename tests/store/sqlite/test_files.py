"""Test the database's file: its path, its permissions, the lock of its writer, and errors of SQLite in one line."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from swecli.models.errors import BadInput, DamagedDatabase, StoreError
from swecli.store.sqlite import files
from swecli.store.sqlite.files import locate, new_file, spare_name
from tests.support.databases import open_database


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_new_files_and_folders_are_accessible_only_to_the_user(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        open_database(tmp_path / "a" / "b" / "db").close()
    finally:
        os.umask(old)
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700
    assert mode(tmp_path / "a" / "b" / "db") == 0o600


def test_creating_a_file_that_exists_is_an_error(tmp_path: Path) -> None:
    new_file(tmp_path / "x")
    with pytest.raises(FileExistsError):
        new_file(tmp_path / "x")


def test_spare_names_are_unused(tmp_path: Path) -> None:
    names = set()
    for _ in range(3):
        name = spare_name(tmp_path / "swecli.db", "backup")
        name.touch()
        names.add(name.name)
    assert len(names) == 3
    assert all(name.startswith("swecli.db.backup-2") for name in names)


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


def test_only_one_writer_holds_the_lock(tmp_path: Path) -> None:
    order: list[str] = []

    def write() -> None:
        with files.write_lock(tmp_path / "db"):
            order.append("second")

    with files.write_lock(tmp_path / "db"):
        thread = threading.Thread(target=write)
        thread.start()
        thread.join(0.05)
        with pytest.raises(StoreError, match="in use"), files.write_lock(tmp_path / "db", 0.01):
            pass
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def failure(code: int) -> OperationalError:
    origin = sqlite3.OperationalError("as the\nlibrary says it")
    origin.sqlite_errorcode = code
    return OperationalError("SELECT", {}, origin)


@pytest.mark.parametrize(
    "code",
    [
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_BUSY,
        9999,
        0,
    ],
)
def test_sqlite_errors_are_reported_in_one_line(code: int) -> None:
    error = files.to_store_error(failure(code), Path("/some{path}/db"))
    assert type(error) is StoreError
    assert "\n" not in error.message
    assert error.message.endswith((".", "as the library says it"))


def test_corruption_has_its_own_exception() -> None:
    assert isinstance(
        files.to_store_error(failure(sqlite3.SQLITE_CORRUPT_INDEX), None), DamagedDatabase
    )
    assert not isinstance(files.to_store_error(failure(sqlite3.SQLITE_FULL), None), DamagedDatabase)
