"""How much one turn may change the playbook: what a reflector proposes can add to it, but never replace it."""

from __future__ import annotations

from collections.abc import Sequence

from swecli.models.errors import BadInput
from swecli.models.playbook import Delta, Op

FREE = frozenset({"user", "import"})  # authors who may change as much as they like: they are the user
WHOLE = 100  # operations in one delta, counts of what was shown included
CAPS = (
    (("ADD",), 3, "new strategies"),
    (("UPDATE", "MERGE"), 2, "changes of strategies"),
    (("QUARANTINE", "RESTORE"), 5, "strategies set aside or taken back"),
    (("REMOVE", "PIN"), 0, "strategies removed or pinned: that is the user's to decide"),
)


def check(delta: Delta, earlier: Sequence[Op] = ()) -> None:
    """See whether a turn may change this much. The user's own words, also where a rule read them, are never capped.

    Args:
        delta: what is to be applied.
        earlier: the operations of deltas that rules and models made of the same turn before.

    Raises:
        BadInput: it is too much; the line says what and how much is allowed. Nothing of it is to be applied.
    """
    if delta.author in FREE:
        return
    if len(delta.ops) > WHOLE:
        raise BadInput(f"{len(delta.ops)} operations on the playbook at once, at most {WHOLE}: refused whole.")
    for names, most, what in CAPS:
        now = sum(_counts(op, names) for op in delta.ops)
        before = sum(_counts(op, names) for op in earlier)
        if now and now + before > most:
            already = f" after {before} before" if before else ""
            raise BadInput(f"{now} {what}{already} in one turn, at most {most}: refused whole.")


def room(earlier: Sequence[Op]) -> tuple[int, int]:
    """How many additions and how many changes a turn may still make."""
    (adds, most, _), (changes, few, _) = CAPS[:2]
    return (
        max(0, most - sum(_counts(op, adds) for op in earlier)),
        max(0, few - sum(_counts(op, changes) for op in earlier)),
    )


def said_by_user(op: Op) -> bool:
    """Whether the user's own words are an operation's evidence, as a rule read them. A model's word for it is none."""
    return any(item.trust == "user" and item.source != "model" for item in op.evidence)


def _counts(op: Op, names: Sequence[str]) -> bool:
    return op.op in names and not said_by_user(op)
