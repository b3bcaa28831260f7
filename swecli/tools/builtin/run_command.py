"""Run a shell command in the workspace, in the foreground or as a background job."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Mapping, Sequence

from pydantic import Field

from swecli.models.message import Display, Effects, Offer, ToolResult
from swecli.text import escape_hidden
from swecli.tools.base import ToolContext, ToolError, ToolPlan, tool
from swecli.tools.commands.rules import RUN, find_guarded, objection
from swecli.tools.commands.scripts import check_unchanged, digest_scripts
from swecli.tools.commands.shell_words import name_pipeline
from swecli.tools.git import read_only_environment
from swecli.tools.limits import HeadTail, one_line, strip_terminal_codes
from swecli.tools.params import Params
from swecli.tools.processes import ProcessExit, child_environment
from swecli.tools.sandbox import looks_denied
from swecli.tools.shell import OutputThrottle, run_shell
from swecli.tools.time_limit import TIMEOUT_CODE, TimeLimit

_START_WAIT = 0.5  # seconds; a background command that ends within them gets an ordinary result
_BACKGROUND_OUTPUT = 200_000, 300_000  # characters of head and tail
_KILL_JOB = re.compile(r"kill\s+(?:-\w+\s+)?%(\d+)")
_MAX_TIMEOUT = 3600
_MAX_JOBS = 16
_RAN_INSIDE = (
    "[this ran in the sandbox: no network, writes only in the workspace and /tmp, installed dependencies (.venv, "
    "node_modules) read-only, secrets hidden. If that is why it failed, as an installation does, send it again with "
    "outside and why]"
)


class RunCommandParams(Params):
    command: str = Field(min_length=1, description="Shell command or script to run.")
    timeout: int | None = Field(
        None,
        ge=1,
        le=_MAX_TIMEOUT,
        description="Time limit in seconds. Default: 120, or the user's setting.",
    )
    background: bool = Field(False, description="Run it in the background, without a time limit.")
    outside: bool = Field(
        False,
        description="Ask the user to run it outside the sandbox: it needs the network, or writes elsewhere.",
    )
    why: str = Field("", description="With `outside`: the reason, in one sentence for the user.")


def plan_command(params: RunCommandParams, ctx: ToolContext) -> ToolPlan:
    command = params.command.strip()
    if not command:
        raise ToolError("The command is empty.")
    if "\0" in command:
        raise ToolError("The command contains a NUL character.")
    if params.outside and not params.why.strip():
        raise ToolError("Give the reason in `why`: the user is asked about a command outside.")
    if ctx.commands.sandbox is not None and ctx.commands.sandbox.refusal:
        raise ToolError(ctx.commands.sandbox.refusal)
    env = child_environment(ctx.commands.environ)
    has_sandbox = ctx.commands.sandbox is not None and ctx.commands.sandbox.is_active
    outside = one_line(params.why) if params.outside and has_sandbox else ""
    where: list[str] = []
    if params.background:
        where.append("in the background")
    if outside:
        where.append("OUTSIDE the sandbox")
    elif has_sandbox:
        where.append("in the sandbox: no network, writes only here")
    return ToolPlan(
        summary=f"Run {command}",
        preview=Display(
            title=", ".join(where), body=escape_hidden(command), kind="code", language="bash"
        ),
        state=digest_scripts(ctx.root, command, env),
        subject=command,
        guard=find_guarded(command, ctx.root, env),
        outside=outside,
        effects=Effects(ran=command),
    )


@tool(RUN, RunCommandParams, plan_command, Offer(in_small_windows=True))
async def run_command(params: RunCommandParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    command = plan.subject
    env = child_environment(ctx.commands.environ)
    check_unchanged(plan.state, digest_scripts(ctx.root, command, env))
    seconds: float | None = params.timeout
    if seconds is None and not params.background:
        seconds = ctx.commands.timeout
    limit = TimeLimit(seconds)
    if _only_reads(plan, ctx, env):
        # in this environment git starts no program
        env = read_only_environment(env)
        limit = TimeLimit.of_reading(seconds)
    if params.background:
        return await _start_job(command, limit, env, ctx)
    if stopped := _KILL_JOB.fullmatch(command):
        return await _stop_job(stopped[1], ctx)
    output = HeadTail() if ctx.progress.output is None else ctx.progress.output
    throttle = OutputThrottle(ctx.progress.report)
    try:
        end = await run_shell(command, limit.seconds, env, ctx, output, throttle)
    finally:
        throttle.flush()
    return _result(command, output, end, limit, ctx)


def _only_reads(plan: ToolPlan, ctx: ToolContext, env: Mapping[str, str]) -> bool:
    """Return whether a command runs because it only reads: in the sandbox that was decided with its permission."""
    if ctx.commands.profile is not None:
        return ctx.commands.profile == "read-only"
    return not plan.outside and not objection(plan.subject, ctx.root, env)


async def _start_job(
    command: str, limit: TimeLimit, env: Mapping[str, str], ctx: ToolContext
) -> ToolResult:
    if len(ctx.commands.jobs.running) >= _MAX_JOBS:
        raise ToolError(f"{_MAX_JOBS} commands run in the background: end one first (kill %N).")
    output = HeadTail(*_BACKGROUND_OUTPUT)
    task = asyncio.create_task(run_shell(command, limit.seconds, env, ctx, output))
    try:
        await asyncio.wait({task}, timeout=_START_WAIT)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task})
        raise
    if task.done():
        return _result(command, output, task.result(), limit, ctx)
    session = ctx.sessions.current_session if ctx.sessions else None
    job = ctx.commands.jobs.add(command, output, task, limit, session)
    number = job.number
    printed = job.text.rstrip("\n")
    text = (
        f'Job {number} runs in the background. Its output: read_result(call_id="job-{number}"). '
        f"Its end will be reported. kill %{number} ends it."
    )
    if printed:
        text += f" Output until now:\n{printed}"
    display = Display(title=f"runs in the background as job {number}", body=printed)
    return ToolResult(True, text, display, effects=Effects(ran=command, job=number))


async def _stop_job(number: str, ctx: ToolContext) -> ToolResult:
    """Stop a job, as `kill %N` does in a shell."""
    job = ctx.commands.jobs.find(f"job-{number}")
    if job is None or job.ended_at:
        raise ToolError(f"Job {number} {'has ended already' if job else 'was never started'}.")
    await ctx.commands.jobs.stop([job])
    return ToolResult(True, f"{job}: {job.state}", Display(title=job.state), exit_code=0)


def _result(
    command: str, printed: HeadTail, end: ProcessExit, limit: TimeLimit, ctx: ToolContext
) -> ToolResult:
    output = strip_terminal_codes(printed.text())
    code = end.code
    signals = {128 + one: f" ({one.name})" for one in signal.Signals}
    head = f"exit code {code}{signals.get(code, '')}{_describe_pipeline(command, end.pipeline)}"
    if end.reason == "timeout":
        code = TIMEOUT_CODE
        head = f"stopped: {limit.excess}, and everything it had started was ended (exit code {code}){limit.rule}"
    notes = ["[processes it left running in the background were ended]"] if end.left_running else []
    if end.survivors:
        notes = [f"[still running, because it could not be ended: {', '.join(end.survivors)}]"]
    if ctx.commands.profile is not None and code != 0:
        if output.startswith("bwrap: "):
            notes.append("[the sandbox could not be set up: nothing ran]")
        elif looks_denied(output):
            notes.append(_RAN_INSIDE)
    if printed.loss:
        notes.append(printed.loss)
    body = output.rstrip("\n") or "(no output)"
    text = "\n".join([head, *notes, body])
    return ToolResult(
        code == 0, text, Display(title=f"{one_line(command)}: {head}", body=body), exit_code=code
    )


def _describe_pipeline(command: str, codes: Sequence[int]) -> str:
    """Return ` (pytest 1, tail 0)` for the codes of the last pipeline, or ""."""
    if not codes:
        return ""
    names = [re.sub(r"[^\w.+-]", "", name) for name in name_pipeline(command)]
    if len(names) != len(codes):
        names = [""] * len(codes)
    pairs = (
        f"{name or f'program-{number}'} {code}"
        for number, (name, code) in enumerate(zip(names, codes, strict=True), 1)
    )
    return f" ({', '.join(pairs)})"
