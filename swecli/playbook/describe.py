"""Format deltas as short lines for the user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from swecli.models.learning_events import PlaybookUpdated
from swecli.models.playbook import MARKS, AppliedDelta, Op, shorten
from swecli.store.records import TurnLessons

DOUBT = "doubt"  # source of the evidence that gives the reason for a quarantine
_CONTENT = 90
_MANY = 8  # operations of a delta that are named one by one
_DONE = {"REMOVE": "removed", "PIN": "pinned", "QUARANTINE": "put into quarantine", "RESTORE": "active again"}


def _format_op(op: Op, name: str) -> str:
    label = f"{name} " if name else ""
    if op.op == "ADD":
        content = shorten(str(op.fields.get("content", "")), _CONTENT)
        waits = op.fields.get("state") == "quarantined"
        named = f" ({name})" if name else ""
        return f"? {content} (needs your approval: {_reason_of(op)}){named}" if waits else f"+ {content}{named}"
    if op.op == "UPDATE":
        return f"{label}{_format_update(op)}"
    return f"{label}{_DONE[op.op]}"


def _format_update(op: Op) -> str:
    if content := op.fields.get("content"):
        return f"now: {shorten(str(content), _CONTENT)}"
    if op.fields.get("state") == "active":
        return "active: confirmed by a second turn"
    named = {key: value for key, value in op.fields.items() if key in ("scope", "state", "when")}
    return ", ".join(f"{key} → {value}" for key, value in named.items()) or "confirmed again"


def _reason_of(op: Op) -> str:
    doubt = next((item.quote for item in op.evidence if item.source == DOUBT), "")
    if doubt:
        return doubt
    return shorten(op.evidence[0].quote, 80) if op.evidence else ""


def summarize(applied: AppliedDelta) -> str:
    """Summarize a delta in one line: its operations, the number of verdicts, and refused proposals."""
    delta = applied.delta
    parts = [f"{delta.reason} T{delta.interaction}"] if delta.reason in MARKS else []
    if len(delta.ops) > _MANY:
        parts += [f"{name} {count}" for name, count in Counter(op.op.lower() for op in delta.ops).items()]
    else:
        parts += [_format_op(op, name) for name, op in applied.ops_by_id()]
    if applied.verdicts:
        counts = Counter(sorted(tag for _, tag in applied.verdicts))
        parts.append("evidence: " + ", ".join(f"{count} {tag}" for tag, count in counts.items()))
    parts += [f"not applied: {line}" for line in delta.refused]
    return "; ".join(parts) or "nothing"


def report(lessons: TurnLessons, applied: AppliedDelta | None, refused: Sequence[str]) -> list[PlaybookUpdated]:
    """Build the event of a delta, without quarantined proposals; empty if nothing was applied, reported or spent."""
    if applied is None and not (lessons.lines or refused or lessons.cost != 0):
        return []
    ops = applied.ops_by_id() if applied else []
    news = [(name, op) for name, op in ops if op.fields.get("state") != "quarantined"]
    event = PlaybookUpdated(
        lessons.interaction,
        applied.delta.id if applied else "",
        (*(_format_op(op, name) for name, op in news), *lessons.lines),
        added=applied.added if applied else (),
        tagged=tuple(dict.fromkeys(verdict.bullet_id for verdict in lessons.verdicts)) if applied else (),
        removed=tuple(name for name, op in ops if op.op == "REMOVE"),
        refused=tuple(refused),
        cost=lessons.cost,
        tokens=lessons.usage.total,
    )
    return [event]
