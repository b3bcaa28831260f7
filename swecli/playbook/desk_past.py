"""What was changed, by whom and why, and what a stretch of changes came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from swecli.models.errors import BadInput
from swecli.models.playbook import MARKS, AppliedDelta, Op
from swecli.playbook.describe import line_of
from swecli.playbook.desk import PlaybookDesk, Said
from swecli.playbook.lineage import Origin, blame, diff_lines
from swecli.playbook.words import shorten

LOGGED = 20
LINES = 5  # of one change
SESSION = 13  # characters of a session's id that tell it from others
EVERY = ("--all", "also what only counts strategies as shown")


def when(moment: datetime) -> str:
    """A moment as the user's clock has it."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


def place(session_id: str, turn: int | None) -> str:
    """A turn and its session, " T1 of 01a1feb8-5844"; "" for none."""
    return f" T{turn}{f' of {session_id[:SESSION]}' if session_id else ''}" if turn else ""


def count_of(args: Sequence[str], default: int, what: str, example: str) -> int:
    """A number of things from an argument. Raises BadInput."""
    text = " ".join(args)
    if text and not (text.isdecimal() and len(text) < 6 and int(text)):
        raise BadInput(f"{text!r:.40} is no number of {what}.", f"For example: {example} 2")
    return int(text or default)


def log(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """The changes, newest first; those that only count strategies as shown with `--all`."""
    words = [word for word in args if word != EVERY[0]]
    changes = _changes(desk, count_of(words, LOGGED, "changes", f"{desk.command} log"), every=EVERY[0] in args)
    if not changes:
        return Said([], ("Nothing was changed yet.",))
    rows = [
        (when(c.delta.created_at), f"T{c.delta.interaction}" if c.delta.interaction else "", c.delta.author, _row(c))
        for c in changes
    ]
    return Said([delta_json(c) for c in changes], head=("when", "turn", "by", "change"), rows=tuple(rows))


def _changes(desk: PlaybookDesk, count: int, *, every: bool) -> list[AppliedDelta]:
    """The newest `count` changes. Most of a store's are counts: it is asked for more until there are enough."""
    limit = count
    while True:
        found = desk.sessions.playbook.log(desk.session, limit)
        wanted = [change for change in found if every or not change.only_counts]
        if len(wanted) >= count or len(found) < limit:
            return wanted[:count]
        limit *= 4


def _row(applied: AppliedDelta) -> str:
    return told(applied) + (" (taken back)" if applied.undone else "")


def told(applied: AppliedDelta, bullet_id: str = "") -> str:
    """What a change did and why, with what was not taken; of that strategy alone where an id is given."""
    lines = told_lines(applied, bullet_id)
    more = f"; and {len(lines) - LINES} more" if len(lines) > LINES else ""
    return "; ".join(lines[:LINES]) + more


def told_lines(applied: AppliedDelta, bullet_id: str = "") -> list[str]:
    """A line for each operation of a change and for each thing that was not taken; an import is one line."""
    ops = [(name, op) for name, op in applied.named() if not bullet_id or bullet_id in (name, op.into)]
    if applied.delta.author == "import":
        counts = Counter(op.op for _, op in ops)
        return [f"{applied.delta.reason}: {counts['ADD']} taken in, {counts['UPDATE']} changed"]
    refused = [] if bullet_id else [f"not taken: {line}" for line in applied.delta.refused]
    marked = [f"{applied.delta.reason} T{applied.delta.interaction}"] if applied.delta.reason in MARKS else []
    lines = [line for name, op in ops if (line := _line(name, op))]
    return [*marked, *lines, *refused] or [f"shown: {', '.join(name for name, _ in ops)}"]


def _line(name: str, op: Op) -> str:
    by_hand = {key: value for key, value in op.fields.items() if key in ("scope", "state") and value != "active"}
    if op.op == "UPDATE" and by_hand and "content" not in op.fields:
        return f"{name} {', '.join(f'{key} → {value}' for key, value in by_hand.items())}"
    line = line_of(op)
    return f"{line[:2]}{name} {line[2:]}" if op.op == "ADD" else line


def delta_json(applied: AppliedDelta) -> dict[str, Any]:
    """A change as plain JSON values."""
    return {
        "id": applied.delta.id,
        "author": applied.delta.author,
        "when": applied.delta.created_at.isoformat(),
        "session": applied.delta.session_id,
        "turn": applied.delta.interaction,
        "undone": applied.undone,
        "what": applied.summary(),
        "lines": told_lines(applied),
        "refused": list(applied.delta.refused),
    }


def diff(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """What the last change, or the last N, came to: what as many steps of undo would take back."""
    n = count_of(args, 1, "changes", f"{desk.command} diff")
    found = desk.sessions.playbook.history.since(desk.session, n)
    lines = [line for name, before, after in found for line in diff_lines(name, before, after)]
    value = [
        {"id": name, "before": before.to_json() if before else None, "after": after.to_json() if after else None}
        for name, before, after in found
    ]
    return Said(value, tuple(lines) or ("No difference.",))


def trace(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Which change made each field of a strategy what it is."""
    bullet = desk.find(" ".join(args), gone_too=True)
    found = blame(desk.sessions.playbook.history.of(bullet.id))
    if not found:
        return Said([], (f"{bullet.id} came with a copied session: its changes stayed there.",))
    rows = tuple((o.field, shorten(str(o.value), 40), o.by.delta.author, _place(o), o.to_json()["why"]) for o in found)
    head = ("field", "value", "by", "when", "why")
    return Said([o.to_json() for o in found], head=head, rows=rows, paired=True)


def _place(origin: Origin) -> str:
    delta = origin.by.delta
    return f"{when(delta.created_at)}{f' T{delta.interaction}' if delta.interaction else ''}"
