"""More of the stored result of an earlier call."""

from __future__ import annotations

from pydantic import Field

from swecli.models.message import Display, ToolResult
from swecli.tools.base import READ, Params, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.limits import fold, one_line, page


class _ReadResultParams(Params):
    call_id: str = Field(min_length=1, description="Id of the call, as its cut result names it, or job-N.")
    start_line: int = Field(1, ge=1, description="First line, counted from 1.")
    end_line: int | None = Field(None, ge=1, description="Last line, itself included. Without it: as much as fits.")


def _plan(params: _ReadResultParams, ctx: ToolContext) -> ToolPlan:
    if params.end_line is not None and params.end_line < params.start_line:
        raise ToolError(f"end_line {params.end_line} is before start_line {params.start_line}.")
    return ToolPlan(f"Read on in the result of {params.call_id} from line {params.start_line}")


@tool(READ, _ReadResultParams, _plan)
async def read_result(params: _ReadResultParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    job = ctx.jobs.find(params.call_id)
    stored = ctx.results.read_result(params.call_id) if ctx.results is not None else None
    text = f"{job}: {job.state}\n{job.text}".rstrip("\n") if job is not None else stored
    if text is None:
        raise ToolError(f"There is no stored result of a call {one_line(params.call_id, 80)!r} in this session.")
    lines = fold(text)
    if params.start_line > len(lines):
        raise ToolError(f"The result has {len(lines)} lines: line {params.start_line} is past its end.")
    rows, last = page(lines, params.start_line, params.end_line, ctx.page_limit)
    span = f"lines {params.start_line}-{last} of {len(lines)}"
    read_on = f"; read on with start_line={last + 1}" if last < min(params.end_line or len(lines), len(lines)) else ""
    return ToolResult(True, "\n".join([*rows, f"[{span}{read_on}]"]), Display(title=params.call_id, body=span))
