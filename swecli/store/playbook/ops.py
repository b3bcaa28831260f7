"""What operations do to bullets: pure, so that a delta is known to be good before anything of it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, get_args

from swecli.models.errors import BadInput
from swecli.models.playbook import (
    LIVE,
    MAX_LETTERS,
    MAX_WHEN,
    MAX_WORDS,
    OUTSIDE,
    Bullet,
    Delta,
    Evidence,
    Kind,
    Op,
    OpName,
    Scope,
    State,
    Trust,
)
from swecli.store.tables.columns import clean_text

FREE = frozenset({"user", "import"})  # authors who may change as much as they like: they are the user
_WHOLE = 20  # operations in one delta of a reflector
_CAPS = (
    (("ADD",), 3, "new strategies"),
    (("UPDATE",), 2, "changes of strategies"),
    (("QUARANTINE", "RESTORE"), 5, "strategies put into quarantine or taken back"),
    (("REMOVE", "PIN"), 0, "strategies removed or pinned: that is the user's to decide"),
)
_CHOICES = {"kind": get_args(Kind), "scope": get_args(Scope), "state": get_args(State), "trust": get_args(Trust)}
_STATES: dict[OpName, State] = {"REMOVE": "deleted", "PIN": "pinned", "QUARANTINE": "quarantined", "RESTORE": "active"}
_PAST = ("helpful", "harmful", "neutral", "uses", "belief", "created_at", "updated_at", "last_used")


@dataclass(slots=True)
class Outcome:
    """What a delta comes to. New bullets go by `new-0`, `new-1` … until they are given numbers; `evidence` names the
    bullet of each piece."""

    bullets: dict[str, Bullet]
    touched: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    evidence: list[tuple[str, Evidence]] = field(default_factory=list)


def _quotes_user(op: Op) -> bool:
    """Whether the user's own words are an operation's evidence."""
    return any(item.trust == "user" for item in op.evidence)


def check_caps(delta: Delta, earlier: Sequence[Op] = ()) -> None:
    """Raises BadInput when a delta, with the operations that rules and models made of the same turn `earlier`, is more
    than a turn may change. The user's own words are never capped."""
    if delta.author in FREE:
        return
    if len(delta.ops) > _WHOLE:
        raise BadInput(f"{len(delta.ops)} operations on the playbook at once, at most {_WHOLE}: refused whole.")
    for names, most, what in _CAPS:
        now = sum(op.op in names and not _quotes_user(op) for op in delta.ops)
        before = sum(op.op in names and not _quotes_user(op) for op in earlier)
        if now and now + before > most:
            raise BadInput(f"{now + before} {what} in one turn, at most {most}: refused whole.")


def work_out(delta: Delta, bullets: dict[str, Bullet]) -> Outcome:
    """Apply a delta to the bullets it names. Raises BadInput when an operation cannot be carried out."""
    outcome = Outcome(dict(bullets))
    for op in delta.ops:
        if op.op == "ADD":
            _add(outcome, op, delta)
        else:
            _change(outcome, op, delta)
    return outcome


def _add(outcome: Outcome, op: Op, delta: Delta) -> None:
    brought = delta.author == "import"  # only what comes back from an export has a number and a past already
    if op.bullet_id and not brought:
        raise BadInput(f"ADD names {op.bullet_id}, but new strategies are given their number by the store.")
    past = {name: value for name, value in op.fields.items() if brought and name in _PAST}
    values = _checked(replace(op, fields={name: value for name, value in op.fields.items() if name not in past}))
    if "content" not in values:
        raise BadInput("ADD has no content.")
    _check_claim(op, delta, values, None)
    if not op.evidence and delta.author not in FREE:
        raise BadInput("ADD has no evidence: nothing says why it should be believed.")
    name = f"new-{len(outcome.added)}"
    past |= {key: datetime.fromisoformat(past[key]) for key in past if key.endswith(("_at", "_used")) and past[key]}
    made: dict[str, Any] = {"id": op.bullet_id or name, "created_at": delta.created_at}
    outcome.bullets[name] = Bullet(**made | past | values)
    outcome.added.append(name)
    # what is written by hand has its author as its evidence
    evidence = op.evidence or (Evidence(delta.author, values["content"], delta.session_id, trust="user"),)
    outcome.evidence += [(name, item) for item in evidence]


def _change(outcome: Outcome, op: Op, delta: Delta) -> None:
    bullet = _existing(outcome, op.bullet_id, deleted_too=op.op == "RESTORE")
    if op.op == "UPDATE":
        values = _checked(op)
        if not values:
            raise BadInput(f"UPDATE of {bullet.id} changes nothing.")
        _check_claim(op, delta, values, bullet)
        changed = replace(bullet, **values, updated_at=delta.created_at)
        if changed.content != bullet.content:  # what was found or missed of its old words says nothing of the new ones
            changed = replace(changed, stale="", verified_at=None)
    elif op.op in _STATES:
        changed = replace(bullet, state=_STATES[op.op], updated_at=delta.created_at)
    else:
        raise BadInput(f"There is no operation {op.op!r} on the playbook.")
    taken_in = op.op == "RESTORE" or op.fields.get("state") == "active"
    if taken_in and changed.state == "active" and (delta.author in FREE or _quotes_user(op)):
        changed = replace(changed, vouched_at=delta.created_at)
    outcome.bullets[bullet.id] = changed
    if bullet.id not in outcome.touched:
        outcome.touched.append(bullet.id)
    outcome.evidence += [(bullet.id, item) for item in op.evidence]


def _check_claim(op: Op, delta: Delta, values: dict[str, Any], bullet: Bullet | None) -> None:
    """Rules and models may record the user's words, and not speak for the user: trust follows who said it. Raises
    BadInput."""
    if delta.author in FREE or _quotes_user(op):
        return
    trusted = bullet is not None and bullet.trust == "user"
    if values.get("trust") == "user" and not trusted:
        raise BadInput(f"{op.op} claims the user's trust, and none of the user's words are its evidence.")
    if bullet is not None and trusted and values.get("content", bullet.content) != bullet.content:
        raise BadInput(f"{bullet.id} is in the user's words: only the user puts it differently.")
    if bullet is None and values.get("trust") in OUTSIDE and values.get("state", "active") in LIVE:
        raise BadInput("ADD comes from outside and would be active: it has to wait for the user's yes.")


def _existing(outcome: Outcome, name: str, *, deleted_too: bool = False) -> Bullet:
    bullet = outcome.bullets.get(name)
    if bullet is None:
        raise BadInput(f"The playbook has no {name or 'strategy without an id'}.", "See /playbook for those it has.")
    if bullet.state == "deleted" and not deleted_too:
        raise BadInput(f"{name} was removed from the playbook.", "`/playbook undo` brings it back.")
    return bullet


def _checked(op: Op) -> dict[str, Any]:
    """The fields of an operation, cleaned and of the right kinds."""
    values: dict[str, Any] = {}
    for name, value in op.fields.items():
        if name in _CHOICES:
            if value not in _CHOICES[name]:
                raise BadInput(f"{op.op} has the {name} {value!r}, which is not one of {', '.join(_CHOICES[name])}.")
            values[name] = value
        elif name == "anchors" and isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
            values[name] = tuple(clean_text(item) for item in value)
        elif name == "when" and isinstance(value, str):
            values[name] = " ".join(clean_text(value).split()[:MAX_WHEN])[:MAX_LETTERS]
        elif name in ("content", "section") and isinstance(value, str) and value.strip():
            values[name] = content = clean_text(value)
            words = len(content.split())
            if name == "content" and words > MAX_WORDS:
                raise BadInput(f"{op.op} has {words} words, a strategy at most {MAX_WORDS}.")
            if name == "content" and len(content) > MAX_LETTERS:
                raise BadInput(f"{op.op} has {len(content):,} characters, a strategy at most {MAX_LETTERS}.")
        else:
            raise BadInput(f"{op.op} has a {name} that cannot be used: {value!r:.60}")
    return values
