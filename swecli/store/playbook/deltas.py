"""Apply, undo and redo deltas within a transaction, with a snapshot of every bullet that a delta touches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, get_args

import sqlmodel
from sqlalchemy import Text, cast, func, insert
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.playbook import (
    LIVE,
    MAX_CHARACTERS,
    MAX_WHEN,
    OUTSIDE,
    PRIORS,
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
    factors_of_counts,
    length_problem,
    update_belief,
)
from swecli.models.session import Session
from swecli.redact import redact
from swecli.store.playbook import bullets
from swecli.store.playbook.bullets import bullet_rows, project_of
from swecli.store.playbook.turns import revert_mark
from swecli.store.tables.columns import clean_text, values
from swecli.store.tables.learned import BulletRow, DeltaRow, EvidenceRow

FREE = frozenset({"user", "import"})  # authors without caps: both are the user
_CAPS = (
    (("ADD",), 3, "new strategies"),
    (("UPDATE",), 2, "changes of strategies"),
    (("REMOVE", "PIN", "QUARANTINE", "RESTORE"), 0, "operations that only the user may perform"),
)
_CHOICES = {"kind": get_args(Kind), "scope": get_args(Scope), "state": get_args(State), "trust": get_args(Trust)}
_STATES: dict[OpName, State] = {"REMOVE": "deleted", "PIN": "pinned", "QUARANTINE": "quarantined", "RESTORE": "active"}
_PAST = ("helpful", "harmful", "neutral", "uses", "belief", "created_at", "updated_at", "last_used")
_SCOPES = ("session", "project", "user")  # from narrow to wide


def apply_delta(db: sqlmodel.Session, delta: Delta, session: Session, verdicts: Sequence[Verdict] = ()) -> DeltaRow:
    """Insert and apply a delta with its verdicts. Raises BadInput, which rolls the transaction back."""
    delta = replace(delta, session_id=delta.session_id or session.id)
    _check_caps(db, delta, session)
    rows = bullet_rows(db, (op.bullet_id for op in delta.ops if op.bullet_id), bullets.applies(session))
    before, new, evidence = dict[str, Any](), list[Bullet](), list[dict[str, Any]]()
    newest = last_number(db)
    for op in delta.ops:
        if op.op == "ADD":
            bullet, counts = _new_bullet(op, delta, session, f"P-{newest + len(new) + 1}")
            new.append(bullet)
            evidence += counts
            # the evidence of a hand-written strategy is its author
            found = op.evidence or (Evidence(delta.author, bullet.content, delta.session_id, trust="user"),)
            number = bullet.number
        else:
            changed = _find_row(rows, op)
            before.setdefault(op.bullet_id, bullets.snapshot(changed))
            _change_row(changed, op, delta, session)
            found, number = op.evidence, changed.number or 0
        at = {"bullet": number, "kind": "", "factors": None}
        evidence += [
            at | values(item, bullets.EVIDENCE) | {"created_at": item.created_at or delta.created_at} for item in found
        ]
    place = {"session_id": session.id, "project": project_of(session)}
    if new:
        made = [place | {"number": one.number} | bullets.column_values(one) for one in new]
        db.connection().execute(insert(BulletRow), made)
        bullets.mark_changed(db, [one.number for one in new])
    after = {name: bullets.snapshot(rows[name]) for name in before}
    scopes = [value["scope"] for value in (*before.values(), *after.values())] + [one.scope for one in new]
    reach = max(scopes, key=_SCOPES.index, default="project" if verdicts else "session")
    row = DeltaRow(project=place["project"], reach=reach, **values(delta, bullets.DELTA))
    row.ops = [{name: value for name, value in asdict(op).items() if value} for op in delta.ops]
    row.added = [one.id for one in new]
    row.refused, row.before = delta.refused, before | dict.fromkeys(row.added)
    db.add(row)
    db.flush()
    if evidence:
        owned = [item | {"delta": None if item["kind"] else row.number} for item in evidence]
        db.connection().execute(insert(EvidenceRow), owned)
    fields = ("trust", "vouched_at")  # they decide on the prior and on which evidence counts
    bullets.recompute(db, [rows[name] for name in after if any(before[name][f] != after[name][f] for f in fields)])
    bullets.add_verdicts(db, row, verdicts)
    db.refresh(row)  # the columns clean their values
    return row


def last_number(db: sqlmodel.Session) -> int:
    """Return the highest bullet number ever used, 0 if there is none."""
    found = db.connection().exec_driver_sql("SELECT seq FROM sqlite_sequence WHERE name = 'bullet'")
    return int(found.scalar() or 0)


def revert(db: sqlmodel.Session, row: DeltaRow, *, redo: bool) -> None:
    """Undo a delta, or redo an undone one with the same ids, counts and evidence. Raises BadInput if a later delta
    changed one of its bullets."""
    _check_unchanged(db, row)
    rows = bullet_rows(db, row.before)
    forms = (row.kept or {}) if redo else row.before
    if not redo:
        row.kept = {name: bullets.snapshot(found) for name, found in rows.items()}
    for name, value in forms.items():
        if value is None:
            rows[name].state = "deleted"
        elif "content" in value:  # snapshots of old versions may lack it
            bullets.restore_row(db, rows.get(name), value)
    revert_mark(db, row, redo=redo)
    row.undone = not redo
    row.turned = 1 + int(db.exec(sqlmodel.select(func.coalesce(func.max(DeltaRow.turned), 0))).one())
    db.flush()
    judged = db.exec(select(EvidenceRow.bullet).filter_by(delta=row.number)).all()
    bullets.recompute(db, bullet_rows(db, {*row.before, *(f"P-{number}" for number in judged)}).values())
    db.flush()


def _check_unchanged(db: sqlmodel.Session, row: DeltaRow) -> None:
    """Raises BadInput if a later delta that is not undone touched one of the same bullets."""
    later = (col(DeltaRow.number) > row.number, cast(col(DeltaRow.before), Text) != "{}")
    for other in db.exec(select(DeltaRow).where(*later).filter_by(undone=False)).all() if row.before else ():
        shared = sorted(row.before.keys() & other.before.keys())
        if shared:
            outside = f"outside of a session, in {other.project}"
            place = f"in session {other.session_id}" if other.session_id else outside
            raise BadInput(f"{shared[0]} was changed later, {place}.", "Undo that change there first.")


def _check_caps(db: sqlmodel.Session, delta: Delta, session: Session) -> None:
    """Raises BadInput if rules and models change more in one turn than allowed, earlier deltas of the turn included.
    Operations with the user's words as evidence are not counted."""
    if delta.author in FREE:
        return
    earlier: list[Op] = []
    if delta.ops and delta.interaction is not None and delta.session_id:
        same = values(delta, ("session_id", "interaction")) | {"project": project_of(session), "undone": False}
        rows = db.exec(select(DeltaRow).filter_by(**same)).all()
        earlier = [op for row in rows if row.author not in FREE for op in bullets.parse_ops(row)]
    for names, most, what in _CAPS:
        now, before = (sum(op.op in names and not op.in_users_words for op in ops) for ops in (delta.ops, earlier))
        if now and now + before > most:
            raise BadInput(f"{now + before} {what} in one turn, at most {most}: nothing was applied.")


def _new_bullet(op: Op, delta: Delta, session: Session, name: str) -> tuple[Bullet, list[dict[str, Any]]]:
    """Return the bullet of an ADD, and the evidence row that stands for imported counts, if any. Raises BadInput."""
    if op.bullet_id:
        raise BadInput(f"ADD names {op.bullet_id}, but the store assigns the id of a new strategy.")
    # only an import has counts and times already
    past = {name: op.fields[name] for name in _PAST if delta.author == "import" and name in op.fields}
    given = _validated_fields(
        replace(op, fields={name: value for name, value in op.fields.items() if name not in past})
    )
    if "content" not in given:
        raise BadInput("ADD has no content.")
    _check_trust(op, delta, given, None)
    if not op.evidence and delta.author not in FREE:
        raise BadInput("ADD has no evidence.")
    past |= {key: datetime.fromisoformat(past[key]) for key in past if key.endswith(("_at", "_used")) and past[key]}
    made: dict[str, Any] = {"id": name, "created_at": delta.created_at}
    bullet = Bullet(**made | past | given)
    if bullet.scope == "session" and not session.id:
        raise BadInput("There is no session that a strategy of this scope could belong to.", "Use project or user.")
    if not bullet.helpful + bullet.harmful + bullet.neutral:
        return bullet, []
    factors, prior = factors_of_counts(bullet.helpful, bullet.harmful), PRIORS[bullet.trust]
    counts = Evidence("counts", f"{bullet.helpful} {bullet.harmful} {bullet.neutral}")
    item = values(counts, bullets.EVIDENCE) | {"bullet": bullet.number, "kind": "before", "factors": factors}
    return replace(bullet, belief=update_belief(prior, prior, factors, 0.0)), [item]


def _find_row(rows: Mapping[str, BulletRow], op: Op) -> BulletRow:
    """Return the row that an operation changes. Raises BadInput."""
    row = rows.get(op.bullet_id)
    if row is None:
        raise BadInput(
            f"The playbook has no {op.bullet_id or 'strategy without an id'}.", "See /playbook for those it has."
        )
    if row.state == "deleted" and op.op != "RESTORE":
        raise BadInput(f"{op.bullet_id} was removed from the playbook.", "`/playbook undo` restores it.")
    return row


def _change_row(row: BulletRow, op: Op, delta: Delta, session: Session) -> None:
    """Apply an operation other than ADD. Raises BadInput."""
    if op.op == "UPDATE":
        given: dict[str, Any] = _validated_fields(op)
        if not given:
            raise BadInput(f"UPDATE of {op.bullet_id} changes nothing.")
        _check_trust(op, delta, given, row)
        if given.get("content", row.content) != row.content:  # the anchors of the new content are not checked yet
            given |= {"stale": "", "verified_at": None}
        if given.get("scope", row.scope) != row.scope:  # it belongs to the session that changes it
            given |= {"session_id": delta.session_id, "project": project_of(session)}
    elif op.op in _STATES:
        given = {"state": _STATES[op.op]}
    else:
        raise BadInput(f"Unknown playbook operation {op.op!r}.")
    restored = op.op == "RESTORE" or op.fields.get("state") == "active"
    if restored and given.get("state", row.state) == "active" and (delta.author in FREE or op.in_users_words):
        given["vouched_at"] = delta.created_at
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
                raise BadInput(f"{op.op} has the {name} {value!r}, which is not one of {', '.join(_CHOICES[name])}.")
            values[name] = value
        elif name == "anchors" and isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
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
