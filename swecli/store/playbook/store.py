"""The playbook in the database. Bullets change by deltas only; each is applied atomically, once, and can be undone."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from swecli.models.errors import BadInput
from swecli.models.ids import parse_short_id
from swecli.models.playbook import (
    AppliedDelta,
    Bullet,
    Delta,
    Evidence,
    SessionPlaybook,
    Tag,
    Withdrawn,
)
from swecli.models.session import Session
from swecli.store.journal.deltas import (
    UNDOABLE,
    StoredDelta,
    read_deltas,
    read_evidence,
    to_applied,
)
from swecli.store.journal.reader import APPLIES, Reader, number_of, project_of
from swecli.store.journal.values import clean_text, write_moment
from swecli.store.records import TurnLessons
from swecli.store.sqlite.database import Database
from swecli.store.turn_records import add_attempt, record_facts

if TYPE_CHECKING:  # a turn without lessons needs no SQLModel
    from swecli.store.playbook.deltas import Deltas

_NAMED = "IN (SELECT value FROM json_each(:names))"  # without SQLite's limit of 32,766 parameters


@dataclass(frozen=True, slots=True)
class _Change:
    """A running change of the playbook; `bullets` are the numbers of those that it changed."""

    db: sqlite3.Connection
    bullets: set[int] = field(default_factory=set)


class PlaybookStore:
    """Stores strategies, their evidence and deltas. Each method may raise StoreError; then nothing has changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # --- changes

    def apply(self, delta: Delta, session: Session) -> AppliedDelta:
        """Apply a delta atomically; return the stored one unchanged if its id was applied before. Raises BadInput if an
        operation is invalid, names no bullet of the session's scopes, or exceeds what a turn may change."""
        with self._changing(session) as (deltas, _):
            row = deltas.find(delta.id) or deltas.apply(delta, session)
            return to_applied(row)

    def undo(self, session: Session, n: int = 1, *, redo: bool = False) -> list[AppliedDelta]:
        """Undo the newest `n` deltas visible to the session, newest first, except those that only add evidence; or redo
        the `n` most recently undone ones. Raises BadInput if there is none, or a bullet was changed by a later
        delta."""
        with self._changing(session) as (deltas, _):
            rows = deltas.find_undone(session, n) if redo else deltas.find_undoable(session, n)
            if not rows and redo:
                raise BadInput("Nothing to redo in the playbook.")
            if not rows:
                raise BadInput(
                    "Nothing to undo in the playbook.",
                    "Changes of another project are undone there.",
                )
            for row in rows:
                deltas.revert(row, redo=redo)
            return [to_applied(row) for row in rows]

    def record_lessons(self, session: Session, lessons: TurnLessons) -> AppliedDelta | None:
        """Store the lessons of a turn atomically; return the delta, or None if there is none or the user undid it
        before. Raises BadInput as `apply`."""
        if lessons.delta is None and not lessons.held_back:
            with self._updating(session) as change:
                _record_turn(change, session, lessons)
            return None
        with self._changing(session) as (deltas, change):
            row, is_new = deltas.learn(session, lessons)
            if is_new or lessons.delta is None:
                deltas.hold_back(lessons.held_back)
                _record_turn(change, session, lessons)
            else:
                _end_reflection(change.db, session, lessons)
            return to_applied(row) if row and not row.undone else None

    def record_anchor_checks(
        self, session: Session, stale: Mapping[str, str], fresh: Collection[str]
    ) -> None:
        """Store an anchor check of the session's strategies, except those of scope user: the missing anchor by id
        (`stale`; all others become fresh), and the ids whose anchors were found (`fresh`)."""
        now = datetime.now(UTC)
        rows = []
        for name, bullet in session.playbook.bullets.items():
            missing = stale.get(name, "")
            if bullet.scope == "user" or (bullet.stale == missing and name not in fresh):
                continue
            at = now if name in fresh else bullet.verified_at
            rows.append((clean_text(missing), at and write_moment(at), bullet.number))
        if not rows:
            return
        with self._updating(session) as change:
            change.db.executemany(
                "UPDATE bullet SET stale = ?, verified_at = ? WHERE number = ?", rows
            )
            change.bullets.update(number for _, _, number in rows)

    @contextmanager
    def _updating(self, session: Session) -> Iterator[_Change]:
        """Run a transaction, then update the session's playbook: only the bullets that it changed, if no other process
        has changed any, so that the cost of a turn does not depend on the playbook's size."""
        known = session.playbook
        with self._database.write() as db:
            reader = Reader(db)
            is_current = known.version == reader.playbook_version()
            change = _Change(db)
            yield change
            playbook = _reload(reader, session, known if is_current else None, change.bullets)
        session.update_playbook(playbook)

    @contextmanager
    def _changing(self, session: Session) -> Iterator[tuple[Deltas, _Change]]:
        """Do as `_updating`, with the deltas of the transaction."""
        # late: a turn without lessons needs no SQLModel
        from swecli.store.playbook.deltas import Deltas

        with self._updating(session) as change, self._database.session() as db:
            deltas = Deltas(db)
            yield deltas, change
            db.flush()
            change.bullets.update(deltas.changed)

    # --- the bullets that apply to a session

    def load(self, session: Session) -> SessionPlaybook:
        """Load the bullets of the session, its project and the user, without deleted ones."""
        with self._database.read() as db:
            return Reader(db).playbook(session)

    def refresh(self, session: Session) -> None:
        """Reload the session's playbook if another process has changed it."""
        with self._database.read() as db:
            reader = Reader(db)
            if session.playbook.version != reader.playbook_version():
                session.update_playbook(reader.playbook(session))

    def get(self, bullet_id: str, session: Session | None = None) -> Bullet | None:
        """Return a bullet in any state; with `session`, only if it belongs to the session's scopes."""
        number = number_of(bullet_id)
        which = "number = :number" if session is None else f"number = :number AND {APPLIES}"
        with self._database.read() as db:
            found = Reader(db).bullets(session or Session(""), which, {"number": number})
        return next(iter(found.values()), None)

    def find(self, ref: str, session: Session, *, include_deleted: bool = False) -> Bullet:
        """Resolve `P-7`, `p7` or `7` to a strategy of the session's scopes. Raises BadInput."""
        name = parse_short_id("P", ref) or parse_short_id("P", f"P{ref}")
        if name is None:
            problem = (
                f"{ref!r:.60} is not the id of a strategy." if ref else "No strategy is named."
            )
            raise BadInput(problem, "Ids are written P-1, P-2, …")
        bullet = self.get(name, session)
        if bullet is not None and (include_deleted or bullet.state != "deleted"):
            return bullet
        if bullet is not None:
            raise BadInput(f"{name} was removed.", f"`edit {name} --on` restores it.")
        raise BadInput(f"There is no strategy {name} here.", "See /playbook or `swecli playbook`.")

    def removed(self, session: Session) -> list[Bullet]:
        """Return the deleted strategies of the session's scopes."""
        with self._database.read() as db:
            found = Reader(db).bullets(session, f"{APPLIES} AND state = 'deleted'", {})
        return list(found.values())

    # --- the deltas

    def log(self, session: Session, limit: int = 20) -> list[AppliedDelta]:
        """Return the deltas of the session and its project with their verdicts, newest first, undone ones included."""
        given = _owner(session) | {"limit": max(0, limit)}
        verdicts = (
            "SELECT delta, bullet, tag FROM evidence WHERE kind != ''"
            f" AND delta {_NAMED} ORDER BY id"
        )
        found: dict[int, list[tuple[str, Tag]]] = {}
        with self._database.read() as db:
            rows = read_deltas(db, f"{UNDOABLE} ORDER BY number DESC LIMIT :limit", given)
            numbers = json.dumps([row.number for row in rows])
            for delta, bullet, tag in db.execute(verdicts, {"names": numbers}):
                found.setdefault(delta, []).append((f"P-{bullet}", tag))
        return [replace(row.applied, verdicts=tuple(found.get(row.number, ()))) for row in rows]

    def deltas_of_turns(self, session: Session, first: int, last: int) -> list[AppliedDelta]:
        """Return the deltas of a range of turns, newest first, undone ones included."""
        which = (
            "session_id = :own AND :own != '' AND project = :project"
            " AND interaction BETWEEN :first AND :last ORDER BY number DESC"
        )
        return self._deltas(which, _owner(session) | {"first": first, "last": last})

    def made(self, delta_id: str) -> bool:
        """Return True if a delta was ever applied, even if it was undone since."""
        known = "SELECT EXISTS (SELECT 1 FROM delta WHERE id = ?)"
        with self._database.read() as db:
            return bool(db.execute(known, (clean_text(delta_id),)).fetchone()[0])

    def reworded_since(self, moment: datetime) -> set[str]:
        """Return the strategies whose text was changed since a time."""
        which = "created_at >= :since AND undone = 0 AND instr(ops, '\"UPDATE\"')"
        return {
            op.bullet_id
            for applied in self._deltas(which, {"since": write_moment(moment)})
            for op in applied.delta.ops
            if op.op == "UPDATE" and "content" in op.fields
        }

    def changes(self, bullet_id: str) -> list[AppliedDelta]:
        """Return the deltas that changed a strategy, oldest first, without undone ones."""
        which = "undone = 0 AND instr(before, :name) ORDER BY number"
        found = self._deltas(which, {"name": f'"{bullet_id}"'})
        return [applied for applied in found if bullet_id in applied.touched]

    def _deltas(self, rest: str, given: Mapping[str, object]) -> list[AppliedDelta]:
        with self._database.read() as db:
            return [row.applied for row in read_deltas(db, rest, given)]

    # --- the evidence

    def evidence(self, bullet_id: str, *, verdicts: bool = False) -> list[Evidence]:
        """Return a bullet's sources, oldest first, or its verdicts (`helpful: pytest went from failing to passing`,
        `ignored: the rule on spaces was not followed`)."""
        return self.evidence_by_id((bullet_id,), verdicts=verdicts)[bullet_id]

    def evidence_by_id(
        self, names: Collection[str], *, verdicts: bool = False
    ) -> dict[str, list[Evidence]]:
        """Return the evidence on many bullets with one query."""
        kinds = "e.kind != ''" if verdicts else "e.kind = ''"
        numbers = {"names": json.dumps([number_of(name) for name in names])}
        found: dict[str, list[Evidence]] = {name: [] for name in names}
        with self._database.read() as db:
            for item in read_evidence(db, f"e.bullet {_NAMED} AND {kinds}", numbers):
                one = item.evidence
                if item.tag:
                    one = replace(one, quote=f"{item.effect or item.tag}: {one.quote}")
                found[f"P-{item.bullet}"].append(one)
        return found

    def said_in(self, session: Session, first: int, last: int) -> list[tuple[str, Evidence]]:
        """Return the user's words that strategies were learned from in a range of turns, each with its strategy."""
        which = (
            "e.kind = '' AND e.trust = 'user' AND e.session_id = :own"
            " AND e.interaction BETWEEN :first AND :last"
        )
        given = {"own": session.id, "first": first, "last": last}
        with self._database.read() as db:
            return [(f"P-{one.bullet}", one.evidence) for one in read_evidence(db, which, given)]

    def withdrawn(self, session: Session) -> list[Withdrawn]:
        """Return the texts that strategies had before they were removed, switched off or rewritten since the session
        began, oldest first. A text that holds again is left out."""
        which = f"{UNDOABLE} AND created_at >= :since AND undone = 0 ORDER BY number"
        given = _owner(session) | {"since": write_moment(session.created_at)}
        holding = {}
        with self._database.read() as db:
            changes = [row for row in read_deltas(db, which, given) if any(row.before.values())]
            names = {name for row in changes for name in row.before}
            if not names:
                return []
            numbers = {"names": json.dumps([number_of(name) for name in names])}
            for name, bullet in Reader(db).bullets(session, f"number {_NAMED}", numbers).items():
                if bullet.state not in ("disabled", "deleted"):
                    holding[name] = bullet.content
        sources = self.evidence_by_id(names)
        found: dict[str, Withdrawn] = {}
        for row in changes:
            added = " ".join(holding[name] for name in row.applied.added if name in holding)
            for name, former in row.before.items():
                content = former.get("content", "") if former else ""  # old snapshots may lack it
                replacement = holding.get(name, added)
                if content and content != replacement:
                    found[content] = _withdraw(content, replacement, row, sources[name], session)
        return list(found.values())

    def prompts(self, bullet_id: str, limit: int = 20) -> list[tuple[str, int]]:
        """Return the (session id, interaction) of prompts that contained a strategy, newest first."""
        which = "SELECT session_id, number FROM interaction WHERE instr(shown, ?) ORDER BY id DESC LIMIT ?"
        with self._database.read() as db:
            return db.execute(which, (f'"{bullet_id}"', limit)).fetchall()


def _owner(session: Session) -> dict[str, object]:
    """Return what the conditions for a session's deltas name."""
    return {"own": session.id, "project": project_of(session)}


def _reload(
    reader: Reader, session: Session, known: SessionPlaybook | None, changed: Collection[int]
) -> SessionPlaybook:
    """Return the session's playbook: the `known` one with the changed bullets read anew, or all of it."""
    if known is None:
        return reader.playbook(session)
    which = f"{APPLIES} AND state != 'deleted' AND number {_NAMED}"
    found = reader.bullets(session, which, {"names": json.dumps([*changed])})
    gone = {f"P-{number}" for number in changed} - found.keys()
    kept = {name: bullet for name, bullet in known.bullets.items() if name not in gone}
    return SessionPlaybook(kept | found, reader.playbook_version())


def _record_turn(change: _Change, session: Session, lessons: TurnLessons) -> None:
    """Store what lessons say of their turn, besides the playbook's changes."""
    record_facts(change.db, session, lessons)
    used = [number_of(name) for name in lessons.shown]
    change.db.execute(
        f"UPDATE bullet SET uses = uses + 1 WHERE number {_NAMED}", {"names": json.dumps(used)}
    )
    change.bullets.update(used)
    _end_reflection(change.db, session, lessons)


def _end_reflection(db: sqlite3.Connection, session: Session, lessons: TurnLessons) -> None:
    if lessons.final:
        status = "failed" if lessons.failure else "done"
        add_attempt(db, session.id, lessons.interaction, status)


def _withdraw(
    content: str, replacement: str, row: StoredDelta, sources: Iterable[Evidence], session: Session
) -> Withdrawn:
    """Return the text that a delta withdrew, with the user's words from before it."""
    at = row.applied.delta.created_at
    words = [
        one
        for one in sources
        if one.trust == "user" and one.created_at is not None and one.created_at < at
    ]
    own = (one.interaction for one in words if one.session_id == session.id)
    return Withdrawn(
        content,
        at,
        replacement,
        tuple(one.quote for one in words),
        frozenset(number for number in own if number is not None),
    )
