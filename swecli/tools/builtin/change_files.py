"""Changes to files: exact replacements, and a whole file, new or replaced."""

from __future__ import annotations

from pydantic import Field

from swecli.models.message import ToolResult
from swecli.tools.base import EDIT, Params, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.edits import Edit, apply_edits, make_change, plan_change, read_base
from swecli.tools.files import TextFile, with_style_of
from swecli.tools.paths import locate, relative


class _EditFileParams(Params):
    path: str = Field(description="File to change, relative to the workspace.")
    edits: list[Edit] = Field(min_length=1, description="Replacements, done in order; all of them or none.")


def _plan_edit_file(params: _EditFileParams, ctx: ToolContext) -> ToolPlan:
    path = locate(ctx.root, params.path)
    old, base = read_base(ctx, path, must_be_seen=False)
    # what is near is shown only of files that may be read unasked, or were read
    hints = path in ctx.seen or ctx.may_read(relative(ctx.root, path))
    data = old.encode(apply_edits(old, params.edits, hints=hints))
    if data == old.encode(old.text):
        raise ToolError("The edits leave the file as it is. Nothing was changed.")
    return plan_change(ctx, path, old, base, data, "Edit")


@tool(EDIT, _EditFileParams, _plan_edit_file)
async def edit_file(params: _EditFileParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    count = len(params.edits)
    return make_change(ctx, plan, "Edited" if count == 1 else f"Made {count} edits in")


class _WriteFileParams(Params):
    path: str = Field(description="File to write, relative to the workspace. Missing folders are made.")
    content: str = Field(description="The whole new content of the file.")


def _plan_write_file(params: _WriteFileParams, ctx: ToolContext) -> ToolPlan:
    path = locate(ctx.root, params.path)
    if path == ctx.root.resolve() or params.path.endswith("/"):
        raise ToolError("The path names a folder. Give the path of a file.")
    if not path.exists():
        return plan_change(ctx, path, None, None, TextFile("").encode(params.content), "Create")
    old, base = read_base(ctx, path, must_be_seen=True)
    data = with_style_of(old, params.content)
    if data == old.encode(old.text):
        raise ToolError("The file already has exactly this content. Nothing was written.")
    return plan_change(ctx, path, old, base, data, "Write")


@tool(EDIT, _WriteFileParams, _plan_write_file)
async def write_file(params: _WriteFileParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    return make_change(ctx, plan, "Wrote")
