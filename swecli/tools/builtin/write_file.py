"""A whole file, new or replaced."""

from __future__ import annotations

from pydantic import Field

from swecli.models.message import ToolResult
from swecli.tools.base import Params, Plan, ToolContext, ToolError, tool
from swecli.tools.edits import make_change, plan_change, read_base
from swecli.tools.files import encode_new, with_style_of
from swecli.tools.kinds import EDIT
from swecli.tools.paths import locate


class WriteFileParams(Params):
    """Parameters of write_file."""

    path: str = Field(description="File to write, relative to the workspace. Missing folders are made.")
    content: str = Field(description="The whole new content of the file.")


def _plan(params: WriteFileParams, ctx: ToolContext) -> Plan:
    path = locate(ctx.root, params.path)
    if path == ctx.root.resolve() or params.path.endswith("/"):
        raise ToolError("The path names a folder. Give the path of a file.")
    if not path.exists():
        return plan_change(ctx, path, None, None, encode_new(params.content), "Create")
    old, base = read_base(ctx, path, must_be_seen=True)
    data = with_style_of(old, params.content)
    if data == old.encode(old.text):
        raise ToolError("The file already has exactly this content. Nothing was written.")
    return plan_change(ctx, path, old, base, data, "Write")


@tool(EDIT, WriteFileParams, _plan)
async def write_file(params: WriteFileParams, ctx: ToolContext, plan: Plan) -> ToolResult:
    """Write a whole file."""
    return make_change(ctx, plan, "Wrote")
