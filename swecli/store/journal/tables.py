"""The tables that a turn writes, as SQLite stores their values. The definitions are those of `store.tables`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from swecli.store.journal.values import (
    clamp,
    clean_json,
    clean_text,
    encode_name,
    finite,
    to_json,
    write_moment,
)

Store = Callable[[Any], Any]  # from a value, which may be None, to what SQLite stores


def text(value: str | None) -> str | None:
    """Store a text, clean."""
    return None if value is None else clean_text(value)


def file_name(value: str) -> str | bytes:
    """Store the name of a file, whatever its bytes are."""
    return encode_name(value)


def number(value: int | None) -> int | None:
    """Store an integer of 64 bits."""
    return None if value is None else clamp(value)


def real(value: float | None) -> float | None:
    """Store a number, NULL if it is not finite."""
    return finite(value)


def flag(value: bool | None) -> int | None:
    """Store a truth value."""
    return None if value is None else int(value)


def json_value(value: Any) -> str:
    """Store a JSON value; None is its null."""
    return to_json(clean_json(value))


def moment(value: datetime | None) -> str | None:
    """Store a time."""
    return None if value is None else write_moment(value)


@dataclass(frozen=True, slots=True)
class Table:
    """A table: how each column's value is stored, and the values of those that a new row may leave out. The key that
    SQLite assigns is none of them."""

    name: str
    columns: Mapping[str, Store]
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def insert(
        self, db: sqlite3.Connection, row: Mapping[str, Any], *, verb: str = "INSERT"
    ) -> int:
        """Insert a row and return its key. Raises KeyError if a column without a default is missing, or is unknown."""
        whole = {**self.defaults, **row}
        if unknown := whole.keys() - self.columns.keys():
            raise KeyError(f"{self.name} has no {', '.join(sorted(unknown))}")
        stored = [store(_current(whole[name])) for name, store in self.columns.items()]
        names = ", ".join(f'"{name}"' for name in self.columns)
        marks = ", ".join("?" * len(stored))
        made = db.execute(f"{verb} INTO {self.name} ({names}) VALUES ({marks})", stored)
        return made.lastrowid or 0

    def replace(self, db: sqlite3.Connection, row: Mapping[str, Any]) -> None:
        """Insert a row in place of the one with the same key."""
        self.insert(db, row, verb="INSERT OR REPLACE")

    def update(
        self, db: sqlite3.Connection, row: Mapping[str, Any], where: str, *given: Any
    ) -> int:
        """Set columns of the rows that match; return how many there are."""
        stored = [self.columns[name](value) for name, value in row.items()]
        sets = ", ".join(f'"{name}" = ?' for name in row)
        return db.execute(
            f"UPDATE {self.name} SET {sets} WHERE {where}", (*stored, *given)
        ).rowcount


def _current(value: Any) -> Any:
    """Return the value; for the default `now`, the present time."""
    return now() if value is now else value


def now() -> datetime:
    """Return the current time in UTC; as a default, that of the insertion."""
    return datetime.now(UTC)


SESSIONS = Table(
    "session",
    {
        "id": text,
        "directory": text,
        "project": text,
        "title": text,
        "model": text,
        "parent_id": text,
        "window_spec": text,
        "window_start": number,
        "interactions": number,
        "messages": number,
        "cost": real,
        "first_query": text,
        "allowed": json_value,
        "created_at": moment,
        "updated_at": moment,
    },
    {
        "directory": "",
        "project": "",
        "title": "",
        "model": "",
        "parent_id": None,
        "window_spec": "",
        "window_start": 1,
        "interactions": 0,
        "messages": 0,
        "cost": 0.0,
        "first_query": "",
        "allowed": None,
        "created_at": now,
        "updated_at": now,
    },
)
INTERACTIONS = Table(
    "interaction",
    {
        "session_id": text,
        "number": number,
        "status": text,
        "pid": number,
        "pending": flag,
        "shown": json_value,
        "cited": json_value,
        "mark": text,
        "why": text,
        "started_at": moment,
        "finished_at": moment,
        "partial": text,
        "partial_after": number,
        "window_spec": text,
        "window_start": number,
    },
    {
        "status": "running",
        "pid": 0,
        "pending": False,
        "shown": None,
        "cited": None,
        "mark": "",
        "why": "",
        "started_at": now,
        "finished_at": None,
        "partial": "",
        "partial_after": 0,
        "window_spec": "",
        "window_start": 1,
    },
)
MESSAGES = Table(
    "message",
    {
        "session_id": text,
        "interaction": number,
        "role": text,
        "content": text,
        "sent": text,
        "reasoning": text,
        "tokens": number,
        "status": text,
        "created_at": moment,
        "encoding": text,
        "blocks": json_value,
        "images": json_value,
    },
    {
        "interaction": 0,
        "content": "",
        "sent": None,
        "reasoning": "",
        "tokens": None,
        "status": "complete",
        "created_at": now,
        "encoding": "",
        "blocks": None,
        "images": None,
    },
)
CALLS = Table(
    "tool_call",
    {
        "message_id": number,
        "session_id": text,
        "call_id": text,
        "name": text,
        "parameters": json_value,
        "result": text,
        "error": text,
        "approved": flag,
        "decision": text,
        "reason": text,
        "exit_code": number,
        "duration_ms": number,
        "tokens": number,
        "effects": json_value,
    },
    {
        "parameters": None,
        "result": None,
        "error": None,
        "approved": None,
        "decision": "",
        "reason": "",
        "exit_code": None,
        "duration_ms": None,
        "tokens": None,
        "effects": None,
    },
)
FULL_RESULTS = Table("full_result", {"call": number, "text": text})
REQUESTS = Table(
    "model_request",
    {
        "session_id": text,
        "model": text,
        "purpose": text,
        "interaction": number,
        "step": number,
        "input": number,
        "cache_read": number,
        "cache_write": number,
        "output": number,
        "reasoning": number,
        "cost": real,
        "duration_ms": number,
        "extra": json_value,
        "created_at": moment,
    },
    {
        "interaction": 0,
        "step": 0,
        "input": 0,
        "cache_read": 0,
        "cache_write": 0,
        "output": 0,
        "reasoning": 0,
        "cost": None,
        "duration_ms": 0,
        "extra": None,
        "created_at": now,
    },
)
REDUCTIONS = Table(
    "reduction",
    {
        "session_id": text,
        "how": text,
        "opens": flag,
        "undone": flag,
        "interaction": number,
        "step": number,
        "before": number,
        "after": number,
        "detail": text,
        "epoch": json_value,
        "edits": json_value,
        "hold_turns": number,
        "hold_tokens": number,
        "created_at": moment,
    },
    {
        "opens": False,
        "undone": False,
        "interaction": 0,
        "step": 0,
        "before": 0,
        "after": 0,
        "detail": "",
        "epoch": None,
        "edits": None,
        "hold_turns": 0,
        "hold_tokens": 0,
        "created_at": now,
    },
)
FACTS = Table(
    "survivor",
    {
        "session_id": text,
        "kind": text,
        "key": text,
        "text": text,
        "interaction": number,
        "created_at": moment,
    },
    {"text": "", "interaction": 0, "created_at": now},
)
CHOICES = Table(
    "playbook_choice",
    {"session_id": text, "interaction": number, "choice": json_value},
    {"choice": None},
)
REFLECTIONS = Table(
    "reflection",
    {"session_id": text, "interaction": number, "status": text, "final": flag},
    {"final": True},
)
RECORDS = Table(
    "playbook_turn",
    {
        "session_id": text,
        "interaction": number,
        "good": flag,
        "weight": real,
        "signal": text,
        "reason": text,
        "topic": text,
        "judged": text,
        "judged_why": text,
    },
    {
        "good": None,
        "weight": 0.0,
        "signal": "",
        "reason": "",
        "topic": "",
        "judged": "",
        "judged_why": "",
    },
)
CHECKS = Table(
    "check_result",
    {
        "project": text,
        "command": text,
        "session_id": text,
        "interaction": number,
        "passed": flag,
        "failing": json_value,
        "undone_by": number,
    },
    {
        "project": "",
        "command": "",
        "session_id": "",
        "interaction": 0,
        "passed": False,
        "failing": None,
        "undone_by": 0,
    },
)
FIGURES = Table("playbook_learned", {"name": text, "value": json_value}, {"value": None})
FILE_CHANGES = Table(
    "file_change",
    {
        "session_id": text,
        "interaction": number,
        "path": file_name,
        "before": text,
        "before_mode": number,
        "after": text,
        "after_mode": number,
        "made_by": number,
        "undone_by": number,
    },
    {
        "interaction": 0,
        "before": "",
        "before_mode": 0,
        "after": "",
        "after_mode": 0,
        "made_by": 0,
        "undone_by": 0,
    },
)
LASTING_CHANGES = Table(
    "lasting_change",
    {
        "session_id": text,
        "interaction": number,
        "kind": text,
        "name": file_name,
        "before": text,
        "after": text,
    },
    {"interaction": 0, "name": "", "before": "", "after": ""},
)
TABLES = (
    SESSIONS, INTERACTIONS, MESSAGES, CALLS, FULL_RESULTS, REQUESTS, REDUCTIONS, FACTS,
    CHOICES, REFLECTIONS, RECORDS, CHECKS, FIGURES, FILE_CHANGES,
    LASTING_CHANGES,
)  # fmt: skip
