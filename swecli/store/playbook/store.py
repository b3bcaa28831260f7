"""The playbook in the database. Bullets change by deltas only; each is applied atomically, once, and can be undone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import sqlmodel
from sqlalchemy import ColumnElement, Text, and_, cast, false, or_
from sqlmodel import col, select

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
from swecli.store.playbook.bullets import Bullets, applies, evidence_query, number_of, project_of
from swecli.store.playbook.deltas import EVIDENCE, Deltas
from swecli.store.playbook.turns import TurnRecords
from swecli.store.records import TurnLessons
from swecli.store.sqlite.database import reader
from swecli.store.tables.columns import values
from swecli.store.tables.learned import (
    BulletRow,
    CheckRow,
    DeltaRow,
    EvidenceRow,
    TurnRow,
)
from swecli.store.tables.sessions import InteractionRow


class PlaybookStore(TurnRecords):
    """Stores strategies, their evidence and deltas, records of turns, and the queue of reflections."""

    def load(self, session: Session) -> SessionPlaybook:
        """Load the bullets of the session, its project and the user, without deleted ones."""
        with self._database.reading() as db:
            return Bullets(db).load(session)

    def refresh(self, session: Session) -> None:
        """Reload the session's playbook if another process has changed it."""
        with self._database.reading() as db:
            if session.playbook.version != reader(db).playbook_version():
                session.update_playbook(Bullets(db).load(session))

    def apply(self, delta: Delta, session: Session) -> AppliedDelta:
        """Apply a delta atomically; return the stored one unchanged if its id was applied before. Raises BadInput if an
        operation is invalid, names no bullet of the session's scopes, or exceeds what a turn may change."""
        with self._changing(session) as db:
            deltas = Deltas(db)
            return (deltas.find(delta.id) or deltas.apply(delta, session)).to_applied()

    @contextmanager
    def _changing(self, session: Session) -> Iterator[sqlmodel.Session]:
        """Run a transaction, then update the session's playbook."""
        known = session.playbook
        with self._database.transaction() as db:
            current = known.version == reader(db).playbook_version()
            yield db
            db.flush()
            playbook = Bullets(db).load(session, known if current else None)
        session.update_playbook(playbook)

    def undo(self, session: Session, n: int = 1, *, redo: bool = False) -> list[AppliedDelta]:
        """Undo the newest `n` deltas visible to the session, newest first, except those that only add evidence; or redo
        the `n` most recently undone ones. Raises BadInput if there is none, or a bullet was changed by a later
        delta."""
        with self._changing(session) as db:
            theirs = select(DeltaRow).where(_is_undoable(session), col(DeltaRow.undone).is_(redo))
            if redo:
                which = theirs.where(col(DeltaRow.turned) > 0).order_by(col(DeltaRow.turned).desc())
            else:
                which = theirs.where(
                    (cast(col(DeltaRow.before), Text) != "{}") | col(DeltaRow.reason).like("mark %")
                )
                which = which.order_by(col(DeltaRow.number).desc())
            rows = db.exec(which.limit(n)).all()
            if not rows and redo:
                raise BadInput("Nothing to redo in the playbook.")
            if not rows:
                raise BadInput(
                    "Nothing to undo in the playbook.",
                    "Changes of another project are undone there.",
                )
            for row in rows:
                Deltas(db).revert(row, redo=redo)
            return [row.to_applied() for row in rows]

    def record_lessons(self, session: Session, lessons: TurnLessons) -> AppliedDelta | None:
        """Store the lessons of a turn atomically; return the delta, or None if there is none or the user undid it
        before. Raises BadInput as `apply`."""
        with self._changing(session) as db:
            deltas, changed = Deltas(db), Bullets(db)
            row = deltas.find(lessons.delta.id) if lessons.delta else None
            fresh = lessons.delta is not None and row is None
            for earlier in lessons.replaces if fresh else ():
                if (old := deltas.find(earlier)) is not None and not old.undone:
                    deltas.revert(old, redo=False)
                    old.turned = 0  # not undone by the user, so redo must not find it
            if lessons.delta is not None and row is None:
                row = deltas.apply(lessons.delta, session, lessons.verdicts)
                if lessons.mark:
                    deltas.mark_turn(row, lessons.mark, lessons.why)
            if fresh or lessons.delta is None:
                for command, check in lessons.checks.items():
                    result = CheckRow(command=command, passed=check.passed)
                    result.project, result.failing = project_of(session), list(check.failing)
                    result.session_id, result.interaction = session.id, lessons.interaction
                    db.add(result)
                if lessons.known:
                    TurnRow.record(db, session.id, lessons.interaction, **lessons.known)
                for used in changed.rows(lessons.shown).values():
                    used.uses += 1
                changed.hold_back(lessons.held_back)
            if lessons.final:
                self._record_attempt(
                    db, session.id, lessons.interaction, "failed" if lessons.failure else "done"
                )
            return row.to_applied() if row and not row.undone else None

    def log(self, session: Session, limit: int = 20) -> list[AppliedDelta]:
        """Return the deltas of the session and its project with their verdicts, newest first, undone ones included."""
        newest_first = (
            select(DeltaRow).where(_is_undoable(session)).order_by(col(DeltaRow.number).desc())
        )
        rows = self._database.rows(newest_first.limit(max(0, limit)))
        which = sqlmodel.select(EvidenceRow.delta, EvidenceRow.bullet, EvidenceRow.tag)
        which = which.where(
            col(EvidenceRow.delta).in_([row.number for row in rows]), col(EvidenceRow.kind) != ""
        )
        found: dict[int, list[tuple[str, Tag]]] = {}
        for delta, bullet, tag in self._database.rows(which.order_by(col(EvidenceRow.id))):
            found.setdefault(delta, []).append((f"P-{bullet}", tag))
        return [
            replace(row.to_applied(), verdicts=tuple(found.get(row.number, ()))) for row in rows
        ]

    def deltas_of_turns(self, session: Session, first: int, last: int) -> list[AppliedDelta]:
        """Return the deltas of a range of turns, newest first, undone ones included."""
        project = project_of(session)  # an unsaved session owns no deltas
        theirs = select(DeltaRow).filter_by(session_id=session.id or None, project=project)
        which = theirs.where(col(DeltaRow.interaction).between(first, last)).order_by(
            col(DeltaRow.number).desc()
        )
        return [row.to_applied() for row in self._database.rows(which)]

    def made(self, delta_id: str) -> bool:
        """Return True if a delta was ever applied, even if it was undone since."""
        with self._database.reading() as db:
            return Deltas(db).find(delta_id) is not None

    def get(self, bullet_id: str, session: Session | None = None) -> Bullet | None:
        """Return a bullet in any state; with `session`, only if it belongs to the session's scopes."""
        which = select(BulletRow).filter_by(number=number_of(bullet_id))
        rows = self._database.rows(which if session is None else which.where(applies(session)))
        return next((row.to_bullet() for row in rows), None)

    def find(self, ref: str, session: Session, *, include_deleted: bool = False) -> Bullet:
        """Resolve `P-7`, `p7` or `7` to a strategy of the session's scopes. Raises BadInput."""
        name = parse_short_id("P", ref) or parse_short_id("P", f"P{ref}")
        if name is None:
            raise BadInput(
                f"{ref!r:.60} is not the id of a strategy.", "Ids are written P-1, P-2, …"
            )
        bullet = self.get(name, session)
        if bullet is not None and (include_deleted or bullet.state != "deleted"):
            return bullet
        if bullet is not None:
            raise BadInput(f"{name} was removed.", f"`edit {name} --on` restores it.")
        raise BadInput(f"There is no strategy {name} here.", "`list` shows all.")

    def record_anchor_checks(
        self, session: Session, stale: Mapping[str, str], fresh: Collection[str]
    ) -> None:
        """Store an anchor check of the session's strategies, except those of scope user: the missing anchor by id
        (`stale`; all others become fresh), and the ids whose anchors were found (`fresh`)."""
        now, known = datetime.now(UTC), session.playbook.bullets
        wanted = {
            n
            for n, b in known.items()
            if b.scope != "user" and (b.stale != stale.get(n, "") or n in fresh)
        }
        if not wanted:
            return
        with self._changing(session) as db:
            at = {n: now if n in fresh else known[n].verified_at for n in wanted}
            rows = [
                {"number": number_of(n), "stale": stale.get(n, ""), "verified_at": at[n]}
                for n in wanted
            ]
            db.exec(
                sqlmodel.update(BulletRow), params=rows
            )  # by primary key, without loading 10,000 rows
            Bullets(db).changed.update(map(number_of, wanted))

    def evidence(self, bullet_id: str, *, verdicts: bool = False) -> list[Evidence]:
        """Return a bullet's sources, oldest first, or its verdicts (`helpful: pytest went from failing to passing`,
        `ignored: the rule on spaces was not followed`)."""
        return self.evidence_by_id((bullet_id,), verdicts=verdicts)[bullet_id]

    def evidence_by_id(
        self, names: Collection[str], *, verdicts: bool = False
    ) -> dict[str, list[Evidence]]:
        """Return the evidence on many bullets with one query."""
        kinds = col(EvidenceRow.kind) != "" if verdicts else col(EvidenceRow.kind) == ""
        found: dict[str, list[Evidence]] = {name: [] for name in names}
        for row in self._database.rows(evidence_query(map(number_of, names)).where(kinds)):
            one = Evidence(**values(row, EVIDENCE))
            found[f"P-{row.bullet}"].append(
                replace(one, quote=f"{row.effect or row.tag}: {one.quote}") if row.tag else one
            )
        return found

    def said_in(self, session: Session, first: int, last: int) -> list[tuple[str, Evidence]]:
        """Return the user's words that strategies were learned from in a range of turns, each with its strategy."""
        which = evidence_query(None).where(col(EvidenceRow.kind) == "", EvidenceRow.trust == "user")
        which = which.where(
            col(EvidenceRow.session_id) == session.id,
            col(EvidenceRow.interaction).between(first, last),
        )
        return [
            (f"P-{row.bullet}", Evidence(**values(row, EVIDENCE)))
            for row in self._database.rows(which)
        ]

    def reworded_since(self, moment: datetime) -> set[str]:
        """Return the strategies whose text was changed since a time."""
        which = select(DeltaRow).where(col(DeltaRow.created_at) >= moment).filter_by(undone=False)
        return {
            op.bullet_id
            for row in self._database.rows(which.where(_json_contains(col(DeltaRow.ops), "UPDATE")))
            for op in row.to_applied().delta.ops
            if op.op == "UPDATE" and "content" in op.fields
        }

    def changes(self, bullet_id: str) -> list[AppliedDelta]:
        """Return the deltas that changed a strategy, oldest first, without undone ones."""
        which = (
            select(DeltaRow)
            .where(_json_contains(col(DeltaRow.before), bullet_id))
            .filter_by(undone=False)
        )
        found = [
            row.to_applied() for row in self._database.rows(which.order_by(col(DeltaRow.number)))
        ]
        return [applied for applied in found if bullet_id in applied.touched]

    def removed(self, session: Session) -> list[Bullet]:
        """Return the deleted strategies of the session's scopes."""
        gone = select(BulletRow).where(applies(session)).filter_by(state="deleted")
        return [row.to_bullet() for row in self._database.rows(gone)]

    def withdrawn(self, session: Session) -> list[Withdrawn]:
        """Return the texts that strategies had before they were removed, switched off or rewritten since the session
        began, oldest first. A text that holds again is left out."""
        which = select(DeltaRow).where(
            _is_undoable(session), col(DeltaRow.created_at) >= session.created_at
        )
        which = which.filter_by(undone=False).order_by(col(DeltaRow.number))
        changes = [row for row in self._database.rows(which) if any(row.before.values())]
        names = {name for row in changes for name in row.before}
        if not names:
            return []
        with self._database.reading() as db:
            holding = {
                name: row.content
                for name, row in Bullets(db).rows(names).items()
                if row.state not in ("disabled", "deleted")
            }
        sources = self.evidence_by_id(names)
        found: dict[str, Withdrawn] = {}
        for row in changes:
            added = " ".join(holding[name] for name in row.added if name in holding)
            for name, former in row.before.items():
                content = former.get("content", "") if former else ""  # old snapshots may lack it
                replacement = holding.get(name, added)
                if content and content != replacement:
                    found[content] = _withdraw(content, replacement, row, sources[name], session)
        return list(found.values())

    def prompts(self, bullet_id: str, limit: int = 20) -> list[tuple[str, int]]:
        """Return the (session id, interaction) of prompts that contained a strategy, newest first."""
        which = sqlmodel.select(InteractionRow.session_id, InteractionRow.number)
        which = which.where(_json_contains(col(InteractionRow.shown), bullet_id)).order_by(
            col(InteractionRow.id).desc()
        )
        return list(self._database.rows(which.limit(limit)))


def _json_contains(column: Any, bullet_id: str) -> ColumnElement[bool]:
    """Match a JSON column that contains the id as a string or key."""
    return cast(column, Text).contains(f'"{bullet_id}"', autoescape=True)


def _is_undoable(session: Session) -> ColumnElement[bool]:
    """Return the condition for deltas made in the session, or in its project with project or user scope."""
    own = (
        col(DeltaRow.session_id) == session.id if session.id else false()
    )  # an unsaved session owns nothing
    wide = col(DeltaRow.reach).in_(("project", "user"))
    return and_(col(DeltaRow.project) == project_of(session), or_(own, wide))


def _withdraw(
    content: str, replacement: str, row: DeltaRow, sources: Iterable[Evidence], session: Session
) -> Withdrawn:
    """Return the text that a delta withdrew, with the user's words from before it."""
    words = [
        one
        for one in sources
        if one.trust == "user" and one.created_at is not None and one.created_at < row.created_at
    ]
    own = (one.interaction for one in words if one.session_id == session.id)
    return Withdrawn(
        content,
        row.created_at,
        replacement,
        tuple(one.quote for one in words),
        frozenset(number for number in own if number is not None),
    )
