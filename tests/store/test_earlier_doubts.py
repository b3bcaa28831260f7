"""Test that what earlier versions stored as evidence with a special source becomes columns, and undo still restores
it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from swecli.models.doubts import Doubt
from swecli.models.playbook import Bullet
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.files import APPLICATION_ID
from tests.support.databases import open_database

TIME = "2026-01-01 00:00:00.000000"
SHAPE = Path(__file__).parent / "sqlite" / "shape_24.sql"


def insert(db: sqlite3.Connection, table: str, **values: Any) -> None:
    """Insert a row with JSON for lists and dictionaries, and empty values for what else is required."""
    rows = db.execute(
        'SELECT name, type, "notnull", dflt_value FROM pragma_table_info(?)', (table,)
    )
    empty = {"TEXT": "", "JSON": "[]", "DATETIME": TIME}
    row = {
        name: empty.get(kind, 0) for name, kind, must, default in rows if must and default is None
    }
    row |= {
        name: json.dumps(value) if isinstance(value, (list, dict)) else value
        for name, value in values.items()
    }
    columns = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join("?" for _ in row)
    db.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(row.values()))


def teach(db: sqlite3.Connection, number: int, state: str, *evidence: dict[str, str]) -> None:
    """Insert a strategy with the delta of its number that added it."""
    fields = {"project": "/p", "scope": "project", "trust": "tool", "state": state}
    insert(db, "bullet", number=number, content=f"text {number}", kind="strategy", **fields)
    op = {"op": "ADD", "fields": {"content": f"text {number}"}, "evidence": [*evidence]}
    delta = {"project": "/p", "reach": "project", "author": "m", "id": f"d{number}"}
    insert(
        db,
        "delta",
        number=number,
        ops=[op],
        before={f"P-{number}": None},
        added=[f"P-{number}"],
        **delta,
    )
    for position, item in enumerate(evidence):
        key = 10 * number + position
        insert(db, "evidence", id=key, bullet=number, delta=number, trust="tool", **item)


def source(name: str, quote: str) -> dict[str, str]:
    return {"source": name, "quote": quote}


@pytest.fixture
def upgraded(tmp_path: Path) -> Iterator[SessionManager]:
    path = tmp_path / "old.db"
    lines = [line for line in SHAPE.read_text().splitlines() if "sqlite_sequence" not in line]
    with closing(sqlite3.connect(path)) as db:
        for line in sorted(lines, key=lambda line: line.startswith("CREATE INDEX")):
            db.execute(line)
        said = source("remember", "bitte Tabs")
        reaching = source("doubt: reaching", "it would replace P-1")
        teach(db, 1, "active", said, source("doubt: seen", "seen"), source("accepted", "yes"))
        teach(db, 2, "quarantined", said, reaching, source("replaces", "P-1"))
        teach(db, 3, "quarantined", said, source("doubt", "it says more than you wrote"))
        teach(db, 4, "quarantined", said, source("doubt", "it comes from another playbook"))
        teach(db, 5, "deleted", said, source("doubt: restated", "it is not what you wrote"))
        removed = {"op": "REMOVE", "bullet_id": "P-5"}
        before = {"P-5": {"content": "text 5", "state": "quarantined", "scope": "project"}}
        delta = {"project": "/p", "reach": "project", "author": "user", "id": "d6"}
        insert(db, "delta", number=6, ops=[removed], before=before, added=[], **delta)
        db.execute("PRAGMA user_version = 24")
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.commit()
    manager = SessionManager(open_database(path))
    manager.start("/p", "scripted/test", project="/p")
    yield manager
    manager.database.close()


def find(manager: SessionManager, name: str) -> Bullet:
    bullet = manager.playbook.get(name)
    assert bullet is not None
    return bullet


def test_why_a_strategy_waits_and_what_it_replaces_are_columns(upgraded: SessionManager) -> None:
    bullets = [find(upgraded, f"P-{number}") for number in range(1, 5)]
    assert [bullet.doubt for bullet in bullets] == [
        Doubt.NONE,
        Doubt.REACHING,
        Doubt.RESTATED,
        Doubt.IMPORTED,
    ]
    assert [bullet.replaces for bullet in bullets] == [(), ("P-1",), (), ()]


def test_quotations_stay_evidence_and_a_yes_is_marked_as_one(upgraded: SessionManager) -> None:
    quoted = [(item.quote, item.is_consent) for item in upgraded.playbook.evidence("P-1")]
    assert quoted == [("bitte Tabs", False), ("yes", True)]
    assert [item.quote for item in upgraded.playbook.evidence("P-2")] == ["bitte Tabs"]
    [added] = upgraded.playbook.changes("P-2")
    [op] = added.delta.ops
    assert (op.doubt, op.fields["replaces"]) == (Doubt.REACHING, ("P-1",))
    assert [item.quote for item in op.evidence] == ["bitte Tabs"]


def test_an_undo_of_an_older_change_brings_the_doubt_back(upgraded: SessionManager) -> None:
    upgraded.playbook.undo(upgraded.session)
    bullet = find(upgraded, "P-5")
    assert (bullet.state, bullet.doubt) == ("quarantined", Doubt.RESTATED)
