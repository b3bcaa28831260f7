"""What operations do to bullets: pure, so that a delta is known to be good before anything of it is written."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, get_args

from swecli.models.errors import BadInput
from swecli.models.playbook import (
    LIVE,
    MAX_LETTERS,
    MAX_WORDS,
    Bullet,
    Delta,
    Evidence,
    Kind,
    Op,
    OpName,
    Scope,
    State,
    Tag,
    Trust,
)
from swecli.store.playbook_limits import FREE, said_by_user
from swecli.store.tables.columns import clean_text

_CHOICES = {"kind": get_args(Kind), "scope": get_args(Scope), "state": get_args(State), "trust": get_args(Trust)}
_STATES: dict[OpName, State] = {"REMOVE": "deleted", "PIN": "pinned", "QUARANTINE": "quarantined", "RESTORE": "active"}
_COUNTS: tuple[Tag, ...] = get_args(Tag)
_TIMES = ("created_at", "updated_at", "last_used")
OUTSIDE: tuple[Trust, ...] = ("repository", "tool", "web")


@dataclass(slots=True)
class Outcome:
    """What a delta comes to. New bullets go by `new-0`, `new-1` … until they are given numbers.

    `evidence` names the bullet that each piece ends up with; `merges` are (from, into) in their order.
    """

    bullets: dict[str, Bullet]
    touched: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    evidence: list[tuple[str, Evidence]] = field(default_factory=list)
    merges: list[tuple[str, str]] = field(default_factory=list)


def named_in(delta: Delta) -> set[str]:
    """The ids of the bullets that a delta speaks of."""
    return {name for op in delta.ops for name in (op.bullet_id, op.into) if name}


def work_out(delta: Delta, bullets: dict[str, Bullet]) -> Outcome:
    """Apply a delta to the bullets it names.

    Raises:
        BadInput: an operation cannot be carried out; the line says which and why.
    """
    outcome = Outcome(dict(bullets))
    for op in delta.ops:
        if op.op == "ADD":
            _add(outcome, op, delta)
        elif op.op == "MERGE":
            _merge(outcome, op, delta.created_at)
        else:
            _change(outcome, op, delta)
    return outcome


def _add(outcome: Outcome, op: Op, delta: Delta) -> None:
    brought = delta.author == "import"  # only what comes back from an export has a number and a past already
    if op.bullet_id and not brought:
        raise BadInput(f"ADD names {op.bullet_id}, but new strategies are given their number by the store.")
    past = {name: value for name, value in op.fields.items() if brought and name in (*_COUNTS, *_TIMES)}
    values = _checked(replace(op, fields={name: value for name, value in op.fields.items() if name not in past}))
    if "content" not in values:
        raise BadInput("ADD has no content.")
    _check_claim(op, delta, values, None)
    if not op.evidence and delta.author not in FREE:
        raise BadInput("ADD has no evidence: nothing says why it should be believed.")
    name = f"new-{len(outcome.added)}"
    past |= {name: datetime.fromisoformat(past[name]) for name in _TIMES if past.get(name)}
    made: dict[str, Any] = {"id": op.bullet_id or name, "created_at": delta.created_at}
    outcome.bullets[name] = Bullet(**made | past | values)
    outcome.added.append(name)
    # what is written by hand has its author as its evidence
    evidence = op.evidence or (Evidence(delta.author, values["content"], delta.session_id, trust="user"),)
    outcome.evidence += [(name, item) for item in evidence]


def _merge(outcome: Outcome, op: Op, when: datetime) -> None:
    if op.bullet_id == op.into:
        raise BadInput(f"MERGE would merge {op.into} into itself.")
    gone, stays = _existing(outcome, op.bullet_id), _existing(outcome, op.into)
    sums = {name: getattr(gone, name) + getattr(stays, name) for name in _COUNTS}
    _put(outcome, replace(stays, **sums, updated_at=when))
    _put(outcome, replace(gone, helpful=0, harmful=0, neutral=0, state="deleted", updated_at=when))
    outcome.merges.append((gone.id, stays.id))
    outcome.evidence = [(stays.id if name == gone.id else name, item) for name, item in outcome.evidence]
    outcome.evidence += [(stays.id, item) for item in op.evidence]


def _change(outcome: Outcome, op: Op, delta: Delta) -> None:
    when = delta.created_at
    bullet = _existing(outcome, op.bullet_id, deleted_too=op.op == "RESTORE")
    if op.op in ("TAG", "UNTAG"):
        changed = replace(_counted(bullet, op), updated_at=when)
    elif op.op == "UPDATE":
        values = _checked(op)
        if not values:
            raise BadInput(f"UPDATE of {bullet.id} changes nothing.")
        _check_claim(op, delta, values, bullet)
        changed = replace(bullet, **values, updated_at=when)
        if changed.content != bullet.content:  # what was found or missed of its old words says nothing of the new ones
            changed = replace(changed, stale="", verified_at=None)
    elif op.op in _STATES:
        changed = replace(bullet, state=_STATES[op.op], updated_at=when)
    else:
        raise BadInput(f"There is no operation {op.op!r} on the playbook.")
    if _vouches(op, delta) and changed.state == "active":
        changed = replace(changed, vouched_at=when)
    _put(outcome, changed)
    outcome.evidence += [(bullet.id, item) for item in op.evidence]


def _vouches(op: Op, delta: Delta) -> bool:
    """Whether it is the user who takes a strategy in: by hand, or in words that a rule read."""
    return (delta.author in FREE or said_by_user(op)) and (op.op == "RESTORE" or op.fields.get("state") == "active")


def _check_claim(op: Op, delta: Delta, values: dict[str, Any], bullet: Bullet | None) -> None:
    """Rules and models may record the user's words, and not speak for the user: trust follows who said it. Raises
    BadInput."""
    if delta.author in FREE or said_by_user(op):
        return
    trusted = bullet is not None and bullet.trust == "user"
    if values.get("trust") == "user" and not trusted:
        raise BadInput(f"{op.op} claims the user's trust, and none of the user's words are its evidence.")
    if bullet is not None and trusted and values.get("content", bullet.content) != bullet.content:
        raise BadInput(f"{bullet.id} is in the user's words: only the user puts it differently.")
    if bullet is None and values.get("trust") in OUTSIDE and values.get("state", "active") in LIVE:
        raise BadInput("ADD comes from outside and would be active: it has to wait for the user's yes.")


def _counted(bullet: Bullet, op: Op) -> Bullet:
    """The bullet with a tag counted once more, or once less."""
    if op.tag not in _COUNTS:
        raise BadInput(f"{op.op} of {bullet.id} says {op.tag!r}, not helpful, harmful or neutral.")
    count = getattr(bullet, op.tag) + (1 if op.op == "TAG" else -1)
    if count < 0:
        raise BadInput(f"{bullet.id} was never counted as {op.tag}: nothing of it can be taken back.")
    return replace(bullet, **{op.tag: count})


def _existing(outcome: Outcome, name: str, *, deleted_too: bool = False) -> Bullet:
    bullet = outcome.bullets.get(name)
    if bullet is None:
        raise BadInput(f"The playbook has no {name or 'strategy without an id'}.", "See /playbook for those it has.")
    if bullet.state == "deleted" and not deleted_too:
        raise BadInput(f"{name} was removed from the playbook.", "It can be restored.")
    return bullet


def _put(outcome: Outcome, bullet: Bullet) -> None:
    outcome.bullets[bullet.id] = bullet
    if bullet.id not in outcome.touched:
        outcome.touched.append(bullet.id)


def _checked(op: Op) -> dict[str, Any]:
    """The fields of an operation, cleaned and of the right kinds."""
    values: dict[str, Any] = {}
    for name, value in op.fields.items():
        if name in _CHOICES:
            if value not in _CHOICES[name]:
                raise BadInput(f"{op.op} has the {name} {value!r}, which is none of {', '.join(_CHOICES[name])}.")
            values[name] = value
        elif name == "anchors" and isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
            values[name] = tuple(clean_text(item) for item in value)
        elif name in ("content", "section") and isinstance(value, str) and value.strip():
            values[name] = clean_text(value)
            if name == "content":
                _check_length(op, values[name])
        else:
            raise BadInput(f"{op.op} has a {name} that cannot be used: {value!r:.60}")
    return values


def _check_length(op: Op, content: str) -> None:
    words = len(content.split())
    if words > MAX_WORDS:
        raise BadInput(f"{op.op} has {words} words, a strategy at most {MAX_WORDS}.")
    if len(content) > MAX_LETTERS:
        raise BadInput(f"{op.op} has {len(content):,} characters, a strategy at most {MAX_LETTERS}.")
