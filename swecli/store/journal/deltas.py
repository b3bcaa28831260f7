"""Reads changes of the playbook, and the evidence on its bullets."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from swecli.models.playbook import AppliedDelta, Delta, Evidence, Op
from swecli.store.journal.reader import TIMES, Reader

DELTA = tuple(field.name for field in fields(Delta) if field.name not in ("ops", "refused"))
EVIDENCE = tuple(field.name for field in fields(Evidence))
_JSON = ("ops", "refused", "before", "added")  # columns of a delta
# A session's deltas, and those of its project whose bullets others see; one without an id has none of its own.
UNDOABLE = (
    "project = :project AND (session_id = :own AND :own != '' OR reach IN ('project', 'user'))"
)


@dataclass(frozen=True, slots=True)
class StoredDelta:
    """A delta as it is stored: its number, and by bullet what it was `before`, None for an added one."""

    number: int
    applied: AppliedDelta
    before: Mapping[str, Mapping[str, Any] | None]


def read_deltas(db: sqlite3.Connection, rest: str, given: Mapping[str, Any]) -> list[StoredDelta]:
    """Load the deltas of `FROM delta WHERE rest`."""
    names = ("number", *DELTA, *_JSON, "undone")
    found = []
    for row in Reader(db).select(names, f"delta WHERE {rest}", given):
        columns = row | {name: json.loads(row[name]) for name in _JSON}
        found.append(StoredDelta(row["number"], parse_delta(columns), columns["before"]))
    return found


def parse_delta(columns: Mapping[str, Any]) -> AppliedDelta:
    """Convert the columns of a delta, without verdicts."""
    delta = Delta(
        ops=tuple(map(_parse_op, columns["ops"])),
        refused=tuple(columns["refused"]),
        **{name: columns[name] for name in DELTA},
    )
    return AppliedDelta(
        delta, tuple(columns["before"]), tuple(columns["added"]), bool(columns["undone"])
    )


def _parse_op(op: Mapping[str, Any]) -> Op:
    given = {}
    for name, value in op.get("fields", {}).items():
        given[name] = tuple(value) if isinstance(value, list) else value
    evidence = []
    for item in op.get("evidence", ()):
        parsed = {name: parse_time(name, value) for name, value in item.items()}
        evidence.append(Evidence(**parsed))
    return Op(op["op"], op.get("bullet_id", ""), given, tuple(evidence))


def parse_time(name: str, value: Any) -> Any:
    """Return the value of a field of a JSON column; a time as one."""
    return datetime.fromisoformat(value) if value and name in TIMES else value


@dataclass(frozen=True, slots=True)
class BulletEvidence:
    """Evidence on a bullet; a verdict has the `tag` that it counts as, and the `effect` that a reflector saw."""

    bullet: int
    evidence: Evidence
    tag: str
    effect: str


def read_evidence(
    db: sqlite3.Connection, where: str, given: Mapping[str, Any]
) -> list[BulletEvidence]:
    """Load the evidence that matches a condition on `e`, without that of undone deltas, oldest first."""
    names = ["e.bullet", "e.tag", "e.effect", *(f"e.{name}" for name in EVIDENCE)]
    rest = (
        "evidence AS e LEFT JOIN delta AS d ON d.number = e.delta"
        f" WHERE d.undone IS NOT 1 AND {where} ORDER BY e.id"
    )
    found = []
    for row in Reader(db).select(names, rest, given):
        evidence = Evidence(**{name: row[f"e.{name}"] for name in EVIDENCE})
        found.append(BulletEvidence(row["e.bullet"], evidence, row["e.tag"], row["e.effect"]))
    return found
