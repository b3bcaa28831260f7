"""A task in a child session: its prompt, and what it returns to the conversation that gave it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from swecli.models.counts import pluralize
from swecli.models.events import Event, TurnFailed, TurnFinished
from swecli.models.message import CallStatus, Display, Effects, ToolResult
from swecli.models.session import Session
from swecli.tools.base import ToolError

_PROMPT = Path(__file__).with_name("task.md")


def task_prompt(tools: Iterable[str]) -> str:
    """Return the system prompt of a task with these tools."""
    text = _PROMPT.read_text(encoding="utf-8").strip()
    return text.replace("{tools}", ", ".join(tools))


def task_result(event: Event | None, session: Session) -> ToolResult:
    """Return the result of a task by its last event: its last message, and the files that it changed in its session.
    Raises ToolError if it failed."""
    if isinstance(event, TurnFailed):
        raise ToolError(f"The task failed: {event.error}")
    if not isinstance(event, TurnFinished):
        raise ToolError("The task failed: it did not start")
    is_done = event.reason == "done"
    changed_files = _changed_files(session)
    lines = [event.text or "(no answer)"]
    if not is_done:
        lines.append(f"[It was not finished: {event.reason}.]")
    if changed_files:
        lines.append(f"[It changed: {', '.join(changed_files)}]")
    early = "" if is_done else f" · not finished: {event.reason}"
    title = f"{pluralize(event.steps, 'request')}{early} · session {session.id[:13]}"
    return ToolResult(
        is_done,
        "\n".join(lines),
        Display(title, event.text),
        effects=Effects(changed=changed_files) if changed_files else None,
    )


def _changed_files(session: Session) -> tuple[str, ...]:
    """Return the files that the session's calls changed, as far as their tools say so; a command does not."""
    calls = (call for message in session.messages for call in message.tool_calls)
    finished_calls = (call for call in calls if call.status is CallStatus.FINISHED)
    return tuple(dict.fromkeys(path for call in finished_calls for path in call.effects.changed))
