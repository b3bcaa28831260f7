"""The playbook in the database: bullets change by deltas only, each applied whole, once, and reversibly."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

import sqlmodel
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.ids import short_id
from swecli.models.playbook import AppliedDelta, Bullet, Delta, Evidence, SessionPlaybook
from swecli.models.session import Session
from swecli.store import playbook_mapping as mapping
from swecli.store.playbook_history import PlaybookHistory
from swecli.store.playbook_marks import put_mark
from swecli.store.playbook_queue import ReflectionQueue, drop_draft, fill_usage, note_reflection
from swecli.store.playbook_scope import applies, concerns, is_current, load_bullets, made_by, seen_of
from swecli.store.playbook_standing import StandingCheckpoints
from swecli.store.playbook_turns import TurnRecords, note_turn
from swecli.store.playbook_undo import bring_back, newest, only_counts, take_back, taken_back_last
from swecli.store.playbook_write import last_number, write
from swecli.store.records import Draft, MarkedTurn
from swecli.store.sqlite.database import Database
from swecli.store.tables.columns import clean_text
from swecli.store.tables.sessions import BulletRow, DeltaRow, EvidenceRow, ReflectionRow


class PlaybookStore(ReflectionQueue):
    """Strategies, their evidence, the changes made to them, and what has been reflected upon."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.history = PlaybookHistory(database)
        self.turns = TurnRecords(database)
        self.standing = StandingCheckpoints(database)

    def load(self, session: Session) -> SessionPlaybook:
        """The bullets that apply to the session: its own, its project's and the user's; all but deleted ones."""
        with self._database.reading() as db:
            return load_bullets(db, session)

    def renew(self, session: Session) -> None:
        """Load the session's playbook anew where another process has changed it; else it costs next to nothing."""
        with self._database.reading() as db:
            playbook = None if is_current(db, session) else load_bullets(db, session)
        if playbook is not None:
            session.update_playbook(playbook)

    def apply(self, delta: Delta, session: Session) -> AppliedDelta:
        """Apply a delta, all of it or nothing; one whose id was applied before changes nothing and is given back.

        New bullets get numbers that were never used. The session's playbook is loaded anew.

        Raises:
            BadInput: an operation names no bullet that applies to the session, or cannot be carried out; or the delta
                is more than a turn may change (see `playbook_limits`).
        """
        with self._database.transaction() as db:
            row = _once(db, delta, session)
            playbook = load_bullets(db, session)
            applied = mapping.applied_of(row)
        session.update_playbook(playbook)
        return applied

    def undo(self, session: Session, n: int = 1, *, every: bool = False) -> list[AppliedDelta]:
        """Take back the newest `n` deltas of the session's project that concern it (fewer if there are fewer), the
        newest first. What another project changed of the user's strategies is that project's to take back.

        A delta that only counts bullets as shown (neutral) is no change that a user made or saw: such ones go along
        with the next older real change and are not among what is returned, unless `every` delta is to count.
        Every bullet they touched is again as it was (its last use apart, which no delta sets). The session's
        playbook is loaded anew.

        Raises:
            BadInput: there is nothing to take back, or another session has changed the same bullet since.
        """
        if n < 1:
            raise BadInput(f"{n} changes cannot be undone.", "Give a number from 1.")
        with self._database.transaction() as db:
            rows = newest(db, session, n, every)
            if not rows:
                elsewhere = select(DeltaRow.number).where(concerns(session), col(DeltaRow.undone).is_(False))
                hint = "What another project changed is undone there." if db.exec(elsewhere.limit(1)).first() else ""
                raise BadInput("There is no change of the playbook to undo.", hint)
            for row in rows:
                take_back(db, row)
            playbook = load_bullets(db, session)
            undone = [mapping.applied_of(row) for row in rows if every or not only_counts(row)]
        session.update_playbook(playbook)
        return undone

    def redo(self, session: Session, n: int = 1, *, every: bool = False) -> list[AppliedDelta]:
        """Bring back what the last `n` undos in the session's project took back (fewer if there are fewer), the last
        one first: with the same ids, counts and evidence, and what went along with each. The session's playbook is
        loaded anew.

        Raises:
            BadInput: nothing was taken back, or a strategy is not as the undo left it; then nothing is brought back.
        """
        if n < 1:
            raise BadInput(f"{n} changes cannot be brought back.", "Give a number from 1.")
        with self._database.transaction() as db:
            rows = taken_back_last(db, session, n, every)
            if not rows:
                raise BadInput("There is no undo of the playbook to take back.")
            for row in rows:
                bring_back(db, row)
            playbook = load_bullets(db, session)
            redone = [mapping.applied_of(row) for row in rows if every or not only_counts(row)]
        session.update_playbook(playbook)
        return redone

    def conclude(
        self, session: Session, draft: Draft, *, final: bool = True, marked: MarkedTurn | None = None
    ) -> AppliedDelta | None:
        """Apply what a reflection came to and note that it was made, in one: after a crash both are there or neither.

        A delta that the user took back before stays taken back. With `final` False the turn waits for another look.
        With `marked` the draft's delta is the user's mark on the turn: taken back, it takes the mark with it.
        Gives back the delta if it stands. The session's playbook is loaded anew.

        Raises:
            BadInput: as `apply`; nothing is noted then.
        """
        status = "failed" if draft.failure else "done"
        detail = draft.failure or "; ".join(draft.lines)
        with self._database.transaction() as db:
            row = _once(db, draft.delta, session) if draft.delta else None
            if row and marked:
                put_mark(db, row, marked)
            if final:
                tried = ReflectionRow(session_id=session.id, interaction=draft.interaction, status=status)
                tried.author, tried.detail = draft.author, detail
                fill_usage(tried, draft.usage, draft.cost)
                note_reflection(db, tried)
            if draft.errors:
                note_turn(db, session.id, draft.interaction, errors=draft.errors)
            drop_draft(db, session.id, draft.interaction)
            playbook = load_bullets(db, session)
            applied = mapping.applied_of(row) if row else None
        session.update_playbook(playbook)
        return applied if applied and not applied.undone else None

    def log(self, session: Session, limit: int = 20) -> list[AppliedDelta]:
        """The deltas that concern the session, newest first, those taken back too."""
        newest_first = select(DeltaRow).where(concerns(session)).order_by(col(DeltaRow.number).desc())
        with self._database.reading() as db:
            return seen_of(db, db.exec(newest_first.limit(max(0, limit))).all(), session)

    def made_of(self, session: Session, first: int, last: int) -> list[AppliedDelta]:
        """The deltas made of those turns of a session, newest first, those taken back too."""
        theirs = (made_by(session), col(DeltaRow.interaction).between(first, last))
        with self._database.reading() as db:
            found = db.exec(select(DeltaRow).where(*theirs).order_by(col(DeltaRow.number).desc())).all()
            return [mapping.applied_of(row) for row in found]

    def made(self, delta_id: str) -> bool:
        """Whether a delta was ever applied, also if it was taken back since."""
        with self._database.reading() as db:
            return db.exec(select(DeltaRow.number).where(col(DeltaRow.id) == delta_id)).first() is not None

    def get(self, bullet_id: str) -> Bullet | None:
        """A bullet in any state, a deleted one too."""
        with self._database.reading() as db:
            row = db.get(BulletRow, mapping.number_of(bullet_id))
            return None if row is None else mapping.bullet_of(row)

    def home(self, bullet_id: str) -> str:
        """The project in which a bullet was made, or last moved into; "" for an unknown one."""
        with self._database.reading() as db:
            row = db.get(BulletRow, mapping.number_of(bullet_id))
            return row.project if row else ""

    def find(self, ref: str, session: Session, *, gone_too: bool = False) -> Bullet:
        """The strategy that is meant and may be seen from the session: `P-7`, `p7`, `7`.

        Raises:
            BadInput: it is no id, or there is none of that id here; one that was removed only with `gone_too`.
        """
        name = short_id("P", ref) or short_id("P", f"P{ref}")
        if name is None:
            raise BadInput(f"{ref!r:.60} is no strategy.", "Strategies are written P-1, P-2, …")
        bullet = self.seen(name, session)
        if bullet is not None and (gone_too or bullet.state != "deleted"):
            return bullet
        if bullet is not None:
            raise BadInput(f"{name} was removed.", "`restore` makes it an active one again.")
        if self.history.unmade(name, session):
            raise BadInput(f"What added {name} was taken back.", "`redo` brings back what the last undo took.")
        raise BadInput(f"There is no strategy {name} here.", "The list shows those there are.")

    def seen(self, bullet_id: str, session: Session) -> Bullet | None:
        """A bullet in any state, a deleted one too, if it may be seen from the session."""
        which = select(BulletRow).where(col(BulletRow.number) == mapping.number_of(bullet_id), applies(session))
        with self._database.reading() as db:
            row = db.exec(which).first()
            return None if row is None else mapping.bullet_of(row)

    def verify(self, session: Session, stale: Mapping[str, str], fresh: Collection[str]) -> None:
        """Keep what a look for anchors came to. The session's playbook is loaded anew.

        Args:
            session: whose strategies were looked at; those for all projects stay as they are.
            stale: by id what is gone of what it names; those that are not named here are not stale any more.
            fresh: ids of those that name something, all of which was found: only these are verified.
        """
        with self._database.transaction() as db:
            for name, bullet in session.playbook.bullets.items():
                row = db.get(BulletRow, mapping.number_of(name))
                if row is not None and bullet.scope != "user":
                    row.stale = stale.get(name, "")
                    row.verified_at = datetime.now(UTC) if name in fresh else row.verified_at
            db.flush()
            playbook = load_bullets(db, session)
        session.update_playbook(playbook)

    def last_number(self) -> int:
        """The highest number that was ever given to a strategy, 0 before the first."""
        with self._database.reading() as db:
            return last_number(db)

    def evidence(self, bullet_id: str) -> list[Evidence]:
        """What speaks for and against a bullet, in the order it came."""
        theirs = select(EvidenceRow).where(col(EvidenceRow.bullet) == mapping.number_of(bullet_id))
        with self._database.reading() as db:
            return [mapping.evidence_of(row) for row in db.exec(theirs.order_by(col(EvidenceRow.id))).all()]


def _once(db: sqlmodel.Session, delta: Delta, session: Session) -> DeltaRow:
    """The row of a delta, which is applied if it never was."""
    row = db.exec(select(DeltaRow).where(col(DeltaRow.id) == clean_text(delta.id))).first()
    return write(db, delta, session) if row is None else row
