"""Show the conversation of a stored session."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

from swecli.models.action import ActionResult
from swecli.models.aside import Aside
from swecli.redact import redact_value
from swecli.store.session_manager import SessionManager


def show_conversation(sessions: SessionManager, *, as_value: bool) -> ActionResult:
    """Return the current session as lines of text, or as the value that an export has."""
    session = sessions.session
    if as_value:
        return ActionResult(redact_value(sessions.archive.export(session.id)))
    sessions.load_back_to(1)
    lines = []
    asides = deque(sessions.asides())
    for message in session.messages:
        while asides and asides[0].stored_at and asides[0].stored_at < message.created_at:
            lines += _format_aside(asides.popleft())
        labels = "".join(f" {image['label']}" for image in message.images or ())
        lines.append(f"{message.role.value}: {message.content}{labels}".rstrip())
        lines += [
            format_call(call.name, call.parameters, call.error or call.result or "")
            for call in message.tool_calls
        ]
    for aside in asides:
        lines += _format_aside(aside)
    return ActionResult(None, tuple(lines))


def _format_aside(aside: Aside) -> list[str]:
    """Format what was asked beside the conversation, and the answer."""
    return [f"beside, user: {aside.question}", f"beside, assistant: {aside.answer}".rstrip()]


def format_call(name: str, parameters: dict[str, Any], result: str) -> str:
    """Format a tool call with the first line of its result."""
    first, *rest = result.strip().splitlines() or ["nothing"]
    more = f" (+{len(rest)} lines)" if rest else ""
    return f"  {name} {json.dumps(parameters, ensure_ascii=False)} -> {first}{more}"
