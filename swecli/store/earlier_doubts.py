"""Makes columns of what earlier versions stored as rows of evidence with a special source: why a strategy waits, what
it is to replace, and that the user said yes to it. Read once: when a database is upgraded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from swecli.models.doubts import Doubt
from swecli.models.json_value import JsonObject
from swecli.values import dataclass

if TYPE_CHECKING:  # most databases are of the newest version
    from sqlalchemy import Connection

_CONSENT, _REPLACES = "accepted", "replaces"
_KINDS = {
    "doubt: restated": Doubt.RESTATED,
    "doubt: reaching": Doubt.REACHING,
    "doubt: seen": Doubt.SEEN,
}
# Doubts without a kind of their own: those of a score, which is computed anew, and those that only a sentence tells.
_UNTYPED, _SCORE = "doubt", "score"
_SENTENCES = {
    "it says more than you wrote": Doubt.RESTATED,
    "seen in a result": Doubt.SEEN,
    "it comes from another playbook": Doubt.IMPORTED,
}
# The sources of evidence that quoted nobody.
EARLIER_SOURCES = frozenset({*_KINDS, _UNTYPED, _SCORE, _REPLACES})


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of such evidence, of a bullet and the number of its delta."""

    bullet: int
    delta: int
    source: str
    quote: str


def convert_doubts(connection: Connection) -> None:
    """Convert the rows of evidence, the operations of deltas and the snapshots of bullets."""
    marks = ", ".join("?" for _ in EARLIER_SOURCES)
    rows = [
        _Row(*row)
        for row in connection.exec_driver_sql(
            "SELECT e.bullet, coalesce(e.delta, 0), e.source, e.quote FROM evidence AS e"
            " LEFT JOIN delta AS d ON d.number = e.delta"
            f" WHERE e.kind = '' AND d.undone IS NOT 1 AND e.source IN ({marks}) ORDER BY e.id",
            tuple(EARLIER_SOURCES),
        )
    ]
    quarantined = connection.exec_driver_sql(
        "SELECT number FROM bullet WHERE state = 'quarantined'"
    )
    for (number,) in quarantined.fetchall():
        columns = _read_rows(row for row in rows if row.bullet == number)
        connection.exec_driver_sql(
            "UPDATE bullet SET doubt = ?, replaces = ? WHERE number = ?",
            (columns["doubt"], json.dumps(columns["replaces"]), number),
        )
    _convert_deltas(connection, rows)
    connection.exec_driver_sql(
        f"DELETE FROM evidence WHERE kind = '' AND source IN ({marks})", tuple(EARLIER_SOURCES)
    )
    connection.exec_driver_sql(
        "UPDATE evidence SET is_consent = 1, source = 'user' WHERE kind = '' AND source = ?",
        (_CONSENT,),
    )


def _convert_deltas(connection: Connection, rows: Sequence[_Row]) -> None:
    deltas = connection.exec_driver_sql("SELECT number, ops, before, kept FROM delta")
    for number, ops, before, kept_rows in deltas.fetchall():
        earlier = [row for row in rows if row.delta < number]
        until = [row for row in rows if row.delta <= number]
        connection.exec_driver_sql(
            "UPDATE delta SET ops = ?, before = ?, kept = ? WHERE number = ?",
            (
                json.dumps([_convert_op(op) for op in json.loads(ops or "[]") or ()]),
                json.dumps(_convert_snapshots(json.loads(before or "null"), earlier)),
                json.dumps(_convert_snapshots(json.loads(kept_rows or "null"), until)),
                number,
            ),
        )


def _convert_snapshots(snapshots: JsonObject | None, rows: Sequence[_Row]) -> JsonObject | None:
    """Add to the snapshots of bullets, by id, what spoke against those that waited."""
    for name, snapshot in (snapshots or {}).items():
        if not snapshot:
            continue
        is_waiting = snapshot.get("state") == "quarantined"
        number = int(name.removeprefix("P-"))
        snapshot |= _read_rows(row for row in rows if is_waiting and row.bullet == number)
    return snapshots


def _convert_op(op: JsonObject) -> JsonObject:
    """Make fields of the evidence of an operation that is a doubt, and mark the user's yes."""
    evidence = op.get("evidence", [])
    special = [item for item in evidence if item["source"] in EARLIER_SOURCES]
    kept_evidence = [
        item | {"source": "user", "is_consent": True} if item["source"] == _CONSENT else item
        for item in evidence
        if item not in special
    ]
    if not special:
        return op | {"evidence": kept_evidence} if evidence else op
    columns = _read_rows(_Row(0, 0, item["source"], item["quote"]) for item in special)
    return op | {"fields": op.get("fields", {}) | columns, "evidence": kept_evidence}


def _read_rows(rows: Iterable[_Row]) -> JsonObject:
    """Return the newest doubt of rows that are oldest first, and all that the bullet is to replace."""
    doubt = Doubt.NONE
    replaces: list[str] = []
    for row in rows:
        if row.source == _REPLACES:
            replaces = [*dict.fromkeys([*replaces, row.quote])]
        elif row.source == _UNTYPED:
            sentence = row.quote.partition("; ")[0]  # behind it stood what would be replaced
            doubt = _SENTENCES.get(sentence, Doubt.UNQUOTED)
        else:
            doubt = _KINDS.get(row.source, Doubt.NONE)
    return {"doubt": doubt.value, "replaces": replaces}
