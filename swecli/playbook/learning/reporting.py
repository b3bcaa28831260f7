"""What came of a reflection, for the user: lines of what changed, what was not taken, and what it cost."""

from __future__ import annotations

from dataclasses import replace

from swecli.llm.base import ChatModel
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from swecli.models.playbook import AppliedDelta
from swecli.models.session import Session
from swecli.playbook.describe import line_of
from swecli.playbook.digest import TurnDigest
from swecli.playbook.learning.reflect_turn import Learned
from swecli.store.records import Draft

LearningEvent = PlaybookUpdated | ReflectionFailed


def drafted(digest: TurnDigest, learned: Learned, model: ChatModel | None = None) -> Draft:
    """What a turn taught, as it is kept and applied; by that model where it was asked, else by the rules."""
    return Draft(
        digest.session_id,
        digest.interaction,
        learned.delta,
        learned.lines,
        learned.refused,
        model.name if model is not None and learned.requests else "rules",
        learned.failure,
        learned.usage,
        learned.cost,
        learned.requests,
        learned.errors,
    )


def told_of(draft: Draft, applied: AppliedDelta | None) -> list[LearningEvent]:
    """The event that says what was applied; none where there is nothing to say. What cost money is always said."""
    lines = draft.lines if applied is not None or draft.delta is None else ()
    if draft.cost != 0 and not (lines or draft.refused or draft.failure):
        lines = (f"{draft.author} saw nothing to learn in T{draft.interaction}",)
    if applied is None and not (lines or draft.refused):
        return []
    ops = applied.delta.ops if applied else ()
    event = PlaybookUpdated(
        draft.interaction,
        applied.delta.id if applied else "",
        lines,
        added=applied.added if applied else (),
        tagged=tuple(op.bullet_id for op in ops if op.op == "TAG"),
        removed=tuple(op.bullet_id for op in ops if op.op == "REMOVE"),
        refused=draft.refused,
        cost=draft.cost,
        tokens=draft.usage.total,
    )
    return [event]


def price(cost: float | None) -> str:
    """US dollars in words; None is unknown, never 0."""
    return "price unknown" if cost is None else f"${cost:.4f}"


def still_possible(draft: Draft, session: Session) -> Draft:
    """The draft without what it says of strategies that were removed while it was made, and without its lines of it."""
    if draft.delta is None:
        return draft
    bullets = session.playbook.bullets
    gone = [
        op
        for op in draft.delta.ops
        if op.op not in ("ADD", "RESTORE") and not {op.bullet_id, op.into or op.bullet_id} <= bullets.keys()
    ]
    if not gone:
        return draft
    ops = tuple(op for op in draft.delta.ops if op not in gone)
    untrue = {line_of(op) for op in gone}
    refused = (*draft.refused, *(f"{op.op.lower()} {op.bullet_id}: it was removed meanwhile" for op in gone))
    lines = tuple(line for line in draft.lines if line not in untrue)
    return replace(draft, delta=replace(draft.delta, ops=ops) if ops else None, refused=refused, lines=lines)
