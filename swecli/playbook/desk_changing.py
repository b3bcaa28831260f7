"""Changing the playbook by hand: each change is a delta with the user as its evidence, and can be taken back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from swecli.models.errors import BadInput
from swecli.models.playbook import AppliedDelta, Delta, Op, Scope
from swecli.playbook import by_hand
from swecli.playbook.desk import PlaybookDesk, Said, wrong
from swecli.playbook.gate import DOUBT
from swecli.playbook.standing import held_to_harm
from swecli.redact import has_secret


def _apply(desk: PlaybookDesk, delta: Delta) -> AppliedDelta:
    return desk.sessions.playbook.apply(delta, desk.session)


def add(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Teach a strategy for this project."""
    if not args:
        raise wrong(desk, "The strategy has no words.", "add TEXT")
    text = " ".join(args)
    applied = _apply(desk, by_hand.adding(desk.session, text))
    added, known = applied.added, [op for op in applied.delta.ops if op.op != "ADD"]
    lines = [f"Added as {', '.join(added)}."] if added else []
    if added and not known:
        waits = [op for op in applied.delta.ops if op.fields.get("state") == "quarantined"]
        doubts = [item.quote for op in waits for item in op.evidence if item.source == DOUBT]
        lines += [f"It waits for your word, since {doubt}: `{desk.command} review`." for doubt in doubts]
    value = {"added": list(added)} | ({"known": known[0].bullet_id} if known else {})
    return Said(value, (*lines, *map(_known, known)), note=_left_out(text))


def _known(op: Op) -> str:
    """What adding did to a strategy that speaks of the same."""
    if op.op == "QUARANTINE":
        return f"{op.bullet_id} says the opposite and is set aside: review asks what is to become of it."
    again = " It is active again." if op.fields.get("state") == "active" else ""
    if "content" in op.fields:
        return f"{op.bullet_id} said part of it, and says all of it now.{again}"
    return f"{op.bullet_id} says so already; your words are noted with it.{again}"


def edit(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Put a strategy differently."""
    bullet = desk.find(args[0] if args else "")
    if not args[1:]:
        raise wrong(desk, "The strategy has no words.", f"edit {bullet.id} TEXT")
    text = " ".join(args[1:])
    _apply(desk, by_hand.editing(desk.session, bullet, text))
    return Said({"edited": bullet.id}, (f"{bullet.id} is changed.",), note=_left_out(text))


def _left_out(text: str) -> str:
    return "A secret in it was not kept; `show` has what was." if has_secret(text) else ""


def remove(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Forget a strategy."""
    bullet = desk.find(" ".join(args))
    _apply(desk, by_hand.removing(desk.session, bullet))
    return Said({"removed": bullet.id}, (f"{bullet.id} removed; `{desk.command} undo` brings it back.",))


def pin(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Keep a strategy in every prompt."""
    bullet = desk.find(" ".join(args))
    _apply(desk, by_hand.setting(desk.session, bullet, "PIN", f"pin {bullet.id}"))
    return Said({"pinned": bullet.id}, (f"{bullet.id} is pinned: it comes first, in every prompt with room for it.",))


def disable(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Keep a strategy out of prompts."""
    bullet = desk.find(" ".join(args))
    _apply(desk, by_hand.disabling(desk.session, bullet))
    return Said(
        {"disabled": bullet.id},
        (f"{bullet.id} is kept, but out of prompts; `{desk.command} restore {bullet.id}` ends that.",),
    )


def restore(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Make a pinned, disabled, quarantined or removed strategy an active one again."""
    bullet = desk.find(" ".join(args), gone_too=True)
    if bullet.state == "active" and not held_to_harm(desk.standings().of(bullet.id)):
        raise BadInput(f"{bullet.id} is active already.")
    _apply(desk, by_hand.setting(desk.session, bullet, "RESTORE", f"restore {bullet.id}"))
    return Said({"restored": bullet.id}, (f"{bullet.id} is active again.",))


def promote(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Let a strategy apply to this project, or to all you do."""
    scopes = get_args(Scope)
    if len(args) != 2 or args[1] not in scopes:
        raise wrong(desk, "It takes a strategy and whom it is for.", f"promote P-7 {'|'.join(scopes[1:])}")
    bullet = desk.find(args[0])
    home = desk.sessions.playbook.home(bullet.id)
    scope: Scope = args[1]  # type: ignore[assignment]  # one of its values, see above
    _apply(desk, by_hand.promoting(desk.session, bullet, scope))
    whom = {"session": "this session", "project": "this project", "user": "all your projects"}
    before = f"{whom[bullet.scope]}, and was taught in {home}" if bullet.scope == "user" else whom[bullet.scope]
    told = f"{bullet.id} applies to {whom[scope]} now; it applied to {before}."
    return Said({"promoted": bullet.id, "scope": scope, "from": {"scope": bullet.scope, "project": home}}, (told,))


def switch_off(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Keep the playbook out of this project's prompts; nothing of it is lost."""
    desk.sessions.playbook.turns.switch(desk.session, off=True)
    return Said({"off": True}, (f"The playbook is off in this project; `{desk.command} on` lets it in again.",))


def switch_on(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Let the playbook into this project's prompts again."""
    desk.sessions.playbook.turns.switch(desk.session, off=False)
    return Said({"off": False}, ("The playbook is on.",))
