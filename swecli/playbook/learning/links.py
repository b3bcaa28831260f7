"""How far an outcome touches a bullet: linked to the call that decided it, or only shown."""

from __future__ import annotations

import json
import re

from swecli.models.playbook import Bullet
from swecli.playbook.turn_digest import CallDigest, TurnDigest

_ONLY_SHOWN = {True: 0.3, False: 0.1}  # by whether the outcome was good
_KINDS = ("path", "command", "flag", "tool")
_SPAN = re.compile(r"`([^`\n]{3,})`")
_SHORTEST = 3  # characters of an anchor that tells something
USER = "mark"


def role_of(bullet: Bullet, good: bool, call: CallDigest | None, digest: TurnDigest, source: str) -> tuple[float, str]:
    """The share of an outcome's weight that a shown bullet gets, and the id of the call that links it ("": none).

    1 where something it names stands in the arguments of the call that decided, or for a failure in its error text;
    where it was cited and calls followed; and where it was cited and the user judged. Else a part: on a success more
    than on a failure. What is stale or quarantined gets nothing.
    """
    if not bullet.live or bullet.stale:
        return 0.0, ""
    if call is not None and _occurs(bullet, _text_of(call, good)):
        return 1.0, call.id
    if bullet.id in digest.cited and (source == USER or digest.calls):
        return 1.0, call.id if call else ""
    return _ONLY_SHOWN[good], ""


def _text_of(call: CallDigest, good: bool) -> str:
    text = json.dumps(call.parameters, ensure_ascii=False, default=str)
    return text if good else f"{text} {call.output}"


def _occurs(bullet: Bullet, text: str) -> bool:
    names = {*(_value(anchor) for anchor in bullet.anchors), *_SPAN.findall(bullet.content)}
    return any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for name in names if len(name) >= _SHORTEST)


def _value(anchor: str) -> str:
    kind, _, value = anchor.partition(":")
    return value if kind in _KINDS and value else anchor
