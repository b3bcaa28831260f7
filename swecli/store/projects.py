"""The keys of projects: which folder has which, what lies under one, and moving it to another."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from swecli.config.whereabouts import Whereabouts, inode_of
from swecli.models.project import KeyBasis, LeftMemory, ProjectFolder
from swecli.store.journal.reader import Reader
from swecli.store.journal.tables import PROJECT_FOLDER
from swecli.store.journal.values import folder_key, read_json, read_moment, to_json
from swecli.store.sqlite.database import Database

_FIELDS = PROJECT_FOLDER.fields
_KEYED_TABLES = ("bullet", "check_result", "delta", "finding", "review", "session")
_SNAPSHOTS = ("before", "kept")  # of a delta: bullets as JSON, with their project
_FIGURES = "consolidated:"  # and the key: a figure of learning about a project
_IS_KEPT = "scope = 'project' AND state != 'deleted'"
_IN_FOLDER = (
    "project = :project"
    " AND (directory = :root OR substr(directory, 1, length(:root) + 1) = :root || '/')"
)
_LAST_USE = f"SELECT max(updated_at) FROM session WHERE {_IN_FOLDER}"
_COUNTS = (
    f"SELECT project, count(*) AS strategies, 0 AS findings, 0 AS sessions, NULL AS used_at FROM bullet"
    f" WHERE {_IS_KEPT} GROUP BY project"
    " UNION ALL SELECT project, 0, count(*), 0, NULL FROM finding GROUP BY project"
    " UNION ALL SELECT project, 0, 0, count(*), max(updated_at) FROM session"
    " WHERE subfolder IS NOT NULL GROUP BY project"
)
_HOLDINGS = (
    "SELECT project, sum(strategies), sum(findings), sum(sessions), max(used_at)"
    f" FROM ({_COUNTS}) WHERE project != '' GROUP BY project"
)


class ProjectStore:
    """The keys of projects in a database. Each method may raise StoreError; then nothing has changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def recorded(self, whereabouts: Whereabouts) -> list[ProjectFolder]:
        """Return the records of a folder, and those of folders with its number on the disk, the newest first."""
        source = "project_folder WHERE folder IN (:holder, :root, :git) OR inode = :inode"
        places = {
            "holder": folder_key(str(whereabouts.holder)),
            "root": folder_key(str(whereabouts.root)),
            "git": folder_key(str(whereabouts.root / ".git")),
            "inode": whereabouts.inode,
        }
        with self._database.read() as db:
            rows = Reader(db).select(
                PROJECT_FOLDER, _FIELDS, f"{source} ORDER BY seen_at DESC", places
            )
            return [ProjectFolder(**row) for row in rows]

    def last_use(self, record: ProjectFolder, root: Path) -> datetime:
        """Return when a project was used last in this folder: its newest session there, else when its key was found."""
        parameters = {"project": record.project, "root": folder_key(str(root))}
        with self._database.read() as db:
            (last_use,) = db.execute(_LAST_USE, parameters).fetchone()
        return record.seen_at if last_use is None else max(record.seen_at, read_moment(last_use))

    def unrecorded(self, keys: Iterable[str]) -> list[str]:
        """Return those of these keys under which something lies though no folder was recorded for them: it is from
        before there were records, or from a run that still had the key when another one found a better one."""
        with self._database.read() as db:
            return [key for key in keys if not _is_recorded(db, key) and _holds_rows(db, key)]

    def free_key(self, path: str) -> str:
        """Return the path of a folder as a key that nothing else has: the path, else with a number."""
        own_key = folder_key(path)
        key = own_key
        number = 1
        with self._database.read() as db:
            while self._is_taken(db, key, own_key):
                number += 1
                key = f"{own_key} ({number})"
        return key

    @staticmethod
    def _is_taken(db: sqlite3.Connection, key: str, folder: str) -> bool:
        """Return whether another folder has a key, or one that was at this path left something under it."""
        others = [record for record in _records_of(db, key) if record.folder != folder]
        return bool(others) or (_is_recorded(db, key) and _holds_rows(db, key))

    def record(
        self,
        record: ProjectFolder,
        *,
        replaces: Sequence[ProjectFolder] = (),
        takes: Sequence[str] = (),
    ) -> None:
        """Store whose a folder is, in place of the records that it `replaces`, and move to its project what lies under
        the keys that it `takes`."""
        with self._database.write() as db:
            for old in replaces:
                place = "DELETE FROM project_folder WHERE project = ? AND folder = ?"
                db.execute(place, (old.project, old.folder))
            PROJECT_FOLDER.replace(db, asdict(record))
            for key in takes:
                _move(db, key, record.project)

    def move(self, old: str, new: str) -> None:
        """Move what lies under a key to another one."""
        with self._database.write() as db:
            _move(db, old, new)

    def choose(
        self,
        whereabouts: Whereabouts,
        key: str,
        *,
        takes: Sequence[str] = (),
        sessions_of: str = "",
    ) -> None:
        """Store that the user named the project of a folder, and move to it what lies under the keys that it `takes`,
        or only the sessions of the project `sessions_of` that worked in the folder."""
        folder = folder_key(str(whereabouts.holder))
        present_records = [
            record for record in self.recorded(whereabouts) if record.folder == folder
        ]
        first_commit = next(
            (record.first_commit for record in present_records if record.first_commit), ""
        )
        self.record(
            make_record(whereabouts, key, KeyBasis.CHOSEN, first_commit),
            replaces=present_records,
            takes=takes,
        )
        if sessions_of:
            root = folder_key(str(whereabouts.root))
            parameters = {"new": key, "project": sessions_of, "root": root}
            with self._database.write() as db:
                db.execute(f"UPDATE session SET project = :new WHERE {_IN_FOLDER}", parameters)

    def holdings(self, key: str) -> LeftMemory:
        """Return what lies under a key."""
        return next(
            (memory for memory in self.all_holdings() if memory.project == key),
            LeftMemory(key, "", 0, 0, 0, None),
        )

    def left_memories(self) -> list[LeftMemory]:
        """Return what lies under keys that no folder here has, the one used last first."""
        left_memories = [
            memory for memory in self.all_holdings() if not self.folders_of(memory.project)
        ]
        earliest = datetime.min.replace(tzinfo=UTC)
        return sorted(left_memories, key=lambda memory: memory.used_at or earliest, reverse=True)

    def folders_of(self, key: str) -> list[str]:
        """Return the folders that have a key and are there: a git folder, or a folder without git."""
        with self._database.read() as db:
            rows = list(_records_of(db, key))
        present = [row.folder for row in rows if inode_of(Path(row.folder)) == row.inode]
        if rows or not key.startswith("/"):
            return present
        # from before there were records: the key is the path of a folder, which moves when it is opened
        return [key] if inode_of(Path(key)) else []

    def is_made_of_commit(self, key: str) -> bool:
        """Return whether a key was made of a first commit, so that clones have it too."""
        with self._database.read() as db:
            return any(record.basis is KeyBasis.COMMIT for record in _records_of(db, key))

    def all_holdings(self) -> list[LeftMemory]:
        """Return what lies under each key."""
        with self._database.read() as db:
            rows = db.execute(_HOLDINGS).fetchall()
            folders = {
                key: next((record.folder for record in _records_of(db, key)), "")
                for key, *_ in rows
            }
        return [
            LeftMemory(
                key,
                (folders[key] or (key if key.startswith("/") else "")).removesuffix("/.git"),
                strategies,
                findings,
                sessions,
                None if used_at is None else read_moment(used_at),
            )
            for key, strategies, findings, sessions, used_at in rows
        ]


def make_record(
    whereabouts: Whereabouts, key: str, basis: KeyBasis, first_commit: str = ""
) -> ProjectFolder:
    """Return the record of a folder whose key was found now."""
    return ProjectFolder(
        key,
        folder_key(str(whereabouts.holder)),
        whereabouts.inode,
        basis,
        first_commit,
        datetime.now(UTC),
    )


def _records_of(db: sqlite3.Connection, key: str) -> list[ProjectFolder]:
    source = "project_folder WHERE project = ? ORDER BY seen_at DESC"
    return [
        ProjectFolder(**row) for row in Reader(db).select(PROJECT_FOLDER, _FIELDS, source, (key,))
    ]


def _is_recorded(db: sqlite3.Connection, key: str) -> bool:
    question = "SELECT EXISTS (SELECT 1 FROM project_folder WHERE project = ?)"
    return bool(db.execute(question, (key,)).fetchone()[0])


def _holds_rows(db: sqlite3.Connection, key: str) -> bool:
    return any(
        db.execute(f"SELECT EXISTS (SELECT 1 FROM {table} WHERE project = ?)", (key,)).fetchone()[0]
        for table in _KEYED_TABLES
    )


def _move(db: sqlite3.Connection, old: str, new: str) -> None:
    """Move all rows of a project. A finding that both have becomes that of the new key, with the history of both."""
    keys = {"old": old, "new": new}
    for table in ("review_finding", "finding_change"):
        db.execute(
            f"UPDATE {table} SET finding = (SELECT twin.number FROM finding AS own JOIN finding AS twin"
            f" ON twin.fingerprint = own.fingerprint AND twin.project = :new WHERE own.number = {table}.finding)"
            " WHERE finding IN (SELECT own.number FROM finding AS own JOIN finding AS twin"
            " ON twin.fingerprint = own.fingerprint AND twin.project = :new WHERE own.project = :old)",
            keys,
        )
    db.execute(
        "DELETE FROM finding WHERE project = :old"
        " AND fingerprint IN (SELECT fingerprint FROM finding WHERE project = :new)",
        keys,
    )
    db.execute(
        "UPDATE OR IGNORE delta SET id = replace(id, :old, :new)"
        " WHERE project = :old AND id LIKE 'review:%:dismissed:%'",
        keys,
    )
    _rename_in_snapshots(db, old, new)
    for table in _KEYED_TABLES:
        db.execute(f"UPDATE {table} SET project = :new WHERE project = :old", keys)
    db.execute(
        "UPDATE OR IGNORE playbook_learned SET name = ? WHERE name = ?",
        (_FIGURES + new, _FIGURES + old),
    )


def _rename_in_snapshots(db: sqlite3.Connection, old: str, new: str) -> None:
    """Rename a project in what undo and redo restore. Another one may have changed bullets of it that are for all."""
    names = ", ".join(f'"{name}"' for name in _SNAPSHOTS)
    question = f"SELECT number, {names} FROM delta WHERE project = ? OR reach = 'user'"
    rows = db.execute(question, (old,)).fetchall()
    for number, *texts in rows:
        for name, text in zip(_SNAPSHOTS, texts, strict=True):
            if text is None:
                continue
            snapshots = read_json(text)
            _rename(snapshots, old, new)
            statement = f'UPDATE delta SET "{name}" = ? WHERE number = ?'
            db.execute(statement, (to_json(snapshots), number))


def _rename(value: Any, old: str, new: str) -> None:
    """Rename a project in bullets that are nested in JSON values."""
    if isinstance(value, dict):
        if value.get("project") == old:
            value["project"] = new
        for item in value.values():
            _rename(item, old, new)
    elif isinstance(value, list):
        for item in value:
            _rename(item, old, new)
