"""Apply, undo and redo deltas and marks of turns, with a snapshot of every bullet that a delta touches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, get_args

import sqlmodel
from sqlalchemy import Text, cast, func, insert, text
from sqlmodel import col, select

from swecli.models.doubts import is_asked
from swecli.models.errors import BadInput
from swecli.models.playbook import (
    CONSOLIDATED,
    LIVE,
    MAX_CHARACTERS,
    MAX_WHEN,
    OUTSIDE,
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
from swecli.store.playbook.counts import IMPORTED, Counts
from swecli.store.records import TurnLessons
from swecli.store.tables.playbook import BulletRow, DeltaRow, EvidenceRow
from swecli.store.tables.sessions import InteractionRow
from swecli.store.tables.turns import TurnRow

FREE = frozenset({"user", "import"})  # authors without caps: both are the user
_CAPS: tuple[tuple[Callable[[Op], bool], int, str], ...] = (
    (lambda op: op.op == "ADD", 3, "new strategies"),
    (lambda op: op.op == "UPDATE" and "content" in op.fields, 2, "changes of strategies"),
    (
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
}
_STATES: dict[OpName, State] = {
    "REMOVE": "deleted",
    "PIN": "pinned",
    "QUARANTINE": "quarantined",
    "RESTORE": "active",
}
_PAST = ("helpful", "harmful", "neutral", "uses", "created_at", "updated_at", "last_used")
_OUTCOME = ("good", "weight", "signal", "reason")  # what a mark sets of a turn's record
_SCOPES = ("session", "project", "user")  # from narrow to wide


class Deltas:
    """The deltas in the transaction `db`."""

    def __init__(self, db: sqlmodel.Session) -> None:
        self._db, self._bullets = db, Bullets(db)

    def find(self, delta_id: str) -> DeltaRow | None:
        """Return the row of a delta."""
        return self._db.exec(select(DeltaRow).filter_by(id=clean_text(delta_id))).first()

    @property
    def changed(self) -> set[int]:
        """The numbers of the bullets that this transaction changed."""
        return self._bullets.changed

    def find_undoable(self, session: Session, n: int) -> list[DeltaRow]:
        """Return the newest `n` deltas visible to a session, newest first, except those that only add evidence."""
        changes = (cast(col(DeltaRow.before), Text) != "{}") | col(DeltaRow.reason).like("mark %")
        which = _visible_to(session).where(changes).filter_by(undone=False)
        newest = which.order_by(col(DeltaRow.number).desc()).limit(n)
        return list(self._db.exec(newest).all())

    def find_undone(self, session: Session, n: int) -> list[DeltaRow]:
        """Return the `n` most recently undone deltas visible to a session."""
        which = _visible_to(session).where(col(DeltaRow.turned) > 0).filter_by(undone=True)
        newest = which.order_by(col(DeltaRow.turned).desc()).limit(n)
        return list(self._db.exec(newest).all())

    def learn(self, session: Session, lessons: TurnLessons) -> tuple[DeltaRow | None, bool]:
        """Apply the delta of lessons, once, with the mark of their turn, in place of those that it replaces. Returns
        its row, None if they have none, and whether it is new."""
        delta = lessons.delta
        if delta is None:
            return None, False
        known = self.find(delta.id)
        if known is not None:
            return known, False
        for name in lessons.replaces:
            earlier = self.find(name)
            if earlier is not None and not earlier.undone:
                self.revert(earlier, redo=False)
                earlier.turned = 0  # not undone by the user, so redo must not find it
        row = self.apply(delta, session, lessons.verdicts)
        if lessons.mark:
            self.mark_turn(row, lessons.mark, lessons.why)
        self._db.flush()
        return row, True

    def hold_back(self, names: Sequence[str]) -> None:
        """Note that the counts of these bullets kept them out of a turn."""
        self._bullets.hold_back(names)

    def apply(self, delta: Delta, session: Session, verdicts: Sequence[Verdict] = ()) -> DeltaRow:
        """Insert and apply a delta with its verdicts. Raises BadInput, which rolls the transaction back."""
        delta = replace(delta, session_id=delta.session_id or session.id)
        rows = self._bullets.rows(
            (op.bullet_id for op in delta.ops if op.bullet_id), applies(session)
        )
        self._check_caps(delta, session, rows)
        before, new, evidence = dict[str, Any](), list[Bullet](), list[dict[str, Any]]()
        newest = self._bullets.last_number()
        for op in delta.ops:
            if op.op == "ADD":
                bullet, counts = _new_bullet(op, delta, session, f"P-{newest + len(new) + 1}")
                new.append(bullet)
                evidence += counts
                # the evidence of a hand-written strategy is its author
                found = op.evidence or (
                    Evidence(delta.author, bullet.content, delta.session_id, trust="user"),
                )
                number = bullet.number
            else:
                changed = _find_row(rows, op)
                before.setdefault(op.bullet_id, changed.snapshot())
                _change_row(changed, op, delta, session)
                found, number = op.evidence, changed.number or 0
            at = {"bullet": number, "kind": ""}
            evidence += [
                at
                | values(item, EvidenceRow.stored_fields())
                | {"created_at": item.created_at or delta.created_at}
                for item in found
            ]
        self._bullets.insert(new, session)
        after = {name: rows[name].snapshot() for name in before}
        scopes = [value["scope"] for value in (*before.values(), *after.values())] + [
            one.scope for one in new
        ]
        reach = max(scopes, key=_SCOPES.index, default="project" if verdicts else "session")
        same = values(delta, DeltaRow.stored_fields())
        row = DeltaRow(project=project_of(session), reach=reach, **same)
        row.ops = [{name: value for name, value in asdict(op).items() if value} for op in delta.ops]
        row.added = [one.id for one in new]
        row.refused, row.before = delta.refused, before | dict.fromkeys(row.added)
        self._db.add(row)
        self._db.flush()
        if evidence:
            owned = [item | {"delta": None if item["kind"] else row.number} for item in evidence]
            self._db.connection().execute(insert(EvidenceRow), owned)
        # they decide on which evidence counts
        fields = ("content", "vouched_at")
        self._bullets.recompute(
            [rows[name] for name in after if any(before[name][f] != after[name][f] for f in fields)]
        )
        self._bullets.add_verdicts(row, verdicts)
        self._db.refresh(row)  # the columns clean their values
        return row

    def revert(self, row: DeltaRow, *, redo: bool) -> None:
        """Undo a delta, or redo an undone one with the same ids, counts and evidence. Raises BadInput if a later delta
        changed one of its bullets."""
        self._check_unchanged(row)
        rows = self._bullets.rows(row.before)
        forms = (row.kept or {}) if redo else row.before
        if not redo:
            row.kept = {name: found.snapshot() for name, found in rows.items()}
        for name, value in forms.items():
            if value is None:
                rows[name].state = "deleted"
            elif "content" in value:  # snapshots of old versions may lack it
                restored = rows.get(name) or BulletRow(
                    number=number_of(name), content=value["content"]
                )
                restored.restore(value)
                self._db.add(restored)
        self._revert_mark(row, redo=redo)
        row.undone = not redo
        newest = sqlmodel.select(func.coalesce(func.max(DeltaRow.turned), 0))
        row.turned = 1 + int(self._db.exec(newest).one())
        self._db.flush()
        judged = self._db.exec(select(EvidenceRow.bullet).filter_by(delta=row.number)).all()
        self._bullets.recompute(
            self._bullets.rows({*row.before, *(f"P-{number}" for number in judged)}).values()
        )
        self._db.flush()

    def mark_turn(self, row: DeltaRow, mark: str, why: str) -> None:
        """Mark a delta's turn; the delta stores the outcome before and after. Raises BadInput if the turn does not
        exist."""
        if (before := self._turn_outcome(row)) is None:
            raise BadInput(
                f"There is no turn T{row.interaction} in session {row.session_id} to mark."
            )
        after = {"good": mark == "good", "weight": 1.0, "signal": "mark", "reason": clean_text(why)}
        row.judged = {"before": before, "after": after | {"mark": mark, "why": clean_text(why)}}
        self._set_turn_outcome(row, row.judged["after"])
        self._db.add(row)
        self._db.flush()

    def _revert_mark(self, row: DeltaRow, *, redo: bool) -> None:
        """Restore the outcome from before a mark, unless it was marked again since; with `redo`, set the mark's
        outcome. Raises BadInput if a redone turn was marked otherwise meanwhile."""
        was, becomes = ("before", "after") if redo else ("after", "before")
        now = self._turn_outcome(row) if row.judged else None  # None: no mark, or a deleted session
        # marks of older versions have no reason
        if now is not None and now == now | row.judged[was]:
            self._set_turn_outcome(row, row.judged[becomes])
        elif now is not None and redo:
            raise BadInput(
                f"T{row.interaction} was marked again after that undo.", "Mark it again."
            )

    def _turn_outcome(self, row: DeltaRow) -> dict[str, Any] | None:
        """Return the current outcome and mark of a delta's turn, or None if the turn does not exist."""
        turn = InteractionRow.find(self._db, row.session_id, row.interaction)
        if turn is None:
            return None
        return values(TurnRow.find(self._db, row.session_id, turn.number), _OUTCOME) | values(
            turn, ("mark", "why")
        )

    def _set_turn_outcome(self, row: DeltaRow, outcome: dict[str, Any]) -> None:
        if (turn := InteractionRow.find(self._db, row.session_id, row.interaction)) is not None:
            turn.mark, turn.why = outcome["mark"], outcome["why"]
            TurnRow.record(
                self._db,
                row.session_id,
                turn.number,
                **{name: outcome[name] for name in _OUTCOME if name in outcome},
            )

    def _check_unchanged(self, row: DeltaRow) -> None:
        """Raises BadInput if a later delta that is not undone touched one of the same bullets."""
        later = (col(DeltaRow.number) > row.number, cast(col(DeltaRow.before), Text) != "{}")
        which = select(DeltaRow).where(*later).filter_by(undone=False)
        for other in self._db.exec(which).all() if row.before else ():
            if shared := sorted(row.before.keys() & other.before.keys()):
                outside = f"outside of a session, in {other.project}"
                place = f"in session {other.session_id}" if other.session_id else outside
                raise BadInput(
                    f"{shared[0]} was changed later, {place}.", "Undo that change there first."
                )

    def _check_caps(self, delta: Delta, session: Session, rows: Mapping[str, BulletRow]) -> None:
        """Raises BadInput if rules and models change more in one turn than allowed, earlier deltas of the turn
        included. Operations with the user's words as evidence are not counted, nor proposals that the user is asked
        about, nor what a consolidation removes of strategies that are not the user's."""
        if delta.author in FREE:
            return

        def is_models_own(op: Op) -> bool:
            return not op.in_users_words and not is_asked(op.evidence)

        def is_counted(op: Op) -> bool:
            is_tidied = delta.reason == CONSOLIDATED and _is_removal_of_models_own(op, rows)
            return is_models_own(op) and not is_tidied

        earlier: list[Op] = []
        if delta.ops and delta.interaction is not None and delta.session_id:
            same = values(delta, ("session_id", "interaction")) | {
                "project": project_of(session),
                "undone": False,
            }
            others = self._db.exec(select(DeltaRow).filter_by(**same)).all()
            earlier = [
                op for row in others if row.author not in FREE for op in to_applied(row).delta.ops
            ]
        for counts, most, what in _CAPS:
            now = sum(counts(op) and is_counted(op) for op in delta.ops)
            before = sum(counts(op) and is_models_own(op) for op in earlier)
            if now and now + before > most:
                raise BadInput(
                    f"{now + before} {what} in one turn, at most {most}: nothing was applied."
                )


def _is_removal_of_models_own(op: Op, rows: Mapping[str, BulletRow]) -> bool:
    row = rows.get(op.bullet_id)
    if op.op != "REMOVE" or row is None:
        return False
    return row.trust != "user" and row.state != "pinned" and row.scope != "user"


def _visible_to(session: Session) -> Any:
    """Select the deltas of a session, and those of its project whose bullets others see."""
    visible = text(UNDOABLE).bindparams(own=session.id, project=project_of(session))
    return select(DeltaRow).where(visible)


def _new_bullet(
    op: Op, delta: Delta, session: Session, name: str
) -> tuple[Bullet, list[dict[str, Any]]]:
    """Return the bullet of an ADD, and the evidence row that stands for imported counts, if any. Raises BadInput."""
    if op.bullet_id:
        raise BadInput(f"ADD names {op.bullet_id}, but the store assigns the id of a new strategy.")
    # only an import has counts and times already
    past = {
        name: op.fields[name] for name in _PAST if delta.author == "import" and name in op.fields
    }
    given = _validated_fields(
        replace(op, fields={name: value for name, value in op.fields.items() if name not in past})
    )
    if "content" not in given:
        raise BadInput("ADD has no content.")
    _check_trust(op, delta, given, None)
    if not op.evidence and delta.author not in FREE:
        raise BadInput("ADD has no evidence.")
    past |= {
        key: datetime.fromisoformat(past[key])
        for key in past
        if key.endswith(("_at", "_used")) and past[key]
    }
    made: dict[str, Any] = {"id": name, "created_at": delta.created_at}
    bullet = Bullet(**made | past | given)
    if bullet.scope == "session" and not session.id:
        raise BadInput(
            "There is no session that a strategy of this scope could belong to.",
            "Use project or user.",
        )
    if not bullet.helpful + bullet.harmful + bullet.neutral:
        return bullet, []
    given_counts = f"{bullet.helpful} {bullet.harmful} {bullet.neutral}"
    item = values(Evidence("counts", given_counts), EvidenceRow.stored_fields())
    item |= {"bullet": bullet.number, "kind": IMPORTED}
    # as many as count here
    counts = Counts.of([EvidenceRow(**item)], None)
    counted = replace(bullet, helpful=counts.helpful, harmful=counts.harmful)
    return counted, [item]


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
        given: dict[str, Any] = _validated_fields(op)
        if not given:
            raise BadInput(f"UPDATE of {op.bullet_id} changes nothing.")
        _check_trust(op, delta, given, row)
        if (
            given.get("content", row.content) != row.content
        ):  # the anchors of the new content are not checked yet
            given |= {"stale": "", "verified_at": None}
        if given.get("scope", row.scope) != row.scope:  # it belongs to the session that changes it
            given |= {"session_id": delta.session_id, "project": project_of(session)}
    elif op.op in _STATES:
        given = {"state": _STATES[op.op]}
    else:
        raise BadInput(f"Unknown playbook operation {op.op!r}.")
    restored = op.op == "RESTORE" or op.fields.get("state") == "active"
    if (
        restored
        and given.get("state", row.state) == "active"
        and (delta.author in FREE or op.in_users_words)
    ):
        # the user's yes also settles that what it names is gone
        given |= {"vouched_at": delta.created_at, "stale": ""}
    for name, value in (given | {"updated_at": delta.created_at}).items():
        setattr(row, name, value)


def _check_trust(op: Op, delta: Delta, values: dict[str, Any], bullet: BulletRow | None) -> None:
    """Raises BadInput if rules or a model claim the user's trust, change the user's words, or activate outside content
    without the user's words as evidence."""
    if delta.author in FREE or op.in_users_words:
        return
    trusted = bullet is not None and bullet.trust == "user"
    if values.get("trust") == "user" and not trusted:
        raise BadInput(f"{op.op} claims the user's trust without the user's words as evidence.")
    if bullet is not None and trusted and values.get("content", bullet.content) != bullet.content:
        raise BadInput(f"{op.bullet_id} is in the user's words: only the user may change it.")
    if bullet is None and values.get("trust") in OUTSIDE and values.get("state", "active") in LIVE:
        raise BadInput("ADD comes from outside and would be active: it needs the user's approval.")


def _validated_fields(op: Op) -> dict[str, Any]:
    """Return an operation's fields, validated and cleaned. Raises BadInput."""
    values: dict[str, Any] = {}
    for name, value in op.fields.items():
        if name in _CHOICES:
            if value not in _CHOICES[name]:
                raise BadInput(
                    f"{op.op} has the {name} {value!r}, which is not one of {', '.join(_CHOICES[name])}."
                )
            values[name] = value
        elif (
            name == "anchors"
            and isinstance(value, (list, tuple))
            and all(isinstance(item, str) for item in value)
        ):
            values[name] = tuple(clean_text(item) for item in value)
        elif name == "when" and isinstance(value, str):
            values[name] = " ".join(redact(clean_text(value)).split()[:MAX_WHEN])[:MAX_CHARACTERS]
        elif name in ("content", "section") and isinstance(value, str) and value.strip():
            values[name] = content = clean_text(value)
            if name == "content" and (problem := length_problem(content)):
                raise BadInput(f"{problem.capitalize()}.", "Say it shorter.")
        else:
            raise BadInput(f"{op.op} has a {name} that cannot be used: {value!r:.60}")
    return values
