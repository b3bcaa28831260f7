"""Verdicts on bullets as rows: each keeps the factors it multiplied, so that a bullet is worked out from its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import sqlmodel
from sqlalchemy import func
from sqlmodel import col, select

from swecli.models.playbook import FORGET, PRIORS, AppliedDelta, Belief, Tag, Verdict, after_verdict, factors_of_counts
from swecli.store.playbook import mapping
from swecli.store.tables.columns import values
from swecli.store.tables.playbook import BulletRow, DeltaRow, EvidenceRow

_FADED = "faded"  # the kind of a row that is no verdict: how often a bullet was held back
_NONE = (1.0, 1.0, 1.0)
_COUNTED: tuple[Tag, ...] = ("helpful", "harmful", "neutral")
_GIVEN = ("source", "quote", "call_id", "kind", "tag", "forget")


def add_verdicts(db: sqlmodel.Session, delta: DeltaRow, verdicts: Sequence[Verdict]) -> None:
    """Keep verdicts with the change that brings them, and move the bullets' beliefs by them. Within a transaction."""
    rows, now = mapping.bullet_rows(db, [verdict.bullet_id for verdict in verdicts]), datetime.now(UTC)
    for verdict in verdicts:
        if (bullet := rows.get(verdict.bullet_id)) is None:
            continue
        _move(bullet, verdict.factors, verdict.forget)
        setattr(bullet, verdict.tag, getattr(bullet, verdict.tag) + 1)
        item = EvidenceRow(bullet=bullet.number or 0, delta=delta.number, session_id=delta.session_id, created_at=now)
        item.interaction, item.factors = delta.interaction, list(verdict.factors)
        for name, value in values(verdict, _GIVEN).items():
            setattr(item, name, value)
        db.add(item)
    db.flush()


def let_fade(db: sqlmodel.Session, names: Sequence[str]) -> None:
    """Give bullets that their score kept out of a turn a share of their prior back; turns in a row are one row, which
    counts them. Within a transaction."""
    bullets = mapping.bullet_rows(db, names)
    last = sqlmodel.select(func.max(EvidenceRow.id)).where(col(EvidenceRow.kind) != "")
    last = last.where(col(EvidenceRow.bullet).in_([bullet.number for bullet in bullets.values()]))
    which = select(EvidenceRow).where(col(EvidenceRow.id).in_(last.group_by(col(EvidenceRow.bullet))))
    fading = {row.bullet: row for row in db.exec(which).all()} if bullets else {}
    for bullet in bullets.values():
        row = fading.get(bullet.number or 0)
        if row is None or row.kind != _FADED:
            row = EvidenceRow(bullet=bullet.number or 0, source="held back", quote="0 turns", kind=_FADED)
            row.factors = _NONE
        row.quote = f"{int(row.quote.split()[0]) + 1} turns"
        row.forget += (1 - row.forget) * FORGET
        _move(bullet, _NONE, FORGET)
        db.add(row)
    db.flush()


def _move(row: BulletRow, factors: Belief, forget: float) -> None:
    prior = _prior_of(row)
    row.belief = list(after_verdict(tuple(row.belief or prior), prior, factors, forget))


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


def with_verdicts(db: sqlmodel.Session, rows: Sequence[DeltaRow]) -> list[AppliedDelta]:
    """The changes of these rows, each with the bullets it brought verdicts on."""
    which = sqlmodel.select(EvidenceRow.delta, EvidenceRow.bullet, EvidenceRow.tag)
    which = which.where(col(EvidenceRow.delta).in_([row.number for row in rows]), col(EvidenceRow.kind) != "")
    found: dict[int | None, list[tuple[str, Tag]]] = {}
    for delta, bullet, tag in db.exec(which.order_by(col(EvidenceRow.id))):
        found.setdefault(delta, []).append((f"P-{bullet}", tag))  # type: ignore[arg-type]
    return [replace(mapping.applied_of(row), verdicts=tuple(found.get(row.number, ()))) for row in rows]


def keep_past(db: sqlmodel.Session, row: BulletRow) -> None:
    """Let a bullet that comes with counts and nothing else have one verdict that stands for them."""
    if not row.helpful + row.harmful + row.neutral:
        return
    factors = factors_of_counts(row.helpful, row.harmful)
    past = EvidenceRow(bullet=row.number or 0, source="counts", quote=f"{row.helpful} {row.harmful} {row.neutral}")
    past.kind, past.factors = "before", list(factors)
    db.add(past)
    row.belief = list(after_verdict(_prior_of(row), _prior_of(row), factors, 0.0))
