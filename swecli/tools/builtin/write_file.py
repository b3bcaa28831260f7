"""Write a whole file."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from swecli.models.message import Offer, ToolResult
from swecli.tools.base import EDIT, ToolContext, ToolError, tool
from swecli.tools.file_changes import (
    Base,
    ChangePlan,
    make_change,
    plan_change,
    read_base,
    resolve_change,
    stale_error,
)
from swecli.tools.file_formats import new_file
from swecli.tools.line_ends import keep_line_ends
from swecli.tools.params import Params
from swecli.tools.paths import display_path, given_name


class WriteFileParams(Params):
    path: str = Field(
        description="File to write, relative to the workspace. Missing folders are created."
    )
    content: str = Field(description="The complete new content of the file.")


def _plan(params: WriteFileParams, ctx: ToolContext) -> ChangePlan:
    path = resolve_change(ctx, params.path)
    if path == ctx.root.resolve() or given_name(ctx.root, params.path).endswith("/"):
        raise ToolError("The path names a folder. Give the path of a file.")
    if not path.exists():
        form, content = new_file(ctx.root, path, params.content, ctx.commands.environ)
        return plan_change(ctx, Base(path, None), replace(form, text=content), "Create")
    base = read_base(ctx, path)
    if path not in ctx.files.digests:
        name = display_path(ctx.root, path)
        raise ToolError(
            f"{name} exists and was not read yet. Read it first with read_file, then write it."
        )
    if base.is_stale:
        raise stale_error(ctx, base)
    assert base.file is not None
    content = params.content
    if base.file.newline and "\r\n" not in content:
        content = keep_line_ends(base.file.text, content, base.file.newline)
    if content == base.file.text:
        raise ToolError("The file already has exactly this content. Nothing was written.")
    return plan_change(ctx, base, replace(base.file, text=content), "Write")


@tool(EDIT, WriteFileParams, _plan, Offer(in_small_windows=True))
async def write_file(params: WriteFileParams, ctx: ToolContext, plan: ChangePlan) -> ToolResult:
    return make_change(ctx, plan, "Wrote")
