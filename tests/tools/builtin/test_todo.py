"""Test the tool `todo`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from swecli.models.message import ToolResult
from swecli.tools.base import ToolContext

RunTool = Callable[..., Awaitable[ToolResult]]


async def test_the_to_do_list_of_the_session_is_replaced(run: RunTool, ctx: ToolContext) -> None:
    held = ctx.todos
    items = [
        {"text": "read", "status": "done"},
        {"text": "write", "status": "in_progress"},
        {"text": "test"},
    ]
    result = await run("todo", items=items)
    assert result.for_model == "[x] read\n[>] write\n[ ] test"
    assert held == [
        {"text": "read", "status": "done"},
        {"text": "write", "status": "in_progress"},
        {"text": "test", "status": "pending"},
    ]
    assert (await run("todo", items=[])).for_model == "The to-do list is empty."
    assert held == []


async def test_an_unknown_status_of_an_item_is_refused(run: RunTool, ctx: ToolContext) -> None:
    result = await run("todo", items=[{"text": "x", "status": "maybe"}])
    assert not result.ok
    assert "items.0.status" in result.for_model
