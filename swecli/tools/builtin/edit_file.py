"""Edit a file by exact replacements."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic import Field

from swecli.models.message import Offer, ToolResult
from swecli.tools.base import EDIT, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.edits import Edit, EditedText, apply_edits
from swecli.tools.file_changes import FileChange, make_change, plan_change, read_base
from swecli.tools.guards import when_ignored
from swecli.tools.params import Params
from swecli.tools.paths import relative_path, resolve_path
from swecli.tools.spans import changed_lines


class EditFileParams(Params):
    path: str = Field(description="File to edit, relative to the workspace.")
    edits: list[Edit] = Field(
        min_length=1, description="Replacements, applied in order; those that fail are left out."
    )


@dataclass(frozen=True, slots=True)
class _Planned:
    change: FileChange
    edited: EditedText


def _plan(params: EditFileParams, ctx: ToolContext) -> ToolPlan:
    path = resolve_path(ctx.root, params.path)
    base = read_base(ctx, path, must_be_seen=False)
    assert base.file is not None
    # a failed match quotes the file only if it was read, or may be read without asking
    name = relative_path(ctx.root, path)
    may_quote = ctx.files.may_read(name) and not when_ignored(ctx.root, name)
    edited = apply_edits(base.file, params.edits, hints=may_quote or path in ctx.files.digests)
    if edited.text == base.file.text:
        raise ToolError("The edits leave the file as it is. Nothing was changed.")
    data = base.file.encode(edited.text)
    changed = changed_lines(base.file.text, edited.text, edited.spans)
    plan = plan_change(ctx, base, data, "Edit", changed)
    summary = plan.summary
    if edited.failures:
        summary += f", {len(edited.failures)} of {len(params.edits)} edits left out"
    return replace(plan, summary=summary, state=_Planned(plan.state, edited))


@tool(EDIT, EditFileParams, _plan, Offer(in_small_windows=True))
async def edit_file(params: EditFileParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    planned: _Planned = plan.state
    made = planned.edited.made
    failures = planned.edited.failures
    done = "Edited" if len(params.edits) == 1 else f"Made {made} edits in"
    if failures:
        done = f"Made {made} of {len(params.edits)} edits in"
    result = make_change(ctx, replace(plan, state=planned.change), done)
    if not failures:
        return result
    text = "\n".join([result.for_model, "Left out, send only these again:", *failures])
    return replace(result, for_model=text)
