"""`/playbook`: what was learned, with its evidence; to be added to, corrected and taken back."""

from __future__ import annotations

from collections.abc import Callable

from swecli.models.errors import BadInput, UsageError
from swecli.models.ids import short_id
from swecli.models.playbook import AppliedDelta, Bullet
from swecli.models.session import Session
from swecli.playbook.by_hand import adding, editing, removing
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.figures import age

LOGGED = 20
DOINGS = (
    ("list", "all strategies with their counts"),
    ("show", "P-7: one with its evidence"),
    ("add", "TEXT: teach one"),
    ("edit", "P-7 TEXT: put it differently"),
    ("remove", "P-7: forget it"),
    ("undo", "[N]: take the last N changes back"),
    ("log", "the changes, newest first"),
)


@command(aliases=("strategies",), usage="[show|add|edit|remove|undo|log] …", complete=lambda runtime: DOINGS)
async def playbook(ctx: CommandContext, args: str) -> None:
    """Show and change what was learned"""
    word, _, rest = args.partition(" ")
    doing = _DOINGS.get(word.lower() or "list")
    if doing is None:
        known = ", ".join(name for name, _ in DOINGS)
        raise UsageError(f"/playbook cannot {word!r}.", f"It knows: {known}")
    session = ctx.runtime.sessions.current_session
    if session is None:
        raise BadInput("There is no session yet.", "Ask something first.")
    await ctx.settle()
    doing(ctx, session, rest.strip())


def _list(ctx: CommandContext, session: Session, rest: str) -> None:
    bullets = sorted(session.get_playbook().bullets.values(), key=lambda b: b.number)
    shown = [b for b in bullets if b.state != "deleted"]
    if not shown:
        ctx.screen.note("nothing was learned yet · /playbook add TEXT teaches something")
        return
    rows = [(b.id, b.content, _counts(b), b.scope, "" if b.state == "active" else b.state) for b in shown]
    ctx.screen.table(("", "strategy", "+ − ·", "for", "state"), rows)
    ctx.screen.note("+ helpful, − harmful, · neutral · /playbook show P-1 for the evidence")


def _show(ctx: CommandContext, session: Session, rest: str) -> None:
    bullet = _bullet(ctx, session, rest)
    ctx.screen.line(f"{bullet.id} {bullet.content}", "head")
    when = f"learned {age(bullet.created_at)} ago"
    used = f"last used {age(bullet.last_used)} ago" if bullet.last_used else "not used yet"
    facts = (bullet.kind, bullet.section, f"for this {bullet.scope}", bullet.state, f"from {bullet.trust}", when, used)
    ctx.screen.note(" · ".join(facts))
    ctx.screen.line(f"{bullet.helpful} helpful · {bullet.harmful} harmful · {bullet.neutral} neutral")
    for proof in ctx.runtime.sessions.playbook.evidence(bullet.id):
        place = f" T{proof.interaction}" if proof.interaction else ""
        ctx.screen.line(f"evidence ({proof.source}{place}): {proof.quote}")


def _add(ctx: CommandContext, session: Session, rest: str) -> None:
    if not rest:
        raise UsageError("The strategy has no words.", "Use /playbook add TEXT")
    applied = ctx.runtime.sessions.playbook.apply(adding(session, rest), session)
    ctx.screen.note(f"{' '.join(applied.added)} goes with the next request")


def _edit(ctx: CommandContext, session: Session, rest: str) -> None:
    ref, _, text = rest.partition(" ")
    bullet = _bullet(ctx, session, ref)
    if not text.strip():
        raise UsageError("The strategy has no words.", f"Use /playbook edit {bullet.id} TEXT")
    ctx.runtime.sessions.playbook.apply(editing(session, bullet, text), session)
    ctx.screen.note(f"{bullet.id} is changed")


def _remove(ctx: CommandContext, session: Session, rest: str) -> None:
    bullet = _bullet(ctx, session, rest)
    ctx.runtime.sessions.playbook.apply(removing(session, bullet), session)
    ctx.screen.note(f"{bullet.id} is removed · /playbook undo takes that back")


def _undo(ctx: CommandContext, session: Session, rest: str) -> None:
    if rest and not (rest.isdecimal() and 1 <= int(rest) <= 1000):
        raise BadInput(f"{rest!r} is no number of changes.", "For example: /playbook undo 2")
    for applied in ctx.runtime.sessions.playbook.undo(session, int(rest or 1)):
        ctx.screen.note(f"taken back: {_told(applied)}")


def _log(ctx: CommandContext, session: Session, rest: str) -> None:
    changes = ctx.runtime.sessions.playbook.log(session, LOGGED)
    if not changes:
        ctx.screen.note("nothing was changed yet")
        return
    rows = [
        (age(c.delta.created_at), f"T{c.delta.interaction}" if c.delta.interaction else "", c.delta.author, _told(c))
        for c in changes
    ]
    ctx.screen.table(("when", "turn", "by", "change"), rows)


_DOINGS: dict[str, Callable[[CommandContext, Session, str], None]] = {
    "list": _list,
    "show": _show,
    "add": _add,
    "edit": _edit,
    "remove": _remove,
    "undo": _undo,
    "log": _log,
}


def _bullet(ctx: CommandContext, session: Session, ref: str) -> Bullet:
    found = short_id("P", ref) or short_id("P", f"P{ref}")
    if found is None:
        raise BadInput(f"{ref!r} is no strategy.", "Strategies are written P-1, P-2, …")
    bullet = ctx.runtime.sessions.playbook.get(found)
    if bullet is None or found not in session.get_playbook().bullets and bullet.state != "deleted":
        raise BadInput(f"There is no strategy {found} here.", "/playbook lists them.")
    return bullet


def _told(applied: AppliedDelta) -> str:
    return applied.summary() + (" (taken back)" if applied.undone else "")


def _counts(bullet: Bullet) -> str:
    return f"{bullet.helpful} {bullet.harmful} {bullet.neutral}"
