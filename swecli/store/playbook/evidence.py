"""Verdicts on bullets as rows: each keeps the factors it multiplied, so that a bullet is worked out from its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import sqlmodel
from sqlalchemy import bindparam, func, insert, update
from sqlmodel import col, select

from swecli.models.playbook import (
    FORGET,
    PRIORS,
    AppliedDelta,
    Belief,
    Tag,
    Verdict,
    after_verdict,
    factors_of_counts,
)
from swecli.store.playbook import mapping
from swecli.store.tables.columns import values
from swecli.store.tables.playbook import BulletRow, DeltaRow, EvidenceRow

_FADED = "faded"  # the kind of a row that is no verdict: how often a bullet was held back
_NONE = (1.0, 1.0, 1.0)
_COUNTED: tuple[Tag, ...] = ("helpful", "harmful", "neutral")
_GIVEN = ("source", "quote", "call_id", "kind", "tag", "forget")
_ADDING = insert(EvidenceRow)
_MOVING = (
    update(BulletRow)
    .where(col(BulletRow.number) == bindparam("of"))
    .values(
        belief=bindparam("now"), **{name: getattr(BulletRow, name) + bindparam(f"more_{name}") for name in _COUNTED}
    )
    .execution_options(synchronize_session=None)
)


def add_verdicts(db: sqlmodel.Session, delta: DeltaRow, verdicts: Sequence[Verdict]) -> None:
    """Keep verdicts with the change that brings them, and move the bullets' beliefs by them. Within a transaction."""
    now = datetime.now(UTC)
    worth = _worth_of(db, [verdict.bullet_id for verdict in verdicts])
    found = [(verdict, worth[verdict.bullet_id]) for verdict in verdicts if verdict.bullet_id in worth]
    of = {"delta": delta.number, "session_id": delta.session_id, "interaction": delta.interaction, "created_at": now}
    rows = []
    for verdict, bullet in found:
        bullet.take(verdict.factors, verdict.forget)
        bullet.counts[verdict.tag] += 1
        given = values(verdict, _GIVEN)
        rows.append(of | given | {"bullet": bullet.number, "trust": "reasoning", "factors": list(verdict.factors)})
    _write(db, [bullet for _, bullet in found])
    if rows:
        db.connection().execute(_ADDING, rows)


@dataclass(slots=True)
class _Worth:
    """What a bullet is worth, while it is moved; `counts` is what comes to its counts."""

    number: int
    belief: Belief
    prior: Belief
    counts: Counter[str] = field(default_factory=Counter)

    def take(self, factors: Belief, forget: float) -> None:
        self.belief = after_verdict(self.belief, self.prior, factors, forget)


def _worth_of(db: sqlmodel.Session, names: Iterable[str]) -> dict[str, _Worth]:
    numbers = list({mapping.number_of(name) for name in names})
    which = sqlmodel.select(BulletRow.number, BulletRow.trust, BulletRow.belief)
    rows = db.connection().execute(which.where(col(BulletRow.number).in_(numbers))).all() if numbers else ()
    priors = {row.number: PRIORS.get(row.trust, PRIORS["reasoning"]) for row in rows}
    return {
        f"P-{row.number}": _Worth(row.number, tuple(row.belief or priors[row.number]), priors[row.number])
        for row in rows
    }


def _write(db: sqlmodel.Session, bullets: Iterable[_Worth]) -> None:
    """Only what changed of each bullet, in one statement: a turn may touch all that stand in the prompt."""
    rows = [
        {"of": one.number, "now": list(one.belief)} | {f"more_{name}": one.counts[name] for name in _COUNTED}
        for one in {bullet.number: bullet for bullet in bullets}.values()
    ]
    if rows:
        db.connection().execute(_MOVING, rows)
        db.expire_all()


def let_fade(db: sqlmodel.Session, names: Sequence[str]) -> None:
    """Give bullets that their score kept out of a turn a share of their prior back; turns in a row are one row, which
    says how many. Within a transaction."""
    worth = _worth_of(db, names)
    last = sqlmodel.select(func.max(EvidenceRow.id)).where(col(EvidenceRow.kind) != "")
    last = last.where(col(EvidenceRow.bullet).in_([bullet.number for bullet in worth.values()]))
    which = select(EvidenceRow).where(col(EvidenceRow.id).in_(last.group_by(col(EvidenceRow.bullet))))
    fading = {row.bullet: row for row in db.exec(which).all()} if worth else {}
    for bullet in worth.values():
        row = fading.get(bullet.number)
        if row is None or row.kind != _FADED:
            row = EvidenceRow(bullet=bullet.number, source="held back", quote="0 turns", kind=_FADED, factors=_NONE)
        row.quote = f"{int(row.quote.split()[0]) + 1} turns"
        row.forget += (1 - row.forget) * FORGET
        bullet.take(_NONE, FORGET)
        db.add(row)
    db.flush()
    _write(db, worth.values())


def _prior_of(row: BulletRow) -> Belief:
    """The prior of a bullet's source."""
    return PRIORS.get(row.trust, PRIORS["reasoning"])  # type: ignore[call-overload, no-any-return]


def recompute(db: sqlmodel.Session, row: BulletRow) -> None:
    """Work a bullet's belief and counts out again from its own verdicts that stand; nothing else is read."""
    which = (
        select(EvidenceRow)
        .join(DeltaRow, col(DeltaRow.number) == col(EvidenceRow.delta), isouter=True)
        .where(col(EvidenceRow.bullet) == row.number, col(EvidenceRow.kind) != "")
        .where(col(DeltaRow.undone).is_not(True), _after(row))
        .order_by(col(EvidenceRow.id))
    )
    prior = belief = _prior_of(row)
    counts: dict[str, int] = dict.fromkeys(_COUNTED, 0)
    for item in db.exec(which).all():
        factors = item.factors
        if item.kind == "before":
            counts |= {name: int(item.quote.split()[place]) for place, name in enumerate(_COUNTED)}
            if row.vouched_at is not None:
                counts["harmful"], factors = 0, factors_of_counts(counts["helpful"], 0)
        elif item.tag:
            counts[item.tag] += 1
        belief = after_verdict(belief, prior, factors, item.forget)
    row.belief = belief if belief != prior else None
    for name, count in counts.items():
        setattr(row, name, count)


def _after(row: BulletRow) -> Any:
    """What was held against a strategy before the user took it in again counts no more."""
    if row.vouched_at is None:
        return sqlmodel.true()
    return (col(EvidenceRow.created_at) > row.vouched_at) | (col(EvidenceRow.tag) != "harmful")


def with_verdicts(
    db: sqlmodel.Session, rows: Sequence[DeltaRow], changes: Sequence[AppliedDelta]
) -> list[AppliedDelta]:
    """The changes, each with the bullets it brought verdicts on."""
    keys = {row.id: row.number for row in rows}
    which = sqlmodel.select(EvidenceRow.delta, EvidenceRow.bullet, EvidenceRow.tag)
    which = which.where(col(EvidenceRow.delta).in_(list(keys.values())), col(EvidenceRow.kind) != "")
    found: dict[int | None, list[tuple[str, Tag]]] = {}
    for delta, bullet, tag in db.exec(which.order_by(col(EvidenceRow.id))):
        found.setdefault(delta, []).append((f"P-{bullet}", tag))  # type: ignore[arg-type]
    return [replace(change, verdicts=tuple(found.get(keys.get(change.delta.id), ()))) for change in changes]


def keep_past(db: sqlmodel.Session, row: BulletRow) -> None:
    """Let a bullet that comes with counts and nothing else have one verdict that stands for them."""
    if not row.helpful + row.harmful + row.neutral:
        return
    factors = factors_of_counts(row.helpful, row.harmful)
    past = EvidenceRow(bullet=row.number or 0, source="counts", quote=f"{row.helpful} {row.harmful} {row.neutral}")
    past.kind, past.factors = "before", list(factors)
    db.add(past)
    row.belief = list(after_verdict(_prior_of(row), _prior_of(row), factors, 0.0))
