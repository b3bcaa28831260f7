"""Read the rest of an earlier call's stored result, or the output of a background command."""

from __future__ import annotations

import asyncio
import time

from pydantic import Field

from swecli.models.message import Display, ToolResult
from swecli.tools.base import READ, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.jobs import Job
from swecli.tools.limits import one_line
from swecli.tools.pages import FIRST_LINE, LAST_LINE, LineSpan, make_page, wrap_lines
from swecli.tools.params import Params

_JOB = "job-"  # begins the ids of background commands
_MAX_SILENCE = 60.0  # seconds that are waited for something new without a wish
_LOOK_EVERY = 0.25  # seconds
_MAX_WAIT = 600  # seconds: as long as a long build; the model can wait again


class ReadResultParams(Params):
    call_id: str = Field(
        min_length=1, description="Id of the call, as named in its truncated result, or job-N."
    )
    start_line: int = Field(1, ge=1, description=FIRST_LINE)
    end_line: int | None = Field(None, ge=1, description=LAST_LINE)
    wait: int = Field(
        0, ge=0, le=_MAX_WAIT, description="Of a job: seconds to wait for its end first."
    )


def _plan(params: ReadResultParams, ctx: ToolContext) -> ToolPlan:
    LineSpan(
        params.start_line, params.end_line
    )  # refuses a wrong range before anything is waited for
    return ToolPlan(_summary(params))


def _summary(params: ReadResultParams) -> str:
    """Return what the user reads: the ids of calls are not shown to them."""
    job = params.call_id.removeprefix(_JOB)
    if job == params.call_id:
        return f"Read on in an earlier result from line {params.start_line}"
    if params.wait:
        return f"Wait for job {job}, up to {params.wait} s"
    return f"Read output of job {job}"


@tool(READ, ReadResultParams, _plan)
async def read_result(params: ReadResultParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    job = ctx.commands.jobs.find(params.call_id)
    text = await (_read_job(job, params.wait) if job is not None else _find_text(params, ctx))
    span = LineSpan(params.start_line, params.end_line)
    page = make_page(wrap_lines(text), span, "The result", ctx.model.page_limit)
    page_text = "\n".join([*page.rows, f"[{page.span}{page.read_on}]"])
    is_waiting = job is not None and not job.ended_at
    return ToolResult(True, page_text, Display(title=page.span), is_waiting=is_waiting)


async def _read_job(job: Job, seconds: int) -> str:
    """Return a job's state and output, after its end or `seconds`. If there is nothing new since the last time, it is
    waited for that anyway."""
    if seconds and not job.ended_at:
        await asyncio.wait({job.task}, timeout=seconds)
    else:
        until = time.monotonic() + _MAX_SILENCE
        while job.output.size == job.size_read and not job.ended_at and time.monotonic() < until:
            await asyncio.wait({job.task}, timeout=_LOOK_EVERY)
    await asyncio.sleep(0)  # so that its end is recorded
    await job.look()
    job.size_read = job.output.size
    return f"{job}: {job.state}\n{job.text}".rstrip("\n")


async def _find_text(params: ReadResultParams, ctx: ToolContext) -> str:
    """Return a stored result. Raises ToolError if there is none."""
    text = ctx.sessions.read_result(params.call_id) if ctx.sessions is not None else None
    if text is not None:
        return text
    if params.call_id.startswith(_JOB):
        raise ToolError(
            f"There is no {one_line(params.call_id, 80)} in this run. A job that was started before swecli was "
            "restarted ended then, and its output is lost."
        )
    raise ToolError(
        f"There is no stored result of a call {one_line(params.call_id, 80)!r} in this session."
    )
