"""Where a strategy's words, state and counts come from, and what a stretch of changes came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from swecli.models.playbook import AppliedDelta, Bullet
from swecli.playbook.words import shorten
from swecli.store.records import Change

TRACED = ("content", "section", "kind", "scope", "state", "trust", "helpful", "harmful", "neutral")
QUOTE = 80  # characters of a quoted reason
WORDS = 120  # characters of a strategy in one line


@dataclass(frozen=True, slots=True)
class Origin:
    """The change that made one field of a strategy what it is. `times` counts all the changes of that field."""

    bullet_id: str
    field: str
    value: Any
    by: AppliedDelta
    times: int

    def to_json(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        delta = self.by.delta
        return {
            "field": self.field,
            "value": self.value,
            "delta": delta.id,
            "author": delta.author,
            "session": delta.session_id,
            "turn": delta.interaction,
            "when": delta.created_at.isoformat(),
            "times": self.times,
            "why": reason_of(self.by, self.bullet_id),
        }


def blame(changes: Sequence[Change]) -> list[Origin]:
    """For each field of one strategy the change that made it what it is now, in the order of `TRACED`.

    Args:
        changes: the strategy's standing changes, the oldest first, as `PlaybookHistory.of` gives them.

    A count that nothing has changed is left out.
    """
    found: list[Origin] = []
    for name in TRACED:
        made = [c for c in changes if c.after is not None and _differs(c, name)]
        if made:
            found.append(Origin(made[-1].bullet_id, name, getattr(made[-1].after, name), made[-1].applied, len(made)))
    return found


def _differs(change: Change, name: str) -> bool:
    after = getattr(change.after, name)
    if change.before is None:
        return bool(after)
    return bool(getattr(change.before, name) != after)


def reason_of(applied: AppliedDelta, bullet_id: str) -> str:
    """Why a change was made of a strategy, from the evidence for it or the change's own reason."""
    ops = [op for name, op in applied.named() if bullet_id in (name, op.into)]
    quotes = [item.quote for op in ops for item in op.evidence if item.quote]
    shown = "it was shown" if ops and all(op.tag == "neutral" for op in ops) else applied.delta.reason
    return shorten(quotes[0] if quotes else shown, QUOTE)


def diff_lines(bullet_id: str, before: Bullet | None, after: Bullet | None) -> list[str]:
    """What became of a strategy, as lines: `+` it is new, `-` it is gone, `~` with each field that changed."""
    old = before if before is not None and before.state != "deleted" else None
    new = after if after is not None and after.state != "deleted" else None
    if old is None or new is None:
        lines = [f"- {bullet_id} {shorten(old.content, WORDS)}"] if old else []
        return lines + ([f"+ {bullet_id} {shorten(new.content, WORDS)}"] if new else [])
    if old.content != new.content:
        lines = [f"- {bullet_id} {shorten(old.content, WORDS)}", f"+ {bullet_id} {shorten(new.content, WORDS)}"]
    else:
        lines = []
    said = [
        f"{name} {getattr(old, name)} → {getattr(new, name)}"
        for name in TRACED[1:]
        if getattr(old, name) != getattr(new, name)
    ]
    return lines + ([f"~ {bullet_id} {', '.join(said)}"] if said else [])
