"""Exact replacements in a file."""

from __future__ import annotations

from pydantic import Field

from swecli.models.message import ToolResult
from swecli.tools.base import EDIT, Params, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.edits import Edit, apply_edits, make_change, plan_change, read_base
from swecli.tools.paths import locate, relative


class _EditFileParams(Params):
    path: str = Field(description="File to change, relative to the workspace.")
    edits: list[Edit] = Field(min_length=1, description="Replacements, done in order; all of them or none.")


def _plan(params: _EditFileParams, ctx: ToolContext) -> ToolPlan:
    path = locate(ctx.root, params.path)
    old, base = read_base(ctx, path, must_be_seen=False)
    # what is near is shown only of files that may be read unasked, or were read
    hints = path in ctx.seen or ctx.may_read(relative(ctx.root, path))
    data = old.encode(apply_edits(old, params.edits, hints=hints))
    if data == old.encode(old.text):
        raise ToolError("The edits leave the file as it is. Nothing was changed.")
    return plan_change(ctx, path, old, base, data, "Edit")


@tool(EDIT, _EditFileParams, _plan)
async def edit_file(params: _EditFileParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    count = len(params.edits)
    return make_change(ctx, plan, "Edited" if count == 1 else f"Made {count} edits in")
