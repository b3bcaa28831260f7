"""Changes of the playbook taken back, and brought back again."""

from __future__ import annotations

from collections.abc import Sequence

from swecli.models.playbook import MANY, MARKS, AppliedDelta, Op
from swecli.playbook.desk import PlaybookDesk, Said
from swecli.playbook.desk_past import count_of, delta_json
from swecli.playbook.words import shorten

CONTENT = 80  # characters of a strategy's words


def undo(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Take the last change back, or the last N."""
    n = count_of(args, 1, "changes", f"{desk.command} undo")
    undone = desk.sessions.playbook.undo(desk.session, n)
    many = len(undone) > 1
    hint = f"`{desk.command} redo{f' {len(undone)}' if many else ''}` brings {'them' if many else 'it'} back."
    return _said(desk, undone, "taken back", _fewer(n, len(undone), "there was no other"), hint)


def redo(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Bring back what the last undo took back, or the last N did."""
    n = count_of(args, 1, "changes", f"{desk.command} redo")
    redone = desk.sessions.playbook.redo(desk.session, n)
    return _said(desk, redone, "brought back", _fewer(n, len(redone), "no other was taken back"), "")


def _said(desk: PlaybookDesk, changes: Sequence[AppliedDelta], how: str, fewer: str, hint: str) -> Said:
    lines = [f"{how}: {in_full(desk, change)}" for change in changes]
    return Said([delta_json(row) for row in changes], (*lines, *([fewer] if fewer else [])), note=hint)


def _fewer(asked: int, found: int, why: str) -> str:
    return f"only {found} of {asked}: {why}" if found < asked else ""


def in_full(desk: PlaybookDesk, change: AppliedDelta) -> str:
    """What a change did, with the words of the strategies: `add P-3 "run the tests"`."""
    if len(change.delta.ops) > MANY:
        return change.summary()
    told = [_op(desk, change, op, name) for name, op in change.named()]
    said = [f"{change.delta.reason} T{change.delta.interaction}"] if change.delta.reason in MARKS else []
    return ", ".join([*said, *told]) or change.summary()


def _op(desk: PlaybookDesk, change: AppliedDelta, op: Op, name: str) -> str:
    words = " ".join(word for word in (op.op.lower(), name, op.tag or "", f"into {op.into}" if op.into else "") if word)
    bullet = change.before.get(name) or desk.sessions.playbook.get(name)
    content = str(op.fields.get("content", "")) or (bullet.content if bullet else "")
    return f'{words} "{shorten(content, CONTENT)}"' if content else words
