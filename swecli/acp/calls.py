"""Tool calls as an editor draws them: their kind, their places, and what they show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acp.helpers import text_block, tool_content, tool_diff_content
from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    TerminalToolCallContent,
    ToolCallLocation,
    ToolCallStatus,
    ToolCallUpdate,
    ToolKind,
)

from swecli.models.message import CallStatus, Display, Effects, ToolCall, ToolResult
from swecli.text import fence, sanitize, truncate
from swecli.tools.base import PermissionKind

Content = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent
_MAX_TEXT = 20_000  # characters of a result: about what an editor's panel scrolls through
# what an editor calls calls of a permission kind; those of others are "other"
_KINDS: dict[str, ToolKind] = {"edit": "edit", "run": "execute", "fetch": "fetch"}


def kind_of(kind: PermissionKind | None, effects: Effects) -> ToolKind:
    """Return the kind of a call, by the permission kind of its tool (None: there is no such tool) and what it does."""
    if kind is None:
        return "other"
    if not kind.is_read_only:
        return _KINDS.get(kind.name, "other")
    if effects.read:
        return "read"
    if effects.todo is not None:
        return "think"
    return "search" if effects.origin == "repository" else "other"


def status_of(call: ToolCall) -> ToolCallStatus:
    """Return how a stored call ended."""
    return "completed" if call.status is CallStatus.FINISHED else "failed"


def locations_of(root: Path, effects: Effects) -> list[ToolCallLocation]:
    """Return the files that a call reads and changes."""
    paths = dict.fromkeys((*effects.changed, *effects.read))
    return [ToolCallLocation(path=str(root / path)) for path in paths]


def show_display(display: Display, note: str = "") -> list[Content]:
    """Return what a question or a result shows: the difference of a file as its two texts, anything else as text. A
    `note` follows."""
    content: list[Content] = []
    if display.change is not None:
        change = display.change
        content.append(tool_diff_content(change.path, change.new, change.old))
    elif body := sanitize(display.body).strip("\n"):
        content.append(show_text(fence(truncate(body, _MAX_TEXT), display.language)))
    if note:
        content.append(show_text(sanitize(note)))
    return content


def show_result(result: ToolResult) -> list[Content]:
    """Return what a result shows."""
    display = result.for_user
    if result.denied:
        return [show_text(sanitize(truncate(result.for_model, _MAX_TEXT)))]
    content = show_display(display, display.title if display.change is None else "")
    return content or [show_text(fence(sanitize(truncate(result.for_model, _MAX_TEXT))))]


def show_text(markdown: str) -> Content:
    """Return a text as the content of a call."""
    return tool_content(text_block(markdown))


def describe_call(
    call: ToolCall,
    *,
    title: str,
    kind: ToolKind,
    status: ToolCallStatus,
    content: Sequence[Content],
    locations: Sequence[ToolCallLocation],
) -> dict[str, Any]:
    """Return the fields of a call, which are the same in each message about one."""
    return {
        "tool_call_id": call.id,
        "title": sanitize(title),
        "kind": kind,
        "status": status,
        "content": list(content),
        "locations": list(locations),
        "raw_input": call.parameters,
    }


def pending(fields: dict[str, Any]) -> ToolCallUpdate:
    """Return a call as a question names it."""
    return ToolCallUpdate(**fields)
