"""Edit a file by exact replacements."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from swecli.models.message import Offer, ToolResult
from swecli.tools.base import EDIT, ToolContext, ToolError, tool
from swecli.tools.edits import Edit, apply_edits
from swecli.tools.file_changes import (
    ChangePlan,
    make_change,
    plan_change,
    read_base,
    resolve_change,
    stale_error,
)
from swecli.tools.params import Params
from swecli.tools.paths import relative_path
from swecli.tools.spans import changed_lines


class EditFileParams(Params):
    path: str = Field(description="File to edit, relative to the workspace.")
    edits: list[Edit] = Field(
        min_length=1, description="Replacements, applied in order; those that fail are left out."
    )


def _plan(params: EditFileParams, ctx: ToolContext) -> ChangePlan:
    path = resolve_change(ctx, params.path)
    base = read_base(ctx, path)
    assert base.file is not None
    # a failed match quotes the file only if it was read, or may be read without asking
    name = relative_path(ctx.root, path)
    may_quote = ctx.guard.may_read(name)
    try:
        edited = apply_edits(base.file, params.edits, hints=may_quote or path in ctx.files.digests)
    except ToolError as error:
        raise stale_error(ctx, base) if base.is_stale else error from error
    # text that is there exactly once is what the model saw, whatever else has changed
    if base.is_stale and (edited.failures or any(edit.replace_all for edit in params.edits)):
        raise stale_error(ctx, base)
    if edited.text == base.file.text:
        raise ToolError("The edits leave the file as it is. Nothing was changed.")
    ranges = changed_lines(base.file.text, edited.text, edited.spans)
    plan = plan_change(ctx, base, replace(base.file, text=edited.text), "Edit", ranges)
    summary = plan.summary
    if edited.failures:
        summary += f", {len(edited.failures)} of {len(params.edits)} edits left out"
    return replace(plan, summary=summary, edits_made=edited.edit_count, failures=edited.failures)


@tool(EDIT, EditFileParams, _plan, Offer(in_small_windows=True))
async def edit_file(params: EditFileParams, ctx: ToolContext, plan: ChangePlan) -> ToolResult:
    summary = "Edited" if len(params.edits) == 1 else f"Made {plan.edits_made} edits in"
    if plan.failures:
        summary = f"Made {plan.edits_made} of {len(params.edits)} edits in"
    result = make_change(ctx, plan, summary)
    if not plan.failures:
        return result
    text = "\n".join([result.for_model, "Left out, send only these again:", *plan.failures])
    return replace(result, for_model=text)
