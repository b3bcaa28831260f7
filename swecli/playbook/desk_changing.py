"""Changing the playbook by hand: each change is a delta with the user as its evidence, and can be taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args

from swecli.models.errors import BadInput
from swecli.models.playbook import AppliedDelta, Bullet, Delta, Op, Scope
from swecli.playbook import by_hand
from swecli.playbook.desk import PlaybookDesk, Said, wrong
from swecli.playbook.gate import DOUBT
from swecli.playbook.standing import held_to_harm, in_words
from swecli.playbook.words import shorten

UNUSED = timedelta(days=90)  # in no prompt while others were: its removal is proposed


def _apply(desk: PlaybookDesk, delta: Delta) -> AppliedDelta:
    return desk.sessions.playbook.apply(delta, desk.session)


def add(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Teach a strategy for this project."""
    if not args:
        raise wrong(desk, "The strategy has no words.", "add TEXT")
    applied = _apply(desk, by_hand.adding(desk.session, " ".join(args)))
    added, known = applied.added, [op for op in applied.delta.ops if op.op != "ADD"]
    lines = [f"Added as {', '.join(added)}."] if added else []
    if added and not known:
        doubts = [item.quote for op in applied.delta.ops for item in op.evidence if item.source == DOUBT]
        lines += [f"Mind that {doubt}, which stays as it is." for doubt in doubts]
    value = {"added": list(added)} | ({"known": known[0].bullet_id} if known else {})
    return Said(value, (*lines, *map(_known, known)))


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
    _apply(desk, by_hand.editing(desk.session, bullet, " ".join(args[1:])))
    return Said({"edited": bullet.id}, (f"{bullet.id} is changed.",))


def remove(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Forget a strategy."""
    bullet = desk.find(" ".join(args))
    _apply(desk, by_hand.removing(desk.session, bullet))
    return Said({"removed": bullet.id}, (f"{bullet.id} removed; `{desk.command} undo` brings it back.",))


def pin(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """Keep a strategy in every prompt."""
    bullet = desk.find(" ".join(args))
    _apply(desk, by_hand.setting(desk.session, bullet, "PIN", f"pin {bullet.id}"))
    return Said({"pinned": bullet.id}, (f"{bullet.id} is pinned: it stands in every prompt.",))


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


@dataclass(frozen=True, slots=True)
class Waiting:
    """A strategy that waits for the user's word. "new": it was set aside and asks to be used; "old": it seems to harm,
    or stood in no prompt for long, and is proposed for removal."""

    bullet: Bullet
    what: Literal["new", "old"]
    why: str

    @property
    def line(self) -> str:
        """The question."""
        asks = "use it?" if self.what == "new" else "remove it?"
        return f"{self.bullet.id} {shorten(self.bullet.content, 100)} ({self.why}): {asks}"


def waiting(desk: PlaybookDesk) -> list[Waiting]:
    """What waits for the user's word, in order of minting."""
    standings, bullets = desk.standings(), desk.bullets()
    latest = max((_seen(bullet) for bullet in bullets), default=None)
    found = []
    for bullet in bullets:
        belief = standings.of(bullet.id)
        if bullet.state in ("active", "quarantined") and belief.standing == "proposed for deletion":
            found.append(Waiting(bullet, "old", in_words(belief)))
        elif bullet.state == "quarantined" or (bullet.state == "active" and held_to_harm(belief)):
            known = held_to_harm(belief)
            found.append(Waiting(bullet, "new", in_words(belief) if known else f"set aside, from {bullet.trust}"))
        elif bullet.state == "active" and latest is not None and latest - _seen(bullet) >= UNUSED:
            days = (latest - _seen(bullet)).days
            found.append(Waiting(bullet, "old", f"in no prompt for {days} days, while others were"))
    return found


def _seen(bullet: Bullet) -> datetime:
    """When it last stood in a prompt; when it was made where it never did."""
    return bullet.last_used or bullet.created_at


def decide(desk: PlaybookDesk, item: Waiting, yes: bool) -> Said:
    """Do what was asked about a strategy, or the contrary for good: a new one goes, one to be removed is pinned."""
    bullet, words = item.bullet, f"{'accepted' if yes else 'refused'} in review: {item.bullet.id}"
    if (item.what == "new") == yes:
        _apply(desk, by_hand.setting(desk.session, bullet, "RESTORE" if yes else "PIN", words))
        return Said({"kept": bullet.id}, (f"{bullet.id} is {'active' if yes else 'kept and pinned'}.",))
    _apply(desk, by_hand.setting(desk.session, bullet, "REMOVE", words))
    return Said({"removed": bullet.id}, (f"{bullet.id} is removed; `{desk.command} undo` brings it back.",))


def review(desk: PlaybookDesk, args: Sequence[str]) -> Said:
    """What waits for your word; with `P-7 accept` or `P-7 refuse` that word."""
    found = waiting(desk)
    if not args:
        value = [{"id": w.bullet.id, "what": w.what, "why": w.why, "content": w.bullet.content} for w in found]
        hint = f"{desk.command} review P-7 accept|refuse" if found else ""
        return Said(value, tuple(w.line for w in found) or ("Nothing waits for your word.",), note=hint)
    if len(args) != 2 or args[1] not in ("accept", "refuse"):
        raise wrong(desk, "It takes a strategy and your word.", "review P-7 accept|refuse")
    bullet = desk.find(args[0])
    item = next((w for w in found if w.bullet.id == bullet.id), None)
    if item is None:
        raise BadInput(f"{bullet.id} does not wait for your word: it is {bullet.state}.")
    return decide(desk, item, args[1] == "accept")
