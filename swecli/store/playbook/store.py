"""The playbook in the database. Bullets change by deltas only; each is applied atomically, once, and can be undone."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from swecli.models.errors import BadInput
from swecli.models.ids import parse_short_id
from swecli.models.playbook import (
    AppliedDelta,
    Bullet,
    Delta,
    EffectCounts,
    Evidence,
    SessionPlaybook,
    Tag,
    WithdrawnStrategy,
)
from swecli.models.session import Session
from swecli.store.journal.deltas import (
    UNDOABLE,
    BulletEvidence,
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
from swecli.values import dataclass

if TYPE_CHECKING:  # a turn without lessons needs no SQLModel
    from swecli.store.playbook.deltas import Deltas

_LISTED = "IN (SELECT value FROM json_each(:numbers))"  # as SQLite takes 32,766 parameters at most


@dataclass(frozen=True, slots=True)
class _Change:
    """A transaction that changes the playbook; `bullets` are the numbers of those that it changed."""

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
            if redo:
                rows = deltas.find_undone(session, n)
                problem = BadInput("Nothing to redo in the playbook.")
            else:
                rows = deltas.find_undoable(session, n)
                problem = BadInput(
                    "Nothing to undo in the playbook.",
                    "Changes of another project are undone there.",
                )
            if not rows:
                raise problem
            for row in rows:
                deltas.revert(row, redo=redo)
            return [to_applied(row) for row in rows]

    def record_lessons(self, session: Session, lessons: TurnLessons) -> AppliedDelta | None:
        """Store the lessons of a turn atomically; return the delta, or None if there is none or the user undid it
        before. Raises BadInput as `apply`."""
        if lessons.delta is None:
            with self._updating(session) as change:
                _record_turn(change, session, lessons)
            return None
        with self._changing(session) as (deltas, change):
            row, is_new = deltas.learn(session, lessons)
            if is_new:
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
        for bullet_id, bullet in session.playbook.bullets.items():
            missing_anchor = stale.get(bullet_id, "")
            is_fresh = bullet_id in fresh
            if bullet.scope == "user" or (bullet.stale == missing_anchor and not is_fresh):
                continue
            verified_at = now if is_fresh else bullet.verified_at
            stored_moment = None if verified_at is None else write_moment(verified_at)
            rows.append((clean_text(missing_anchor), stored_moment, bullet.number))
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
        with self._database.write() as db:
            reader = Reader(db)
            is_current = session.playbook.version == reader.playbook_version()
            change = _Change(db)
            yield change
            changed_numbers = change.bullets
            playbook = (
                _reload(reader, session, changed_numbers)
                if is_current
                else reader.playbook(session)
            )
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
            change.bullets.update(deltas.changed_numbers)

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
        condition = "number = :number" if session is None else f"number = :number AND {APPLIES}"
        parameters = {"number": number_of(bullet_id)}
        with self._database.read() as db:
            bullets = Reader(db).bullets(session or Session(""), condition, parameters)
        return next(iter(bullets.values()), None)

    def find(self, ref: str, session: Session, *, include_deleted: bool = False) -> Bullet:
        """Resolve `P-7`, `p7` or `7` to a strategy of the session's scopes. Raises BadInput."""
        bullet_id = parse_short_id("P", ref) or parse_short_id("P", f"P{ref}")
        if bullet_id is None:
            problem = (
                f"{ref!r:.60} is not the id of a strategy." if ref else "No strategy is named."
            )
            raise BadInput(problem, "Ids are written P-1, P-2, …")
        bullet = self.get(bullet_id, session)
        if bullet is None:
            raise BadInput(
                f"There is no strategy {bullet_id} here.", "See /playbook or `swecli playbook`."
            )
        if bullet.state == "deleted" and not include_deleted:
            raise BadInput(f"{bullet_id} was removed.", f"`edit {bullet_id} --on` restores it.")
        return bullet

    def deleted_bullets(self, session: Session) -> list[Bullet]:
        """Return the deleted strategies of the session's scopes."""
        with self._database.read() as db:
            bullets = Reader(db).bullets(session, f"{APPLIES} AND state = 'deleted'", {})
        return list(bullets.values())

    # --- the deltas

    def log(self, session: Session, limit: int = 20) -> list[AppliedDelta]:
        """Return the deltas of the session and its project with their verdicts, newest first, undone ones included."""
        parameters = _owner(session) | {"limit": max(0, limit)}
        evidence = (
            "SELECT delta, bullet, tag FROM evidence WHERE kind != ''"
            f" AND delta {_LISTED} ORDER BY id"
        )
        verdicts: dict[int, list[tuple[str, Tag]]] = {}
        with self._database.read() as db:
            rows = read_deltas(db, f"{UNDOABLE} ORDER BY number DESC LIMIT :limit", parameters)
            numbers = json.dumps([row.number for row in rows])
            for delta, bullet, tag in db.execute(evidence, {"numbers": numbers}):
                verdicts.setdefault(delta, []).append((f"P-{bullet}", tag))
        return [replace(row.applied, verdicts=tuple(verdicts.get(row.number, ()))) for row in rows]

    def deltas_of_turns(self, session: Session, first: int, last: int) -> list[AppliedDelta]:
        """Return the deltas of a range of turns, newest first, undone ones included."""
        condition = (
            "session_id = :own AND :own != '' AND project = :project"
            " AND interaction BETWEEN :first AND :last ORDER BY number DESC"
        )
        return self._deltas(condition, _owner(session) | {"first": first, "last": last})

    def was_applied(self, delta_id: str) -> bool:
        """Return True if a delta was ever applied, even if it was undone since."""
        question = "SELECT EXISTS (SELECT 1 FROM delta WHERE id = ?)"
        with self._database.read() as db:
            return bool(db.execute(question, (clean_text(delta_id),)).fetchone()[0])

    def reworded_since(self, moment: datetime) -> set[str]:
        """Return the ids of the strategies whose text was changed since a time."""
        condition = "created_at >= :since AND undone = 0 AND instr(ops, '\"UPDATE\"')"
        deltas = self._deltas(condition, {"since": write_moment(moment)})
        ops = [op for applied in deltas for op in applied.delta.ops]
        return {op.bullet_id for op in ops if op.op == "UPDATE" and "content" in op.fields}

    def changes(self, bullet_id: str) -> list[AppliedDelta]:
        """Return the deltas that changed a strategy, oldest first, without undone ones."""
        condition = "undone = 0 AND instr(before, :name) ORDER BY number"
        deltas = self._deltas(condition, {"name": f'"{bullet_id}"'})
        return [applied for applied in deltas if bullet_id in applied.touched]

    def _deltas(self, condition: str, parameters: Mapping[str, object]) -> list[AppliedDelta]:
        with self._database.read() as db:
            return [row.applied for row in read_deltas(db, condition, parameters)]

    # --- the evidence

    def evidence(self, bullet_id: str) -> list[Evidence]:
        """Return a bullet's sources, oldest first."""
        return self.evidence_by_id((bullet_id,))[bullet_id]

    def evidence_by_id(self, bullet_ids: Collection[str]) -> dict[str, list[Evidence]]:
        """Return the sources of many bullets with one query."""
        condition = f"e.bullet {_LISTED} AND e.kind = ''"
        by_id: dict[str, list[Evidence]] = {bullet_id: [] for bullet_id in bullet_ids}
        with self._database.read() as db:
            for item in read_evidence(db, condition, _numbers(bullet_ids)):
                by_id[f"P-{item.bullet}"].append(item.evidence)
        return by_id

    def effects(self, bullet_ids: Collection[str]) -> dict[str, EffectCounts]:
        """Return what the verdicts on the present texts of these bullets count."""
        # late: a turn without verdicts needs no SQLModel
        from swecli.store.playbook.bullets import Bullets

        with self._database.reading() as db:
            bullets = Bullets(db)
            return bullets.effects(bullets.rows(bullet_ids).values())

    def verdicts(self, bullet_id: str) -> list[BulletEvidence]:
        """Return what outcomes and reflectors said of a bullet, oldest first."""
        condition = f"e.bullet {_LISTED} AND e.kind != ''"
        with self._database.read() as db:
            return read_evidence(db, condition, _numbers((bullet_id,)))

    def withdrawn_texts(self, session: Session) -> list[WithdrawnStrategy]:
        """Return the texts that strategies had before they were removed, switched off or rewritten since the session
        began, oldest first. A text that holds again is left out."""
        condition = f"{UNDOABLE} AND created_at >= :since AND undone = 0 ORDER BY number"
        parameters = _owner(session) | {"since": write_moment(session.created_at)}
        with self._database.read() as db:
            rows = read_deltas(db, condition, parameters)
            changes = [row for row in rows if any(row.before.values())]
            bullet_ids = {bullet_id for row in changes for bullet_id in row.before}
            if not bullet_ids:
                return []
            bullets = Reader(db).bullets(session, f"number {_LISTED}", _numbers(bullet_ids))
        present: dict[str, str] = {}  # the texts that hold now
        for bullet_id, bullet in bullets.items():
            if bullet.state not in ("disabled", "deleted"):
                present[bullet_id] = bullet.content
        sources = self.evidence_by_id(bullet_ids)
        withdrawn: dict[str, WithdrawnStrategy] = {}
        for row in changes:
            added = " ".join(present[name] for name in row.applied.added if name in present)
            for bullet_id, snapshot in row.before.items():
                # an added bullet has no snapshot, and those of old versions may lack the text
                content = snapshot.get("content", "") if snapshot else ""
                replacement = present.get(bullet_id, added)
                if content and content != replacement:
                    withdrawn[content] = _withdraw(
                        content, replacement, row, sources[bullet_id], session
                    )
        return list(withdrawn.values())

    def turns_shown(self, bullet_id: str) -> list[tuple[str, int]]:
        """Return the (session id, interaction) of the turns whose prompt contained a strategy, newest first."""
        return self._turns_with("shown", bullet_id)

    def turns_cited(self, bullet_id: str) -> list[tuple[str, int]]:
        """Return the (session id, interaction) of the turns whose answer named a strategy, newest first."""
        return self._turns_with("cited", bullet_id)

    def _turns_with(self, column: str, bullet_id: str) -> list[tuple[str, int]]:
        question = (
            f"SELECT session_id, number FROM interaction WHERE instr({column}, ?) ORDER BY id DESC"
        )
        with self._database.read() as db:
            return db.execute(question, (f'"{bullet_id}"',)).fetchall()


def _owner(session: Session) -> dict[str, object]:
    """Return the parameters of conditions for a session's deltas."""
    return {"own": session.id, "project": project_of(session)}


def _numbers(bullet_ids: Iterable[str]) -> dict[str, str]:
    """Return the parameter of `_LISTED`."""
    return {"numbers": json.dumps([number_of(bullet_id) for bullet_id in bullet_ids])}


def _reload(reader: Reader, session: Session, changed_numbers: Collection[int]) -> SessionPlaybook:
    """Return the session's playbook with the bullets of these numbers read anew."""
    condition = f"{APPLIES} AND state != 'deleted' AND number {_LISTED}"
    present = reader.bullets(session, condition, {"numbers": json.dumps([*changed_numbers])})
    bullets = {**session.playbook.bullets, **present}
    for number in changed_numbers:
        bullet_id = f"P-{number}"
        if bullet_id not in present:
            bullets.pop(bullet_id, None)
    return SessionPlaybook(bullets, reader.playbook_version())


def _record_turn(change: _Change, session: Session, lessons: TurnLessons) -> None:
    """Store what lessons say of their turn, besides the playbook's changes."""
    record_facts(change.db, session, lessons)
    statement = f"UPDATE bullet SET uses = uses + 1 WHERE number {_LISTED}"
    change.db.execute(statement, _numbers(lessons.shown))
    change.bullets.update(map(number_of, lessons.shown))
    _end_reflection(change.db, session, lessons)


def _end_reflection(db: sqlite3.Connection, session: Session, lessons: TurnLessons) -> None:
    if lessons.final:
        status = "failed" if lessons.failure else "done"
        add_attempt(db, session.id, lessons.interaction, status)


def _withdraw(
    content: str, replacement: str, row: StoredDelta, sources: Iterable[Evidence], session: Session
) -> WithdrawnStrategy:
    """Return the text that a delta withdrew, with the user's words from before it."""
    withdrawn_at = row.applied.delta.created_at
    quotes: list[str] = []
    turns: set[int] = set()
    for source in sources:
        is_earlier = source.created_at is not None and source.created_at < withdrawn_at
        if source.trust != "user" or not is_earlier:
            continue
        quotes.append(source.quote)
        if source.session_id == session.id and source.interaction is not None:
            turns.add(source.interaction)
    return WithdrawnStrategy(content, withdrawn_at, replacement, tuple(quotes), frozenset(turns))
