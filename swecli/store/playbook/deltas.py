"""Apply, undo and redo deltas and marks of turns, with a snapshot of every bullet that a delta touches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, get_args

import sqlmodel
from sqlalchemy import Text, cast, func, insert, text
from sqlmodel import col, select

from swecli.models.doubts import Doubt
from swecli.models.errors import BadInput
from swecli.models.playbook import (
    LIVE,
    MAX_CHARACTERS,
    MAX_PATHS,
    MAX_WHEN,
    OUTSIDE,
    TIDIED,
    Bullet,
    Delta,
    Evidence,
    Kind,
    Op,
    OpName,
    Scope,
    State,
    Trust,
    Verdict,
    length_problem,
)
from swecli.models.session import Session
from swecli.redact import redact
from swecli.store.journal.deltas import UNDOABLE, to_applied
from swecli.store.journal.reader import number_of, project_of
from swecli.store.journal.values import clean_text, values
from swecli.store.playbook.bullets import Bullets, applies
from swecli.store.records import TurnLessons
from swecli.store.tables.playbook import BulletRow, DeltaRow, EvidenceRow
from swecli.store.tables.sessions import InteractionRow
from swecli.store.tables.turns import TurnRow
from swecli.values import dataclass

USER_AUTHORS = frozenset({"user", "import"})  # their deltas have no caps


@dataclass(frozen=True, slots=True)
class _Limit:
    """How many operations of a kind rules and models may make in one turn."""

    includes: Callable[[Op], bool]
    maximum: int
    name: str


_CAPS = (
    _Limit(lambda op: op.op == "ADD", 3, "new strategies"),
    _Limit(lambda op: op.op == "UPDATE" and "content" in op.fields, 2, "changes of strategies"),
    _Limit(
        lambda op: op.op in ("REMOVE", "PIN", "QUARANTINE", "RESTORE"),
        0,
        "operations that only the user may perform",
    ),
)
_CHOICES = {
    "kind": get_args(Kind),
    "scope": get_args(Scope),
    "state": get_args(State),
    "trust": get_args(Trust),
    "doubt": tuple(Doubt),
}
_LISTS = ("anchors", "replaces", "paths")
_STATES: dict[OpName, State] = {
    "REMOVE": "deleted",
    "PIN": "pinned",
    "QUARANTINE": "quarantined",
    "RESTORE": "active",
}
_OUTCOME = ("good", "weight", "signal", "reason")  # what a mark sets of a turn's record
_SCOPES = ("session", "project", "user")  # from narrow to wide
_DECIDE_COUNTS = ("content", "vouched_at")  # fields of a bullet that decide which evidence counts


class Deltas:
    """The deltas in the transaction `db`."""

    def __init__(self, db: sqlmodel.Session) -> None:
        self._db = db
        self._bullets = Bullets(db)

    def find(self, delta_id: str) -> DeltaRow | None:
        """Return the row of a delta."""
        return self._db.exec(select(DeltaRow).filter_by(id=clean_text(delta_id))).first()

    @property
    def changed_numbers(self) -> set[int]:
        """The numbers of the bullets that this transaction changed."""
        return self._bullets.changed

    def find_undoable(self, session: Session, n: int) -> list[DeltaRow]:
        """Return the newest `n` deltas visible to a session, newest first, except those that only add evidence."""
        changes = (cast(col(DeltaRow.before), Text) != "{}") | col(DeltaRow.reason).like("mark %")
        undoable = _visible_to(session).where(changes).filter_by(undone=False)
        newest = undoable.order_by(col(DeltaRow.number).desc()).limit(n)
        return list(self._db.exec(newest).all())

    def find_undone(self, session: Session, n: int) -> list[DeltaRow]:
        """Return the `n` most recently undone deltas visible to a session."""
        redoable = _visible_to(session).where(col(DeltaRow.turned) > 0).filter_by(undone=True)
        newest = redoable.order_by(col(DeltaRow.turned).desc()).limit(n)
        return list(self._db.exec(newest).all())

    def learn(self, session: Session, lessons: TurnLessons) -> tuple[DeltaRow | None, bool]:
        """Apply the delta of lessons, once, with the mark of their turn, in place of those that it replaces. Returns
        its row, None if they have none, and whether it is new."""
        delta = lessons.delta
        if delta is None:
            return None, False
        stored_row = self.find(delta.id)
        if stored_row is not None:
            return stored_row, False
        for delta_id in lessons.replaces:
            earlier = self.find(delta_id)
            if earlier is not None and not earlier.undone:
                self.revert(earlier, redo=False)
                earlier.turned = 0  # not undone by the user, so redo must not find it
        row = self.apply(delta, session, lessons.verdicts)
        if lessons.mark:
            self.mark_turn(row, lessons.mark, lessons.why)
        self._db.flush()
        return row, True

    def apply(self, delta: Delta, session: Session, verdicts: Sequence[Verdict] = ()) -> DeltaRow:
        """Insert and apply a delta with its verdicts. Raises BadInput, which rolls the transaction back."""
        delta = replace(delta, session_id=delta.session_id or session.id)
        bullet_ids = (op.bullet_id for op in delta.ops if op.bullet_id)
        rows = self._bullets.rows(bullet_ids, applies(session))
        self._check_caps(delta, session, rows)
        before: dict[str, dict[str, Any]] = {}
        added: list[Bullet] = []
        evidence: list[dict[str, Any]] = []
        newest = self._bullets.last_number()
        for op in delta.ops:
            if op.op == "ADD":
                bullet = _new_bullet(op, delta, session, f"P-{newest + len(added) + 1}")
                added.append(bullet)
                # the evidence of a hand-written strategy is its author
                author = Evidence(delta.author, bullet.content, delta.session_id, trust="user")
                evidence += _evidence_columns(op.evidence or (author,), bullet.number, delta)
            else:
                row = _find_row(rows, op)
                before.setdefault(op.bullet_id, row.snapshot())
                _change_row(row, op, delta, session)
                evidence += _evidence_columns(op.evidence, row.number, delta)
        self._bullets.insert(added, session)
        after = {bullet_id: rows[bullet_id].snapshot() for bullet_id in before}

        scopes = [snapshot["scope"] for snapshot in (*before.values(), *after.values())]
        scopes += [bullet.scope for bullet in added]
        reach = max(scopes, key=_SCOPES.index, default="project" if verdicts else "session")
        stored_row = self._insert(delta, session, reach, before, added)
        if evidence:
            owned = [item | {"delta": stored_row.number} for item in evidence]
            self._db.connection().execute(insert(EvidenceRow), owned)
        self._bullets.add_verdicts(stored_row, verdicts)
        # after the verdicts: those of this delta are on the text that it replaces
        self._bullets.recompute(
            [
                rows[bullet_id]
                for bullet_id, snapshot in before.items()
                if any(snapshot[name] != after[bullet_id][name] for name in _DECIDE_COUNTS)
            ]
        )
        self._db.refresh(stored_row)  # the columns clean their values
        return stored_row

    def _insert(
        self,
        delta: Delta,
        session: Session,
        reach: str,
        before: Mapping[str, dict[str, Any]],
        added: Sequence[Bullet],
    ) -> DeltaRow:
        """Insert the row of a delta, with the snapshots of the bullets that it changed; those of added ones are
        None."""
        columns = values(delta, DeltaRow.stored_fields())
        row = DeltaRow(project=project_of(session), reach=reach, **columns)
        row.ops = [{name: value for name, value in asdict(op).items() if value} for op in delta.ops]
        row.added = [bullet.id for bullet in added]
        row.refused = delta.refused
        row.before = {**before, **dict.fromkeys(row.added)}
        self._db.add(row)
        self._db.flush()
        return row

    def revert(self, row: DeltaRow, *, redo: bool) -> None:
        """Undo a delta, or redo an undone one with the same ids, counts and evidence. Raises BadInput if a later delta
        changed one of its bullets."""
        self._check_unchanged(row)
        bullets = self._bullets.rows(row.before)
        if redo:
            snapshots = row.kept or {}
        else:
            snapshots = row.before
            row.kept = {bullet_id: bullet.snapshot() for bullet_id, bullet in bullets.items()}
        for bullet_id, snapshot in snapshots.items():
            if snapshot is None:
                bullets[bullet_id].state = "deleted"
            elif "content" in snapshot:  # snapshots of old versions may lack it
                restored = bullets.get(bullet_id) or BulletRow(
                    number=number_of(bullet_id), content=snapshot["content"]
                )
                restored.restore(snapshot)
                self._db.add(restored)
        self._revert_mark(row, redo=redo)
        row.undone = not redo
        newest = sqlmodel.select(func.coalesce(func.max(DeltaRow.turned), 0))
        row.turned = 1 + int(self._db.exec(newest).one())
        self._db.flush()
        judged_numbers = self._db.exec(select(EvidenceRow.bullet).filter_by(delta=row.number)).all()
        concerned = {*row.before, *(f"P-{number}" for number in judged_numbers)}
        self._bullets.recompute(self._bullets.rows(concerned).values())
        self._db.flush()

    def mark_turn(self, row: DeltaRow, mark: str, reason: str) -> None:
        """Mark a delta's turn; the delta stores the outcome before and after. Raises BadInput if the turn does not
        exist."""
        before = self._turn_outcome(row)
        if before is None:
            raise BadInput(
                f"There is no turn T{row.interaction} in session {row.session_id} to mark."
            )
        after = {
            "good": mark == "good",
            "weight": 1.0,
            "signal": "mark",
            "reason": clean_text(reason),
        }
        row.judged = {"before": before, "after": after | {"mark": mark, "why": clean_text(reason)}}
        self._set_turn_outcome(row, row.judged["after"])
        self._db.add(row)
        self._db.flush()

    def _revert_mark(self, row: DeltaRow, *, redo: bool) -> None:
        """Restore the outcome from before a mark, unless it was marked again since; with `redo`, set the mark's
        outcome. Raises BadInput if a redone turn was marked otherwise meanwhile."""
        present = self._turn_outcome(row) if row.judged else None
        if present is None:  # the delta marks no turn, or the session was deleted
            return
        expected, target = ("before", "after") if redo else ("after", "before")
        # marks of older versions have no reason
        if present == present | row.judged[expected]:
            self._set_turn_outcome(row, row.judged[target])
        elif redo:
            raise BadInput(
                f"T{row.interaction} was marked again after that undo.", "Mark it again."
            )

    def _turn_outcome(self, row: DeltaRow) -> dict[str, Any] | None:
        """Return the current outcome and mark of a delta's turn, or None if the turn does not exist."""
        turn = InteractionRow.find(self._db, row.session_id, row.interaction)
        if turn is None:
            return None
        record = TurnRow.find(self._db, row.session_id, turn.number)
        return values(record, _OUTCOME) | values(turn, ("mark", "why"))

    def _set_turn_outcome(self, row: DeltaRow, outcome: dict[str, Any]) -> None:
        turn = InteractionRow.find(self._db, row.session_id, row.interaction)
        if turn is None:
            return
        turn.mark = outcome["mark"]
        turn.why = outcome["why"]
        fields = {name: outcome[name] for name in _OUTCOME if name in outcome}
        TurnRow.record(self._db, row.session_id, turn.number, **fields)

    def _check_unchanged(self, row: DeltaRow) -> None:
        """Raises BadInput if a later delta that is not undone touched one of the same bullets."""
        if not row.before:
            return
        is_later = (col(DeltaRow.number) > row.number, cast(col(DeltaRow.before), Text) != "{}")
        later = select(DeltaRow).where(*is_later).filter_by(undone=False)
        for other in self._db.exec(later).all():
            shared = sorted(row.before.keys() & other.before.keys())
            if shared:
                place = f"outside of a session, in {other.project}"
                if other.session_id:
                    place = f"in session {other.session_id}"
                raise BadInput(
                    f"{shared[0]} was changed later, {place}.", "Undo that change there first."
                )

    def _check_caps(self, delta: Delta, session: Session, rows: Mapping[str, BulletRow]) -> None:
        """Raises BadInput if rules and models change more in one turn than allowed, earlier deltas of the turn
        included. Operations with the user's words as evidence are not counted, nor proposals that the user is asked
        about, nor what `/playbook tidy` removes of strategies that are not the user's."""
        if delta.author in USER_AUTHORS:
            return
        ops = [op for op in delta.ops if _is_models_own(op)]
        if delta.reason == TIDIED:
            ops = [op for op in ops if not _removes_models_own(op, rows)]
        earlier = [op for op in self._earlier_ops(delta, session) if _is_models_own(op)]
        for limit in _CAPS:
            count = sum(map(limit.includes, ops))
            total = count + sum(map(limit.includes, earlier))
            if count and total > limit.maximum:
                raise BadInput(
                    f"{total} {limit.name} in one turn, at most {limit.maximum}: nothing was applied."
                )

    def _earlier_ops(self, delta: Delta, session: Session) -> list[Op]:
        """Return the operations that rules and models made before in the turn of a delta."""
        if not delta.ops or delta.interaction is None or not delta.session_id:
            return []
        of_turn = select(DeltaRow).filter_by(
            session_id=delta.session_id,
            interaction=delta.interaction,
            project=project_of(session),
            undone=False,
        )
        rows = [row for row in self._db.exec(of_turn).all() if row.author not in USER_AUTHORS]
        return [op for row in rows for op in to_applied(row).delta.ops]


def _is_models_own(op: Op) -> bool:
    return not op.in_users_words and not op.doubt.is_about_users_words


def _removes_models_own(op: Op, rows: Mapping[str, BulletRow]) -> bool:
    row = rows.get(op.bullet_id)
    if op.op != "REMOVE" or row is None:
        return False
    return row.trust != "user" and row.state != "pinned" and row.scope != "user"


def _visible_to(session: Session) -> Any:
    """Select the deltas of a session, and those of its project whose bullets others see."""
    visible = text(UNDOABLE).bindparams(own=session.id, project=project_of(session))
    return select(DeltaRow).where(visible)


def _evidence_columns(
    evidence: Sequence[Evidence], number: int | None, delta: Delta
) -> list[dict[str, Any]]:
    """Return the rows of the evidence that an operation brings on a bullet."""
    rows = []
    for item in evidence:
        columns = values(item, EvidenceRow.stored_fields())
        columns |= {"bullet": number, "kind": ""}
        columns["created_at"] = item.created_at or delta.created_at
        rows.append(columns)
    return rows


def _new_bullet(op: Op, delta: Delta, session: Session, bullet_id: str) -> Bullet:
    """Return the bullet of an ADD; an imported one may bring the time when it was made. Raises BadInput."""
    if op.bullet_id:
        raise BadInput(f"ADD names {op.bullet_id}, but the store assigns the id of a new strategy.")
    fields = dict(op.fields)
    created_at = delta.created_at
    if delta.author == "import" and "created_at" in fields:
        created_at = datetime.fromisoformat(fields.pop("created_at"))
    written_fields = _validated_fields(replace(op, fields=fields))
    if "content" not in written_fields:
        raise BadInput("ADD has no content.")
    _check_trust(op, delta, written_fields, None)
    if not op.evidence and delta.author not in USER_AUTHORS:
        raise BadInput("ADD has no evidence.")
    bullet = Bullet(**{"id": bullet_id, "created_at": created_at, **written_fields})
    if bullet.scope == "session" and not session.id:
        raise BadInput(
            "There is no session that a strategy of this scope could belong to.",
            "Use project or user.",
        )
    return bullet


def _find_row(rows: Mapping[str, BulletRow], op: Op) -> BulletRow:
    """Return the row that an operation changes. Raises BadInput."""
    row = rows.get(op.bullet_id)
    if row is None:
        raise BadInput(
            f"The playbook has no {op.bullet_id or 'strategy without an id'}.",
            "See /playbook for those it has.",
        )
    if row.state == "deleted" and op.op != "RESTORE":
        raise BadInput(
            f"{op.bullet_id} was removed from the playbook.", "`/playbook undo` restores it."
        )
    return row


def _change_row(row: BulletRow, op: Op, delta: Delta, session: Session) -> None:
    """Apply an operation other than ADD. Raises BadInput."""
    if op.op == "UPDATE":
        changes: dict[str, Any] = _validated_fields(op)
        if not changes:
            raise BadInput(f"UPDATE of {op.bullet_id} changes nothing.")
        _check_trust(op, delta, changes, row)
        if changes.get("content", row.content) != row.content:
            # the anchors of the new content are not checked yet
            changes |= {"stale": "", "verified_at": None}
        if changes.get("scope", row.scope) != row.scope:
            # it belongs to the session that changes it
            changes |= {"session_id": delta.session_id, "project": project_of(session)}
    elif op.op in _STATES:
        changes = {"state": _STATES[op.op]}
    else:
        raise BadInput(f"Unknown playbook operation {op.op!r}.")
    is_users = delta.author in USER_AUTHORS or op.in_users_words
    is_restored = op.op == "RESTORE" or op.fields.get("state") == "active"
    if is_users and is_restored and changes.get("state", row.state) == "active":
        # the user's yes also settles that what it names is gone
        changes |= {"vouched_at": delta.created_at, "stale": ""}
    if changes.get("state") in LIVE:
        # the user, or another exchange, has decided about it
        changes = {"doubt": Doubt.NONE, "replaces": ()} | changes
    changes["updated_at"] = delta.created_at
    for name, value in changes.items():
        setattr(row, name, value)


def _check_trust(op: Op, delta: Delta, fields: Mapping[str, Any], row: BulletRow | None) -> None:
    """Raises BadInput if rules or a model claim the user's trust, change the user's words, or activate outside content
    without the user's words as evidence. `row` is that of the bullet that is changed, None for a new one."""
    if delta.author in USER_AUTHORS or op.in_users_words:
        return
    is_trusted = row is not None and row.trust == "user"
    if fields.get("trust") == "user" and not is_trusted:
        raise BadInput(f"{op.op} claims the user's trust without the user's words as evidence.")
    if row is not None and is_trusted and fields.get("content", row.content) != row.content:
        raise BadInput(f"{op.bullet_id} is in the user's words: only the user may change it.")
    if row is None and fields.get("trust") in OUTSIDE and fields.get("state", "active") in LIVE:
        raise BadInput("ADD comes from outside and would be active: it needs the user's approval.")


def _validated_fields(op: Op) -> dict[str, Any]:
    """Return an operation's fields, validated and cleaned. Raises BadInput."""
    return {name: _validate_field(op, name, value) for name, value in op.fields.items()}


def _validate_field(op: Op, name: str, value: Any) -> Any:
    if name in _CHOICES:
        if value in _CHOICES[name]:
            return value
        raise BadInput(
            f"{op.op} has the {name} {value!r}, which is not one of {', '.join(_CHOICES[name])}."
        )
    if name in _LISTS and isinstance(value, (list, tuple)):
        if all(isinstance(item, str) for item in value):
            return tuple(map(clean_text, value[:MAX_PATHS] if name == "paths" else value))
    elif name == "when" and isinstance(value, str):
        words = redact(clean_text(value)).split()[:MAX_WHEN]
        return " ".join(words)[:MAX_CHARACTERS]
    elif name in ("content", "section") and isinstance(value, str) and value.strip():
        clean = clean_text(value)
        problem = length_problem(clean) if name == "content" else ""
        if problem:
            raise BadInput(f"{problem.capitalize()}.", "Say it shorter.")
        return clean
    raise BadInput(f"{op.op} has a {name} that cannot be used: {value!r:.60}")
