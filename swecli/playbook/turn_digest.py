"""A finished turn as the reflectors see it: every call in brief, and what was shown and cited."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from swecli.models.ids import NUMBER
from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.redact import redact, redact_value

_EDGE = 400  # characters kept of each end of a result
_ARGUMENT = 400  # characters kept of one argument
_TEXT = 8_000  # characters kept of a query
_CITATION = re.compile(rf"\[\s*(P-?{NUMBER}(?:\s*[,;&]\s*P-?{NUMBER})*)\s*\]", re.IGNORECASE)
_NUMBER = re.compile(rf"P-?({NUMBER})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CallDigest:
    """One call in brief, without secrets. `head` and `tail` are the ends of the result (`tail` empty when the head
    holds all of it). `finished` is False for a call that was interrupted; `denied` says that it was refused, `decision`
    by whom and `reason` with which words."""

    id: str
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    ok: bool = True
    error: str = ""
    exit_code: int | None = None
    head: str = ""
    tail: str = ""
    denied: bool = False
    reason: str = ""
    decision: str = ""
    finished: bool = True

    @property
    def command(self) -> str:
        """The command line of a `run_command` call, "" for all others."""
        command = self.parameters.get("command") if self.name == "run_command" else ""
        return command if isinstance(command, str) else ""

    @property
    def output(self) -> str:
        """Both ends of the result and the error, as one text to look for marks in."""
        return "\n".join(part for part in (self.head, self.tail, self.error) if part)


@dataclass(frozen=True, slots=True)
class TurnDigest:
    """One turn. `outcome` is "done", "failed", "cancelled" or a cap's name ("loop", "max_turns", ...). `shown` are the
    bullets that stood in the prompt, `cited` those of them the answers named."""

    session_id: str
    interaction: int
    query: str
    outcome: str = "done"
    calls: tuple[CallDigest, ...] = ()
    shown: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()


def digest_turn(
    messages: Sequence[ChatMessage], shown: Iterable[str] = (), *, session_id: str = "", outcome: str = "done"
) -> TurnDigest:
    """Digest the stored messages of one interaction, the user's first; `shown` are the bullets that stood in its
    prompt. What users typed counts as the query, not what was sent in its place: text of @files is not the user's
    words."""
    queries = [m.content for m in messages if m.role is Role.USER]
    texts = [m.content for m in messages if m.role is Role.ASSISTANT and m.content]
    allowed = tuple(dict.fromkeys(shown))
    named = ids_in("\n".join(texts))
    return TurnDigest(
        session_id=session_id,
        interaction=max((m.interaction for m in messages), default=0),
        query=redact("\n".join(queries))[:_TEXT],
        outcome=outcome,
        calls=tuple(_digest_call(call) for m in messages for call in m.tool_calls),
        shown=allowed,
        cited=tuple(name for name in named if name in allowed),
    )


def _digest_call(call: ToolCall) -> CallDigest:
    """One stored call in brief."""
    text = redact(call.result or "")
    denied = call.approved is False
    ok = call.result is not None and not denied and call.error is None and call.exit_code in (None, 0)
    return CallDigest(
        id=call.id,
        name=call.name,
        parameters=redact_value(call.parameters, _ARGUMENT),
        ok=ok,
        error=redact(call.error or "")[:_EDGE],
        exit_code=call.exit_code,
        head=text if len(text) <= 2 * _EDGE else text[:_EDGE],
        tail="" if len(text) <= 2 * _EDGE else text[-_EDGE:],
        denied=denied,
        reason=redact(call.reason),
        decision=call.decision,
        finished=call.result is not None,
    )


def ids_in(text: str) -> list[str]:
    """Bullet ids named in brackets, `[P-7]` or `[P-7, P-9]`, in order of first mention."""
    found = [f"P-{int(n)}" for group in _CITATION.findall(text) for n in _NUMBER.findall(group)]
    return list(dict.fromkeys(found))
