"""Test commands that read a missing, empty, foreign or read-only database: an error names it, and none is created."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.migrations import newest_format
from tests.store.test_session_manager import turn
from tests.support.databases import open_database
from tests.support.shell import CompletedRun, Run, swecli

READING = [
    ("sessions", "list"),
    ("sessions", "search", "x"),
    ("sessions", "show", "x"),
    ("sessions", "export", "x"),
    ("playbook", "list"),
    ("findings", "list"),
    ("context", "show"),
    ("db", "check"),
]


def make_database(path: Path) -> str:
    manager = SessionManager(open_database(path))
    session = manager.start(str(Path.cwd()), "demo", title="prices")
    turn(manager, "what of the prices?")
    manager.database.close()
    return session.id


@pytest.mark.parametrize("command", READING)
def test_reading_a_missing_named_database_is_an_error_and_does_not_create_it(
    run: Run, command: tuple[str, ...]
) -> None:
    outcome = run(*command, "--db", "none.db")
    assert outcome.code == 42
    assert f"There is no database {Path.cwd() / 'none.db'}." in outcome.complaint
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize("command", READING)
def test_reading_reports_a_missing_default_database_and_does_not_create_it(
    run: Run, command: tuple[str, ...]
) -> None:
    outcome = run(*command)
    assert f"There is no database {Path(os.environ['SWECLI_HOME'], 'swecli.db')} yet" in outcome.err
    assert not Path(os.environ["SWECLI_HOME"], "swecli.db").exists()


@pytest.mark.parametrize("command", READING)
def test_an_empty_database_file_is_refused_and_not_changed(
    run: Run, command: tuple[str, ...]
) -> None:
    Path("empty.db").touch()
    outcome = run(*command, "--db", "empty.db")
    assert outcome.code == 1
    assert "is empty (0 bytes): its contents are gone" in outcome.complaint
    assert Path("empty.db").stat().st_size == 0


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize(
    ("kind", "code", "line"),
    [
        ("folder", 42, "is a folder."),
        ("text", 1, "is not a database."),
        ("one byte", 1, "is not a database."),
        ("99 bytes", 1, "is not a database."),
        ("foreign", 1, "belongs to another program."),
        ("newer", 1, "was made by a newer swecli"),
    ],
)
def test_an_unusable_database_is_refused_with_the_reason(
    run: Run, command: tuple[str, ...], kind: str, code: int, line: str
) -> None:
    path = Path("odd.db")
    if kind == "folder":
        path.mkdir()
    elif kind == "text":
        path.write_text("no database " * 100)
    elif kind.endswith(("byte", "bytes")):
        path.write_bytes(b"S" if kind == "one byte" else b"SQLite format 3".ljust(99, b"\0"))
    else:
        if kind == "newer":
            open_database(path).close()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE theirs (x)")
            if kind == "newer":
                connection.execute(f"PRAGMA user_version = {newest_format() + 1}")
            connection.commit()
    outcome = run(*command, "--db", str(path))
    assert (outcome.code, line in outcome.complaint) == (code, True), outcome.err


def test_a_trigger_in_the_database_that_copies_messages_does_not_run(run: Run) -> None:
    path = Path("mine.db")
    make_database(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (text)")
        connection.execute(
            "CREATE TRIGGER spy AFTER INSERT ON message BEGIN INSERT INTO theirs VALUES (new.content); END"
        )
    outcome = run("-p", "my secret", "-m", "demo", "--db", str(path))
    assert (outcome.code, outcome.out) == (1, "")
    assert "holds a trigger that swecli did not make: 'spy'" in outcome.complaint
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT * FROM theirs").fetchall() == []


@pytest.mark.parametrize(
    "name", ["mine.db", "sqlite:///mine.db", "sqlite:///{here}/mine.db", "{here}/mine.db"]
)
def test_relative_db_and_config_paths_are_resolved_before_the_directory_changes(
    run: Run, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Path.cwd()
    monkeypatch.chdir(here)  # Make monkeypatch restore the directory afterwards.
    Path("work").mkdir()
    session = make_database(Path("mine.db"))
    Path("mine.toml").write_text("")
    named = ("--db", name.format(here=here), "--config", "mine.toml", "-C", "work")
    assert session in run("sessions", "list", *named).out
    assert list(Path(here, "work").iterdir()) == []


# Drop the capabilities with which root ignores file permissions.
WITHOUT_RIGHTS = (
    "setpriv",
    "--bounding-set=-dac_override,-dac_read_search,-fowner",
    "--inh-caps=-all",
)


@pytest.fixture
def locked_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder whose permissions are restored after the test; `run_without_write_access` makes it read-only."""
    folder = tmp_path / "shut"
    folder.mkdir()
    yield folder
    folder.chmod(0o755)


def run_without_write_access(folder: Path, *arguments: str) -> CompletedRun:
    """Run swecli as a user who may read the folder and its files but not write them."""
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    root = os.geteuid() == 0
    if root and not shutil.which("setpriv"):
        pytest.skip("root can write everywhere, and there is no setpriv to change that")
    return swecli(*arguments, before=WITHOUT_RIGHTS if root else ())


# Mount a disk of two megabytes in its own mount namespace, copy the database to it and fill the rest.
ON_A_FULL_DISK = """
set -e; copy="$1"; disk="$2"; shift 2
mount -t tmpfs -o size=2m none "$disk"
cp "$copy" "$disk/swecli.db"
dd if=/dev/zero of="$disk/fill" bs=4k 2>/dev/null || true
exec "$@"
"""


@pytest.mark.slow
def test_a_full_disk_is_reported_with_the_database_path(tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("a disk of one's own cannot be mounted here")
    disk = tmp_path / "disk"
    disk.mkdir()
    make_database(tmp_path / "copy.db")
    there = (
        "unshare",
        "-m",
        "sh",
        "-c",
        ON_A_FULL_DISK,
        "sh",
        str(tmp_path / "copy.db"),
        str(disk),
    )
    listed = swecli("sessions", "list", "--db", f"{disk}/swecli.db", before=there)
    assert (listed.code, f"No space is left to write {disk}/swecli.db." in listed.complaint) == (
        1,
        True,
    ), listed.err
    asked = swecli("-p", "and now?", "-m", "demo", "--db", f"{disk}/swecli.db", before=there)
    assert (asked.code, asked.out) == (1, "")
    assert f"No space is left to write {disk}/swecli.db." in asked.complaint


def file_contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


@pytest.mark.slow
def test_a_database_in_a_read_only_folder_can_be_listed_shown_and_searched(
    locked_folder: Path,
) -> None:
    path = locked_folder / "swecli.db"
    session = make_database(path)
    was = file_contents(path)
    for command in [
        ("sessions", "list"),
        ("sessions", "show", session),
        ("sessions", "search", "prices"),
        ("sessions", "export", session),
        ("sql", "SELECT title FROM sessions"),
    ]:
        outcome = run_without_write_access(locked_folder, *command, "--db", str(path))
        assert (outcome.code, "prices" in outcome.out, outcome.err) == (0, True, ""), outcome
    assert file_contents(path) == was


@pytest.mark.slow
def test_a_database_in_a_read_only_folder_is_not_written(locked_folder: Path) -> None:
    path = locked_folder / "swecli.db"
    session = make_database(path)
    was = file_contents(path)
    for command in [("sessions", "rename", session, "costs"), ("-p", "and now?", "-m", "demo")]:
        refused = run_without_write_access(locked_folder, *command, "--db", str(path))
        assert (refused.code, refused.out) == (1, "")
        assert f"The database {path} cannot be written." in refused.complaint
    assert file_contents(path) == was


@pytest.mark.slow
def test_a_read_only_database_with_a_journal_is_refused(locked_folder: Path) -> None:
    path = locked_folder / "swecli.db"
    make_database(path)
    Path(f"{path}-wal").write_bytes(b"\x37\x7f\x06\x82".ljust(5_000, b"\0"))
    refused = run_without_write_access(locked_folder, "sessions", "list", "--db", str(path))
    assert refused.code == 1
    assert f"its last changes are in {path}-wal" in refused.complaint


@pytest.mark.slow
def test_a_read_only_database_of_an_older_version_is_refused(locked_folder: Path) -> None:
    path = locked_folder / "swecli.db"
    make_database(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {newest_format() - 1}")
    refused = run_without_write_access(locked_folder, "sessions", "list", "--db", str(path))
    assert (refused.code, "cannot be upgraded where it is" in refused.complaint) == (1, True)


# Mount a disk in its own mount namespace, copy the database to it, and make it read-only.
ON_A_READ_ONLY_DISK = """
set -e; copy="$1"; disk="$2"; shift 2
mount -t tmpfs none "$disk"
cp "$copy" "$disk/swecli.db"
mount -o remount,ro "$disk"
exec "$@"
"""


@pytest.mark.slow
def test_a_database_on_a_read_only_disk_can_be_listed(tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("a disk of one's own cannot be mounted here")
    disk, copy = tmp_path / "disk", tmp_path / "copy.db"
    disk.mkdir()
    session = make_database(copy)
    there = ("unshare", "-m", "sh", "-c", ON_A_READ_ONLY_DISK, "sh", str(copy), str(disk))
    listed = swecli("sessions", "list", "--db", f"{disk}/swecli.db", before=there)
    assert (listed.code, session in listed.out, listed.err) == (0, True, "")
