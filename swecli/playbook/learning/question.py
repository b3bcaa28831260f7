"""The question to a reflector: exchanges as data, with the strategies that they may confirm, replace or refute."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from swecli.models.playbook import Bullet
from swecli.playbook.learning.evidence import CallDigest, TurnEvidence
from swecli.redact import redact, redact_value

_MAX_RESULTS = 10_000  # characters of results in one question, shared by its calls
_MIN_END = 60  # characters of each end of a result that are always sent
MAX_WAITING = 20  # proposals that a question lists, the newest ones


def build_question(exchanges: Sequence[TurnEvidence], bullets: Mapping[str, Bullet]) -> str:
    """Format exchanges, oldest first and without secrets, as one fenced JSON object."""
    calls = sum(len(turn.digest.calls) for turn in exchanges)
    max_end = max(_MIN_END, _MAX_RESULTS // (2 * max(1, calls)))
    known_ids = {name for turn in exchanges for name in (*turn.known_ids, *turn.stored_next)}
    proposals = [bullet for bullet in list_waiting(bullets) if bullet.id not in known_ids]
    return fence(
        {
            "exchanges": [_exchange(turn, bullets, max_end) for turn in exchanges],
            "waiting": [_strategy(bullet) for bullet in proposals],
        }
    )


def fence(value: Mapping[str, Any]) -> str:
    """Format a value as a fenced JSON object that nothing inside can end."""
    text = json.dumps(value, ensure_ascii=False, default=str, separators=(",", ":"))
    # a fence inside a result must not close ours; it occurs inside strings only
    text = re.sub(r"[\ud800-\udfff]", "�", text).replace("```", "\\u0060" * 3)
    return f"```json\n{text}\n```"


def list_waiting(bullets: Mapping[str, Bullet]) -> list[Bullet]:
    """Return the newest proposals that wait, oldest first."""
    proposals = [bullet for bullet in bullets.values() if bullet.state == "quarantined"]
    return sorted(proposals, key=lambda bullet: bullet.number)[-MAX_WAITING:]


def _exchange(turn: TurnEvidence, bullets: Mapping[str, Bullet], max_end: int) -> dict[str, Any]:
    """Return an exchange as data, with at most `max_end` characters of each end of a result."""
    digest = turn.digest
    observed = turn.observed
    outcome = "unknown"
    if observed is not None:
        outcome = f"{'good' if observed.good else 'bad'}: {observed.reason}"
    fields = {
        "id": f"T{digest.interaction}",
        "before": turn.before,
        "query": digest.query,
        "calls": [_call(call, max_end) for call in digest.calls],
        "ended": digest.outcome,
        "answer": digest.answer,
        "reactions": [reaction.to_json() for reaction in digest.reactions],
        "outcome": redact(outcome),
        "shown": [_strategy(bullets[name]) for name in digest.shown_ids if name in bullets],
        "cited": list(digest.cited),
        "stored": [_strategy(bullets[name]) for name in turn.stored_ids if name in bullets],
        "stored_next": [_strategy(bullets[name]) for name in turn.stored_next if name in bullets],
    }
    return {name: value for name, value in fields.items() if value}


def _strategy(bullet: Bullet) -> dict[str, str]:
    return {"id": bullet.id, "text": redact(bullet.content)}


def _call(call: CallDigest, max_end: int) -> dict[str, Any]:
    head = call.head
    tail = call.tail
    error = "" if call.head.startswith(call.error) else call.error
    if call.denied:
        error = f"refused by the {call.decision or 'user'}: {call.reason}"
        head = tail = ""  # they say the same
    if len(head) + len(tail) > 2 * max_end:
        tail = (tail or head)[-max_end:]
        head = head[:max_end]
    result = {"error": error, "exit_code": call.exit_code, "head": head, "tail": tail}
    return {
        "id": call.id,
        "name": call.name,
        "parameters": redact_value(call.parameters, 2 * max_end),
        "ok": call.ok,
        **{name: value for name, value in result.items() if value not in ("", None)},
    }
