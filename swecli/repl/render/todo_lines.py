"""Render the to-do list below a running turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from swecli.text import one_line

_MAX_ROWS = 5


def render_todos(todos: Sequence[Mapping[str, str]], rows: int, width: int) -> list[Text]:
    """Render the open to-dos in at most `rows` lines of `width` columns; [] if all are done."""
    pending = [todo for todo in todos if todo["status"] != "done"]
    rows = min(rows, _MAX_ROWS)
    if not pending or rows < 2:
        return []
    listed = pending if len(pending) < rows else pending[: rows - 2]
    lines = [Text(f"  to do · {len(todos) - len(pending)} of {len(todos)} done", "quiet")]
    for todo in listed:
        text = one_line(todo["text"])
        if todo["status"] == "in_progress":
            lines.append(Text(f"  [>] {text}", "head"))
        else:
            lines.append(Text(f"  [ ] {text}"))
    if len(listed) < len(pending):
        lines.append(Text(f"  … {len(pending) - len(listed)} more", "quiet"))
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines
