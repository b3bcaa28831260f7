"""The playbook in the database: bullets change by deltas only, each applied whole, once, and reversibly."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import sqlmodel
from sqlalchemy import ColumnElement, Text, bindparam, cast
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.ids import parse_short_id
from swecli.models.playbook import AppliedDelta, Bullet, Delta, Evidence, SessionPlaybook, Tag
from swecli.models.session import Session
from swecli.store.playbook import bullets, deltas
from swecli.store.playbook.bullets import applied_delta, applies, is_undoable, load_bullets, number_of
from swecli.store.playbook.turns import (
    ReflectionQueue,
    TurnRecords,
    record_attempt,
    record_checks,
    record_turn,
    store_mark,
)
from swecli.store.reading import playbook_version
from swecli.store.records import TurnLessons
from swecli.store.sqlite.database import Database, driver
from swecli.store.tables.columns import clean_text, values
from swecli.store.tables.learned import BulletRow, DeltaRow, EvidenceRow, LearnedRow
from swecli.store.tables.sessions import InteractionRow


class PlaybookStore(ReflectionQueue):
    """Strategies, their evidence, the changes made to them, and what has been reflected upon."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.turns = TurnRecords(database)

    def load(self, session: Session) -> SessionPlaybook:
        """The bullets that apply to the session: its own, its project's and the user's; all but deleted ones."""
        with self._database.reading() as db:
            return load_bullets(db, session)

    def refresh(self, session: Session) -> None:
        """Load the session's playbook again where another process has changed it; else it costs next to nothing."""
        with self._database.reading() as db:
            if session.playbook.version != playbook_version(driver(db)):
                session.update_playbook(load_bullets(db, session))

    def apply(self, delta: Delta, session: Session) -> AppliedDelta:
        """Apply a delta, all of it or nothing; one whose id was applied before changes nothing and is given back.

        New bullets get numbers that were never used. Raises BadInput when an operation names no bullet that applies to
        the session, or cannot be carried out, or the delta is more than a turn may change.
        """
        with self._changing(session) as db:
            return applied_delta(_find_delta(db, delta.id) or deltas.write(db, delta, session))

    @contextmanager
    def _changing(self, session: Session) -> Iterator[sqlmodel.Session]:
        """A transaction; after it the session's playbook is up to date."""
        known = session.playbook
        with self._database.transaction() as db:
            current = known.version == playbook_version(driver(db))
            yield db
            db.flush()
            playbook = load_bullets(db, session, known if current else None)
        session.update_playbook(playbook)

    def undo(self, session: Session, n: int = 1) -> list[AppliedDelta]:
        """Take back the newest `n` deltas of the session's project that concern it, the newest first, but not what only
        brought the evidence of a turn. Every bullet has its words and state again, and what it is worth by the evidence
        that is left. Raises BadInput when there is none, or another session has changed the same bullet since."""
        return self._turn(session, n, back=False)

    def redo(self, session: Session, n: int = 1) -> list[AppliedDelta]:
        """Bring back what the last `n` undos in the session's project took back, the last one first: with the same ids,
        counts and evidence. Raises BadInput when there is none, or a strategy has been changed since."""
        return self._turn(session, n, back=True)

    def _turn(self, session: Session, n: int, *, back: bool) -> list[AppliedDelta]:
        if n < 1:
            raise BadInput(f"{n} changes cannot be {'brought back' if back else 'undone'}.", "Give a number from 1.")
        with self._changing(session) as db:
            rows = deltas.find_undoable(db, session, n, undone=back)
            if not rows and back:
                raise BadInput("There is no undo of the playbook to take back.")
            if not rows:
                raise BadInput("There is no change of the playbook to undo.", "Another project's is undone there.")
            for row in rows:
                deltas.turn(db, row, back=back)
            return [applied_delta(row) for row in rows]

    def record_lessons(self, session: Session, lessons: TurnLessons) -> AppliedDelta | None:
        """Keep all that a look at a turn came to, in one; returns the delta unless the user took it back before. Raises
        BadInput as `apply`; nothing is kept then."""
        with self._changing(session) as db:
            row = _find_delta(db, lessons.delta.id) if lessons.delta else None
            fresh = lessons.delta is not None and row is None
            for earlier in lessons.replaces if fresh else ():
                if (old := _find_delta(db, earlier)) is not None and not old.undone:
                    deltas.turn(db, old, back=False)
                    old.turned = 0  # no undo of the user's: nothing that brings back would bring it
            if lessons.delta is not None and row is None:
                row = deltas.write(db, lessons.delta, session, lessons.verdicts)
                if lessons.mark:
                    store_mark(db, row, lessons.mark, lessons.why)
            if fresh or lessons.delta is None:
                for name, value in lessons.figures.items():
                    db.merge(LearnedRow(name=name, value=value))
                record_checks(db, session, lessons.checks)
                if lessons.known:
                    record_turn(db, session.id, lessons.interaction, **lessons.known)
                for used in bullets.bullet_rows(db, lessons.shown).values():
                    used.uses += 1
                bullets.fade_held_back(db, lessons.held_back)
            if lessons.final:
                record_attempt(db, session.id, lessons.interaction, "failed" if lessons.failure else "done")
            return applied_delta(row) if row and not row.undone else None

    def log(self, session: Session, limit: int = 20) -> list[AppliedDelta]:
        """The deltas made in the session and its project, newest first, undone ones too, each with its verdicts."""
        newest_first = select(DeltaRow).where(is_undoable(session)).order_by(col(DeltaRow.number).desc())
        rows = self._database.rows(newest_first.limit(max(0, limit)))
        which = sqlmodel.select(EvidenceRow.delta, EvidenceRow.bullet, EvidenceRow.tag)
        which = which.where(col(EvidenceRow.delta).in_([row.number for row in rows]), col(EvidenceRow.kind) != "")
        found: dict[int, list[tuple[str, Tag]]] = {}
        for delta, bullet, tag in self._database.rows(which.order_by(col(EvidenceRow.id))):
            found.setdefault(delta, []).append((f"P-{bullet}", tag))
        return [replace(applied_delta(row), verdicts=tuple(found.get(row.number, ()))) for row in rows]

    def deltas_of_turns(self, session: Session, first: int, last: int) -> list[AppliedDelta]:
        """The deltas made of those turns of a session, newest first, those taken back too."""
        project = bullets.project_of(session)  # before there is a session nothing is its own
        theirs = select(DeltaRow).filter_by(session_id=session.id or None, project=project)
        which = theirs.where(col(DeltaRow.interaction).between(first, last)).order_by(col(DeltaRow.number).desc())
        return [applied_delta(row) for row in self._database.rows(which)]

    def made(self, delta_id: str) -> bool:
        """Whether a delta was ever applied, also if it was taken back since."""
        with self._database.reading() as db:
            return _find_delta(db, delta_id) is not None

    def get(self, bullet_id: str, session: Session | None = None) -> Bullet | None:
        """A bullet in any state, a deleted one too; with `session` only if it may be seen from there."""
        which = select(BulletRow).filter_by(number=number_of(bullet_id))
        row = self._database.row(which if session is None else which.where(applies(session)))
        return None if row is None else bullets.bullet_of(row)

    def find(self, ref: str, session: Session, *, include_deleted: bool = False) -> Bullet:
        """The strategy that is meant and may be seen from the session: `P-7`, `p7`, `7`; one that was removed only with
        `gone_too`. Raises BadInput."""
        name = parse_short_id("P", ref) or parse_short_id("P", f"P{ref}")
        if name is None:
            raise BadInput(f"{ref!r:.60} is not a strategy.", "Strategies are written P-1, P-2, …")
        bullet = self.get(name, session)
        if bullet is not None and (include_deleted or bullet.state != "deleted"):
            return bullet
        if bullet is not None:
            raise BadInput(f"{name} was removed.", f"`edit {name} --on` makes it an active one again.")
        raise BadInput(f"There is no strategy {name} here.", "The list shows those there are.")

    def record_anchor_checks(self, session: Session, stale: Mapping[str, str], fresh: Collection[str]) -> None:
        """Keep what a look for the anchors of a session's strategies came to, but not of those for all projects: by id
        what is gone (`stale`; the others are not stale any more), and whose anchors were all found (`fresh`)."""
        now, known = datetime.now(UTC), session.playbook.bullets
        wanted = {n for n, b in known.items() if b.scope != "user" and (b.stale != stale.get(n, "") or n in fresh)}
        if not wanted:
            return
        with self._changing(session) as db:
            rows = [
                {"of": number_of(n), "gone": stale.get(n, ""), "at": now if n in fresh else known[n].verified_at}
                for n in wanted
            ]
            change = sqlmodel.update(BulletRow).where(col(BulletRow.number) == bindparam("of"))
            db.connection().execute(change.values(stale=bindparam("gone"), verified_at=bindparam("at")), rows)
            bullets.mark_changed(db, map(number_of, wanted))

    def evidence(self, bullet_id: str, *, verdicts: bool = False) -> list[Evidence]:
        """Why a bullet is believed, in the order it came; with `verdicts` what its turns show of it instead, as in
        `helpful: pytest went from failing to passing`."""
        return self.evidence_by_id((bullet_id,), verdicts=verdicts)[bullet_id]

    def evidence_by_id(self, names: Collection[str], *, verdicts: bool = False) -> dict[str, list[Evidence]]:
        """The same of many, read at once."""
        kinds = col(EvidenceRow.kind) != "" if verdicts else col(EvidenceRow.kind) == ""
        found: dict[str, list[Evidence]] = {name: [] for name in names}
        for row in self._database.rows(bullets.evidence_query(map(number_of, names)).where(kinds)):
            one = Evidence(**values(row, bullets.EVIDENCE))
            found[f"P-{row.bullet}"].append(replace(one, quote=f"{row.tag}: {one.quote}") if row.tag else one)
        return found

    def changes(self, bullet_id: str) -> list[AppliedDelta]:
        """The changes that stand of one strategy, the oldest first."""
        which = select(DeltaRow).where(_json_contains(col(DeltaRow.before), bullet_id)).filter_by(undone=False)
        found = [applied_delta(row) for row in self._database.rows(which.order_by(col(DeltaRow.number)))]
        return [applied for applied in found if bullet_id in applied.touched]

    def removed(self, session: Session) -> list[Bullet]:
        """The strategies the user removed, refused or took back, as far as the session could see them."""
        gone = select(BulletRow).where(applies(session)).filter_by(state="deleted")
        return [bullets.bullet_of(row) for row in self._database.rows(gone)]

    def prompts(self, bullet_id: str, limit: int = 20) -> list[tuple[str, int]]:
        """The turns in whose prompt a strategy stood, newest first: session and number."""
        which = sqlmodel.select(InteractionRow.session_id, InteractionRow.number)
        which = which.where(_json_contains(col(InteractionRow.shown), bullet_id)).order_by(
            col(InteractionRow.id).desc()
        )
        return list(self._database.rows(which.limit(limit)))


def _json_contains(column: Any, bullet_id: str) -> ColumnElement[bool]:
    """Whether a JSON column holds the id as a string or a key."""
    return cast(column, Text).contains(f'"{bullet_id}"', autoescape=True)


def _find_delta(db: sqlmodel.Session, delta_id: str) -> DeltaRow | None:
    return db.exec(select(DeltaRow).filter_by(id=clean_text(delta_id))).first()
