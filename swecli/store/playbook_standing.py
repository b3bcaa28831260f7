"""How far a project's turns are counted into what its strategies are worth, so that a turn does not read them all.

A checkpoint is what was worked out up to one turn. It is thrown away as soon as the past it rests on changes: a turn
it covers is judged anew, a verdict on one comes or is taken back, a session is deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlmodel
from sqlalchemy import ColumnElement, ScalarSelect, and_, case, or_
from sqlalchemy.engine import CursorResult
from sqlmodel import col, select

from swecli.models.playbook import Delta
from swecli.models.session import Session
from swecli.store import playbook_mapping as mapping
from swecli.store.playbook_scope import project_of
from swecli.store.playbook_tables import StandingRow, TurnRow
from swecli.store.records import TurnRecord
from swecli.store.sqlite.database import Database
from swecli.store.tables.sessions import BulletRow, DeltaRow, InteractionRow, SessionRow

FEW = 100  # sessions that one question names
EVERYWHERE = "*"  # in the place of a project: the turns of all of them, for strategies that apply in all of them
_NEVER = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What was worked out up to the turn at `upto` (a row of the database), begun at `latest`; `state` is ""
    while there is none. `era` grows with every change of the past: nothing older may be kept."""

    era: int = 0
    upto: int = 0
    latest: datetime = _NEVER
    state: str = ""


@dataclass(frozen=True, slots=True)
class Uncounted:
    """Turns that a checkpoint does not cover, the oldest first, each with its place; and the verdicts given then.
    `vouched` are the strategies that the user took in again after the turns it covers, by when."""

    since: Checkpoint
    turns: tuple[TurnRecord, ...]
    places: tuple[tuple[int, datetime], ...]
    verdicts: tuple[Delta, ...]
    vouched: tuple[tuple[str, datetime], ...] = ()

    def upto(self, count: int, state: str) -> Checkpoint:
        """The checkpoint after the first `count` of them."""
        latest = max(self.since.latest, *(when for _, when in self.places[:count]))
        return Checkpoint(self.since.era, self.places[count - 1][0], latest, state)


class StandingCheckpoints:
    """One checkpoint for each project, and one for all of them together."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def uncounted(self, session: Session, *, whole: bool = False, everywhere: bool = False) -> Uncounted:
        """What is to be added to the checkpoint of a session's project, or of all projects; with `whole`, to nothing.

        A turn of any project has a topic of that project: what is hard in one may be easy in another.
        """
        project = EVERYWHERE if everywhere else project_of(session)
        with self._database.reading() as db:
            known, vouched = _known(db, project, whole=whole)
            since = Checkpoint(known.era) if whole else known
            found = _turns(db, project, since)
            turns = tuple(record for _, _, record in found)
            places = tuple((place, when) for place, when, _ in found)
            return Uncounted(since, turns, places, _verdicts(db, project, turns), vouched)

    def keep(self, session: Session, checkpoint: Checkpoint, *, everywhere: bool = False) -> bool:
        """Keep it, unless the past has changed since it was read. Returns whether it was kept."""
        project = EVERYWHERE if everywhere else project_of(session)
        with self._database.transaction() as db:
            row = db.get(StandingRow, project) or StandingRow(project=project)
            if row.era != checkpoint.era:
                return False
            row.upto, row.latest, row.state = checkpoint.upto, checkpoint.latest, checkpoint.state
            db.add(row)
            return True


def forget(db: sqlmodel.Session, session_id: str, since: int) -> None:
    """Throw away the checkpoints of a session's project and of all projects if they cover the interaction `since` or a
    later one of that session; and let none be kept that was begun before this."""
    project = select(SessionRow.project).where(col(SessionRow.id) == session_id)
    covered = col(StandingRow.upto) >= _first(session_id, since)
    changed = (
        sqlmodel.update(StandingRow)
        .where(or_(col(StandingRow.project) == project.scalar_subquery(), col(StandingRow.project) == EVERYWHERE))
        .values(
            era=col(StandingRow.era) + 1,
            upto=case((covered, 0), else_=col(StandingRow.upto)),
            latest=case((covered, _NEVER), else_=col(StandingRow.latest)),
            state=case((covered, ""), else_=col(StandingRow.state)),
        )
        .execution_options(synchronize_session=False)
    )
    done = db.connection().execute(changed)
    assert isinstance(done, CursorResult)
    if done.rowcount < 2 and (found := db.exec(project).first()) is not None:
        for name in (found, EVERYWHERE):
            if db.get(StandingRow, name) is None:
                db.add(StandingRow(project=name, era=1))
        db.flush()


def forget_all(db: sqlmodel.Session, project: str) -> None:
    """Throw away every checkpoint: a strategy of all projects may be in each; and let none be kept that was begun
    before this, of that project also where there is none yet."""
    for name in (project, EVERYWHERE):
        if db.get(StandingRow, name) is None:
            db.add(StandingRow(project=name))
    db.flush()
    anew = {"era": col(StandingRow.era) + 1, "upto": 0, "latest": _NEVER, "state": ""}
    db.exec(sqlmodel.update(StandingRow).values(**anew).execution_options(synchronize_session=False))


def _known(db: sqlmodel.Session, project: str, *, whole: bool) -> tuple[Checkpoint, tuple[tuple[str, datetime], ...]]:
    """A project's checkpoint, and the strategies that the user took in again after it (with `whole`, ever), the
    earliest first: in one question."""
    later = col(BulletRow.vouched_at) >= (_NEVER if whole else col(StandingRow.latest))
    which = sqlmodel.select(StandingRow, BulletRow.number, BulletRow.vouched_at).join(BulletRow, later, isouter=True)
    found = db.exec(which.where(col(StandingRow.project) == project)).all()
    ever = sqlmodel.select(BulletRow.number, BulletRow.vouched_at).where(col(BulletRow.vouched_at) >= _NEVER)
    pairs = [(number, when) for _, number, when in found] if found else db.exec(ever).all()
    in_order = sorted((when, number) for number, when in pairs if number is not None and when is not None)
    row = found[0][0] if found else None
    known = Checkpoint(row.era, row.upto, row.latest, row.state) if row else Checkpoint()
    return known, tuple((f"P-{number}", when) for when, number in in_order)


def _first(session_id: str, since: int) -> ScalarSelect[int | None]:
    theirs = (col(InteractionRow.session_id) == session_id, col(InteractionRow.number) >= since)
    return select(InteractionRow.id).where(*theirs).order_by(col(InteractionRow.number)).limit(1).scalar_subquery()


def _turns(db: sqlmodel.Session, project: str, since: Checkpoint) -> Sequence[tuple[int, datetime, TurnRecord]]:
    """The turns after it of which something is known; a turn and its copies in forks are one."""
    same_turn = and_(
        col(TurnRow.session_id) == col(InteractionRow.session_id),
        col(TurnRow.interaction) == col(InteractionRow.number),
    )
    turn, said = InteractionRow, TurnRow
    what = sqlmodel.select(  # type: ignore[call-overload]  # more columns than its overloads count
        turn.id, turn.started_at, turn.session_id, turn.number, turn.cited, said.good, said.weight, said.topic,
        SessionRow.project,
    )  # fmt: skip
    which = what.select_from(InteractionRow).join(TurnRow, same_turn)
    which = which.join(SessionRow, col(SessionRow.id) == col(InteractionRow.session_id))
    which = which.where(_within(project), col(InteractionRow.id) > since.upto)
    once: dict[tuple[int, datetime], tuple[int, datetime, TurnRecord]] = {}
    for place, when, session_id, number, cited, good, weight, topic, home in db.exec(which.order_by(col(turn.id))):
        topic = f"{home}: {topic}" if project == EVERYWHERE else topic
        record = TurnRecord(session_id, number, cited=tuple(cited or ()), good=good, weight=weight, topic=topic)
        once.setdefault((number, when), (place, when, record))
    for copied in _counted_before(db, project, since, [key for key in once if key[1] <= since.latest]):
        once.pop(copied, None)
    return list(once.values())


def _within(project: str) -> ColumnElement[bool]:
    """Whether a turn's session is of the project; of any, everywhere."""
    return sqlmodel.true() if project == EVERYWHERE else col(SessionRow.project) == project


def _counted_before(
    db: sqlmodel.Session, project: str, since: Checkpoint, copies: Sequence[tuple[int, datetime]]
) -> Sequence[tuple[int, datetime]]:
    """Of turns that may be copies, by number and beginning: which ones there are among those that are counted."""
    if not copies:
        return []
    began = [when for _, when in copies]
    which = sqlmodel.select(InteractionRow.number, InteractionRow.started_at)
    which = which.join(SessionRow, col(SessionRow.id) == col(InteractionRow.session_id))
    which = which.where(_within(project), col(InteractionRow.id) <= since.upto)
    return db.exec(which.where(col(InteractionRow.started_at).between(min(began), max(began)))).all()


def _verdicts(db: sqlmodel.Session, project: str, turns: Sequence[TurnRecord]) -> tuple[Delta, ...]:
    """The changes that stand and were made of these turns or later ones of their sessions, the oldest first."""
    first: dict[str, int] = {}
    for turn in turns:
        first[turn.session_id] = min(turn.interaction, first.get(turn.session_id, turn.interaction))
    what = sqlmodel.select(DeltaRow.id, DeltaRow.session_id, DeltaRow.interaction, DeltaRow.author, DeltaRow.ops)  # type: ignore[call-overload]
    here = sqlmodel.true() if project == EVERYWHERE else col(DeltaRow.project) == project
    which = what.where(here, col(DeltaRow.undone) == sqlmodel.false())
    if len(first) <= FEW:  # more of them are read with all the others
        since = (and_(col(DeltaRow.session_id) == s, col(DeltaRow.interaction) >= n) for s, n in first.items())
        which = which.where(or_(sqlmodel.false(), *since))
    return tuple(
        Delta(name, tuple(map(mapping.op_from_json, ops)), author, session_id, interaction)
        for name, session_id, interaction, author, ops in db.exec(which.order_by(col(DeltaRow.number)))
    )
