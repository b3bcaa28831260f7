"""Records of turns (outcome, mark), results of check commands, and the queue of reflections."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from swecli.models.errors import BadInput
from swecli.models.session import Session
from swecli.store.journal.reader import Reader, is_other_process, project_of
from swecli.store.journal.tables import (
    CHECK_RESULT,
    INTERACTION,
    PLAYBOOK_CHOICE,
    PLAYBOOK_LEARNED,
    PLAYBOOK_TURN,
    REFLECTION,
)
from swecli.store.records import CheckResult, StoredTurn, TurnLessons, UsageTotals
from swecli.store.sqlite.database import Database

_MAX_CHECKS = 200  # commands whose last result is compared with
_TRIES = 3  # failed reflections of one interaction before it is given up
_OF_TURN = "session_id = ? AND interaction = ?"
_OF_INTERACTION = ("session_id", "number", "status", "mark", "why", "shown", "cited", "started_at")
_OF_RECORD = ("topic", "good", "weight", "signal", "reason", "judged", "judged_why")
_TURNS = """
  interaction AS i LEFT JOIN playbook_turn AS t ON t.session_id = i.session_id AND t.interaction = i.number
  JOIN session AS s ON s.id = i.session_id
"""
_PENDING = "interaction AS i JOIN session AS s ON s.id = i.session_id WHERE i.pending = 1"
_NEWEST_CHECKS = (
    "check_result WHERE id IN (SELECT max(id) FROM check_result WHERE project = :project AND undone_by = 0"
    " GROUP BY command) ORDER BY id DESC LIMIT :limit"
)
_VERDICTS = (
    "SELECT e.bullet, e.kind FROM evidence AS e JOIN delta AS d ON d.number = e.delta"
    " WHERE e.kind != '' AND e.session_id = ? AND e.interaction = ? AND d.undone = 0"
)


class TurnRecords:
    """The records of turns, and the persistent queue of interactions that are pending reflection."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def turn(self, session_id: str, interaction: int) -> StoredTurn | None:
        """Return the record of a turn, or None if it is not stored."""
        turns = self._turns("i.session_id = ? AND i.number = ?", session_id, interaction)
        return turns[0] if turns else None

    def choice(self, session_id: str, interaction: int) -> dict[str, Any] | None:
        """Return a turn's stored selection as JSON; None for an unfinished turn or one of an older version."""
        with self._database.read() as db:
            source = f"playbook_choice WHERE {_OF_TURN}"
            turn = (session_id, interaction)
            for row in Reader(db).select(PLAYBOOK_CHOICE, ("choice",), source, turn):
                return dict(row["choice"])
        return None

    def project_turns(self, session: Session) -> list[StoredTurn]:
        """Return the records of a project's turns that were reflected on, oldest first; copies of a turn in forks count
        once."""
        originals: dict[Any, StoredTurn] = {}
        for turn in self._turns("s.project = ? AND t.id IS NOT NULL", project_of(session)):
            originals.setdefault((turn.interaction, turn.started_at), turn)
        return list(originals.values())

    def _turns(self, condition: str, *parameters: Any) -> list[StoredTurn]:
        names = [f"i.{name}" for name in _OF_INTERACTION] + [f"t.{name}" for name in _OF_RECORD]
        source = f"{_TURNS} WHERE {condition} ORDER BY i.id"
        tables = {"i": INTERACTION, "t": PLAYBOOK_TURN}
        with self._database.read() as db:
            return [_to_turn(row) for row in Reader(db).select(tables, names, source, parameters)]

    def verdicts_on(self, session_id: str, interaction: int) -> set[tuple[str, str]]:
        """Return the (bullet id, "outcome" or "tag") of a turn's verdicts, without undone ones."""
        with self._database.read() as db:
            rows = db.execute(_VERDICTS, (session_id, interaction))
            return {(f"P-{bullet}", kind) for bullet, kind in rows}

    def checks(self, session: Session) -> dict[str, CheckResult]:
        """Return the last results of the check commands in the session's project, by command, without those of undone
        turns and of commands that did not run for long."""
        names = ("command", "passed", "failing")
        parameters = {"project": project_of(session), "limit": _MAX_CHECKS}
        with self._database.read() as db:
            rows = Reader(db).select(CHECK_RESULT, names, _NEWEST_CHECKS, parameters)
            return {
                row["command"]: CheckResult(row["passed"], tuple(row["failing"] or ()))
                for row in rows
            }

    def figures(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the figures stored under these names."""
        source = "playbook_learned WHERE name IN (SELECT value FROM json_each(?))"
        parameters = (json.dumps(names),)
        with self._database.read() as db:
            rows = Reader(db).select(PLAYBOOK_LEARNED, ("name", "value"), source, parameters)
            return {row["name"]: row["value"] for row in rows}

    def figures_of(self, prefix: str) -> dict[str, Any]:
        """Return the figures whose names begin with this, in the order of their names."""
        source = "playbook_learned WHERE substr(name, 1, ?) = ? ORDER BY name"
        with self._database.read() as db:
            parameters = (len(prefix), prefix)
            rows = Reader(db).select(PLAYBOOK_LEARNED, ("name", "value"), source, parameters)
            return {row["name"]: row["value"] for row in rows}

    def requeue(self, session_id: str, interaction: int) -> None:
        """Let an interaction be pending again, as the user has said more of it."""
        with self._database.write() as db:
            db.execute(
                "UPDATE interaction SET pending = 1 WHERE session_id = ? AND number = ?",
                (session_id, interaction),
            )

    def skip(self, session_id: str, interaction: int) -> None:
        """Remove an interaction from the queue without a reflection. Raises BadInput if it does not exist."""
        with self._database.write() as db:
            add_attempt(db, session_id, interaction, "skipped")

    def pending(self, session_id: str | None = None) -> list[StoredTurn]:
        """Return the pending interactions of one session, or of all, oldest first."""
        condition = "" if session_id is None else " AND i.session_id = ?"
        parameters = () if session_id is None else (session_id,)
        pending = self._pending(condition, *parameters)
        return [StoredTurn(session, number) for session, number, _ in pending]

    def pending_elsewhere(self, session: Session) -> list[StoredTurn]:
        """Return the pending interactions of the project's other sessions that no process has open, newest first."""
        others = " AND s.project = ? AND i.session_id != ?"
        pending = self._pending(others, project_of(session), session.id)
        return [
            StoredTurn(session_id, number)
            for session_id, number, pid in reversed(pending)
            if not is_other_process(pid)
        ]

    def _pending(self, condition: str, *parameters: Any) -> list[tuple[str, int, int]]:
        """Return session, number and process of the pending interactions, oldest first."""
        question = f"SELECT i.session_id, i.number, i.pid FROM {_PENDING}{condition} ORDER BY i.id"
        with self._database.read() as db:
            return db.execute(question, parameters).fetchall()

    def reflection_cost(self) -> UsageTotals:
        """Return the tokens and cost of all reflections."""
        with self._database.read() as db:
            return Reader(db).totals().by_purpose.get("reflect", UsageTotals())

    def count_failed(self, session_id: str) -> int:
        """Count the interactions on which reflection has failed for good."""
        failed = "session_id = ? AND status = 'failed' AND final"
        counted = f"SELECT count(DISTINCT interaction) FROM reflection WHERE {failed}"
        with self._database.read() as db:
            (count,) = db.execute(counted, (session_id,)).fetchone()
        return int(count)

    def count_reflections(self, session_id: str, interaction: int) -> int:
        """Count the completed reflections on an interaction."""
        with self._database.read() as db:
            return _count_attempts(db, session_id, interaction, "done")


def add_attempt(db: sqlite3.Connection, session_id: str, interaction: int, status: str) -> None:
    """Record a reflection; the interaction stays pending after the first two "failed". Raises BadInput if it does not
    exist."""
    turn = (session_id, interaction)
    row = db.execute("SELECT 1 FROM interaction WHERE session_id = ? AND number = ?", turn)
    if row.fetchone() is None:
        raise BadInput(f"There is no interaction {interaction} in session {session_id}.")
    failures = _count_attempts(db, session_id, interaction, "failed")
    final = status != "failed" or failures + 1 >= _TRIES
    attempt = {"session_id": session_id, "interaction": interaction, "status": status}
    REFLECTION.insert(db, attempt | {"final": final})
    if final:
        db.execute("UPDATE interaction SET pending = 0 WHERE session_id = ? AND number = ?", turn)


def _count_attempts(db: sqlite3.Connection, session_id: str, interaction: int, status: str) -> int:
    query = f"SELECT count(*) FROM reflection WHERE {_OF_TURN} AND status = ?"
    (count,) = db.execute(query, (session_id, interaction, status)).fetchone()
    return int(count)


def record_turn(
    db: sqlite3.Connection, session_id: str, interaction: int, fields: Mapping[str, Any]
) -> None:
    """Set fields of a turn's record, which is made if there is none."""
    if not PLAYBOOK_TURN.update(db, fields, _OF_TURN, session_id, interaction):
        PLAYBOOK_TURN.insert(db, {"session_id": session_id, "interaction": interaction, **fields})


def record_facts(db: sqlite3.Connection, session: Session, lessons: TurnLessons) -> None:
    """Store what lessons say of their turn: figures, results of checks, and its outcome."""
    for name, value in lessons.figures.items():
        PLAYBOOK_LEARNED.replace(db, {"name": name, "value": value})
    for command, check in lessons.checks.items():
        result = {"command": command, "passed": check.passed, "failing": list(check.failing)}
        result |= {"project": project_of(session), "session_id": session.id}
        CHECK_RESULT.insert(db, result | {"interaction": lessons.interaction})
    if lessons.known:
        record_turn(db, session.id, lessons.interaction, lessons.known)


def _to_turn(row: dict[str, Any]) -> StoredTurn:
    """Convert a row whose fields are named after their tables: `i.status`, `t.topic`."""
    fields = {name: row[f"i.{name}"] for name in ("status", "mark", "why", "started_at")}
    fields |= {name: tuple(row[f"i.{name}"] or ()) for name in ("shown", "cited")}
    if row["t.topic"] is not None:  # there is a record
        fields |= {name: row[f"t.{name}"] for name in _OF_RECORD}
    return StoredTurn(row["i.session_id"], row["i.number"], **fields)
