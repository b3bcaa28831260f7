"""Render where the to-do list stands, in a line above the spinner: the list itself is printed with its call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from swecli.text import one_line


def render_todos(todos: Sequence[Mapping[str, str]], width: int) -> Text | None:
    """Render how many to-dos are done and which is next, in `width` columns; None if all are done."""
    pending = [todo for todo in todos if todo["status"] != "done"]
    if not pending:
        return None
    current = next((todo for todo in pending if todo["status"] == "in_progress"), pending[0])
    line = Text(f"  to do · {len(todos) - len(pending)} of {len(todos)} done · ", "quiet")
    line.append(one_line(current["text"]), "head")
    line.truncate(width, overflow="ellipsis")
    return line
