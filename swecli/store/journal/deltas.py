"""Reads changes of the playbook, and the evidence on its bullets."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from swecli.models.playbook import AppliedDelta, Delta, Evidence, Op
from swecli.store.journal.reader import Reader
from swecli.store.journal.tables import DELTA, EVIDENCE
from swecli.store.journal.values import values
from swecli.values import dataclass

_COLUMNS = (*DELTA.fields, "ops", "refused", "before", "added", "undone")
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


def read_deltas(
    db: sqlite3.Connection, condition: str, parameters: Mapping[str, Any]
) -> list[StoredDelta]:
    """Load the deltas of `FROM delta WHERE condition`, which may end with an order and a limit."""
    rows = Reader(db).select(DELTA, ("number", *_COLUMNS), f"delta WHERE {condition}", parameters)
    return [StoredDelta(row["number"], parse_delta(row), row["before"]) for row in rows]


def parse_delta(columns: Mapping[str, Any]) -> AppliedDelta:
    """Convert the columns of a delta, without verdicts."""
    delta = Delta(
        ops=tuple(map(_parse_op, columns["ops"])),
        refused=tuple(columns["refused"]),
        **{name: columns[name] for name in DELTA.fields},
    )
    return AppliedDelta(
        delta, tuple(columns["before"]), tuple(columns["added"]), bool(columns["undone"])
    )


def to_applied(row: Any) -> AppliedDelta:
    """Convert a row of SQLModel, without verdicts."""
    return parse_delta(values(row, _COLUMNS))


def _parse_op(op: Mapping[str, Any]) -> Op:
    fields = {}
    for name, value in op.get("fields", {}).items():
        fields[name] = tuple(value) if isinstance(value, list) else value
    evidence = []
    for item in op.get("evidence", ()):
        item = dict(item)
        if item.get("created_at"):
            item["created_at"] = datetime.fromisoformat(item["created_at"])
        evidence.append(Evidence(**item))
    return Op(op["op"], op.get("bullet_id", ""), fields, tuple(evidence))


@dataclass(frozen=True, slots=True)
class BulletEvidence:
    """Evidence on a bullet; a verdict has the `tag` that it counts as, and the `effect` that a reflector saw."""

    bullet: int
    evidence: Evidence
    tag: str
    effect: str

    @property
    def label(self) -> str:
        """The effect of a verdict, else its tag."""
        return self.effect or self.tag


def read_evidence(
    db: sqlite3.Connection, condition: str, parameters: Mapping[str, Any]
) -> list[BulletEvidence]:
    """Load the evidence that matches a condition on `e`, without that of undone deltas, oldest first."""
    names = ["e.bullet", "e.tag", "e.effect", *(f"e.{name}" for name in EVIDENCE.fields)]
    source = (
        "evidence AS e LEFT JOIN delta AS d ON d.number = e.delta"
        f" WHERE d.undone IS NOT 1 AND {condition} ORDER BY e.id"
    )
    items = []
    for row in Reader(db).select({"e": EVIDENCE}, names, source, parameters):
        evidence = Evidence(**{name: row[f"e.{name}"] for name in EVIDENCE.fields})
        items.append(BulletEvidence(row["e.bullet"], evidence, row["e.tag"], row["e.effect"]))
    return items
