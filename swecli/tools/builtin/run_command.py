"""Run a shell command in the workspace, in the foreground or as a background job."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from pydantic import Field

from swecli.models.message import Display, Effects, Offer, ToolResult
from swecli.text import escape_hidden
from swecli.tools.base import NeedsMore, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.command_limits import reached_limits
from swecli.tools.commands.rules import RUN, why_uncovered
from swecli.tools.commands.scripts import check_unchanged, digest_scripts
from swecli.tools.commands.syntax import name_pipeline, read_command
from swecli.tools.commands.touched_paths import find_touched_paths
from swecli.tools.environment import child_environment
from swecli.tools.git import read_only_environment
from swecli.tools.jobs import Watch
from swecli.tools.limits import TIMEOUT_CODE, HeadTail, excess, one_line, strip_terminal_codes
from swecli.tools.params import Params
from swecli.tools.processes import ProcessExit
from swecli.tools.sandbox import looks_denied, looks_read_only, says_read_only
from swecli.tools.shell import OutputThrottle, run_shell
from swecli.values import dataclass

_START_WAIT = 0.5  # seconds; a background command that ends within them gets an ordinary result
_BACKGROUND_OUTPUT = 200_000, 300_000  # characters of head and tail
_BROKEN_PIPE = 128 + signal.SIGPIPE  # of a program whose reader has ended, such as head
_KILL_JOB = re.compile(r"kill\s+(?:-\w+\s+)?%(\d+)")
_MAX_TIMEOUT = 3600
_MAX_JOBS = 16
_RAN_INSIDE = (
    "[this ran in the sandbox: no network (on 127.0.0.1 only what this session serves answers), writes only in the "
    "workspace and /tmp, installed dependencies (.venv, node_modules) read-only, secrets and the home folder hidden. "
    "If that is why it failed, as an installation does, send it again with access: outside and why]"
)


_ITS_PORTS = " Commands in the sandbox reach its ports, a browser does not: for one, start it with access: outside."
_NO_PORTS = (
    " Nothing else reaches its ports here: for that, start it and the others with access: outside."
)
_NO_COMMITS = " It cannot commit."
_READ_ONLY = "[this ran where nothing can be written. If that is why it failed, send it again with access: write]"
_WANTED_TO_WRITE = "It was stopped when it wanted to write."


class RunCommandParams(Params):
    command: str = Field(min_length=1, description="Shell command or script to run.")
    timeout: int | None = Field(
        None,
        ge=1,
        le=_MAX_TIMEOUT,
        description="Time limit in seconds. Default: 120, or the user's setting.",
    )
    background: bool = Field(False, description="Run it in the background, without a time limit.")
    access: Literal["read", "write", "outside"] = Field(
        "read",
        description="What it needs: `read`, `write` in the workspace, or `outside` the sandbox (the network, other "
        "folders), which the user is asked about.",
    )
    why: str = Field("", description="With `outside`: the reason, in one sentence for the user.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPlan(ToolPlan):
    """A command line, and the content of the scripts that it runs, as `digest_scripts` returns it."""

    scripts: Mapping[str, str]


def plan_command(params: RunCommandParams, ctx: ToolContext) -> CommandPlan:
    command = params.command.strip()
    if not command:
        raise ToolError("The command is empty.")
    if "\0" in command:
        raise ToolError("The command contains a NUL character.")
    if params.access == "outside" and not params.why.strip():
        raise ToolError("Give the reason in `why`: the user is asked about a command outside.")
    if ctx.commands.sandbox is not None and ctx.commands.sandbox.refusal:
        raise ToolError(ctx.commands.sandbox.refusal)
    env = child_environment(ctx.commands.environ)
    has_sandbox = ctx.commands.sandbox is not None and ctx.commands.sandbox.is_active
    outside = one_line(params.why) if params.access == "outside" and has_sandbox else ""
    # one in the background cannot be asked about when it wants to write, and one that redirects to a file does
    is_tried = not params.background and not read_command(command).outputs
    reads_only = has_sandbox and params.access == "read" and is_tried
    places: list[str] = []
    if params.background:
        places.append("in the background")
    if outside:
        places.append("OUTSIDE the sandbox: as you, with the network and all your files")
    elif reads_only:
        places.append("in the sandbox: no network, writes nothing")
    elif has_sandbox:
        places.append("in the sandbox: no network, writes only here")
    is_confined = has_sandbox and not outside
    touched_paths = find_touched_paths(
        command, ctx.guard, env, is_confined=is_confined, may_write=not reads_only
    )
    return CommandPlan(
        summary=f"Run {command}",
        preview=Display(
            title=", ".join(places), body=escape_hidden(command), kind="code", language="bash"
        ),
        scripts={} if reads_only else digest_scripts(ctx.guard, command, env),
        subject=command,
        forbidden=touched_paths.denial,
        guard=touched_paths.guard,
        asked_paths=tuple(touched_paths.asked_paths),
        reads_only=reads_only,
        outside=outside,
        effects=Effects(ran=command),
    )


@tool(RUN, RunCommandParams, plan_command, Offer(in_small_windows=True))
async def run_command(params: RunCommandParams, ctx: ToolContext, plan: CommandPlan) -> ToolResult:
    command = plan.subject
    env = child_environment(ctx.commands.environ)
    if not plan.reads_only:
        check_unchanged(plan.scripts, digest_scripts(ctx.guard, command, env))
    seconds: float | None = params.timeout
    if seconds is None and not params.background:
        seconds = ctx.commands.timeout
    has_sandbox = ctx.commands.profile is not None
    if not has_sandbox and not plan.outside and not why_uncovered(command, ctx.guard, env):
        env = read_only_environment(env)  # in which git starts no program
    if params.background:
        return await _start_job(command, seconds, env, ctx)
    if match := _KILL_JOB.fullmatch(command):
        return await _stop_job(match[1], ctx)
    sandbox = ctx.commands.sandbox if has_sandbox else None
    refused = sandbox.refused_connections if sandbox else 0
    output = HeadTail() if ctx.progress.output is None else ctx.progress.output
    throttle = _WriteWatch(ctx.progress.report)
    running = asyncio.create_task(run_shell(command, seconds, env, ctx, output, throttle))
    try:
        if ctx.commands.profile == "read-only":
            await throttle.wait_until_it_wants_to_write(running)
        else:
            await asyncio.wait({running})
    finally:
        is_stopped = not running.done()
        running.cancel()
        await asyncio.wait({running})
        throttle.flush()
    write_params = params.model_copy(update={"access": "write"})
    if is_stopped:
        text = f"{_WANTED_TO_WRITE} It printed until then:\n{output.text()}"
        raise NeedsMore(write_params, _WANTED_TO_WRITE, ToolResult(False, text, Display(body=text)))
    is_refused = sandbox is not None and sandbox.refused_connections > refused
    result = _result(command, output, running.result(), seconds, ctx, is_refused=is_refused)
    if ctx.commands.profile == "read-only" and throttle.wants_to_write.is_set():
        raise NeedsMore(write_params, _WANTED_TO_WRITE, result)
    return result


class _WriteWatch(OutputThrottle):
    """Notes when a program says that it may not write."""

    def __init__(self, report: Callable[[str], None]) -> None:
        super().__init__(report)
        self.wants_to_write = asyncio.Event()

    def add(self, text: str) -> None:
        if says_read_only(text):
            self.wants_to_write.set()
        super().add(text)

    async def wait_until_it_wants_to_write(self, running: asyncio.Task[ProcessExit]) -> None:
        """Wait for the end of a command, or a moment longer than until it wants to write: what it does after that it
        will do again."""
        write_request = asyncio.create_task(self.wants_to_write.wait())
        try:
            await asyncio.wait({running, write_request}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({running}, timeout=_START_WAIT)
        finally:
            write_request.cancel()


async def _start_job(
    command: str, limit: float | None, env: Mapping[str, str], ctx: ToolContext
) -> ToolResult:
    if len(ctx.commands.jobs.running) >= _MAX_JOBS:
        raise ToolError(f"{_MAX_JOBS} commands run in the background: end one first (kill %N).")
    output = HeadTail(*_BACKGROUND_OUTPUT)
    watch = Watch()
    task = asyncio.create_task(run_shell(command, limit, env, ctx, output, watch=watch))
    try:
        await asyncio.wait({task}, timeout=_START_WAIT)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task})
        raise
    if task.done():
        return _result(command, output, task.result(), limit, ctx)
    session = ctx.sessions.current_session if ctx.sessions else None
    job = ctx.commands.jobs.add(command, output, task, limit, watch, session)
    number = job.number
    printed = job.text.rstrip("\n")
    text = (
        f'Job {number} runs in the background. Its output: read_result(call_id="job-{number}"). '
        f"Its end will be reported. kill %{number} ends it."
    )
    sandbox = ctx.commands.sandbox
    if ctx.commands.profile is not None and sandbox is not None:
        text += _ITS_PORTS if sandbox.has_shared_network else _NO_PORTS
        text += _NO_COMMITS
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
    command: str,
    printed: HeadTail,
    end: ProcessExit,
    limit: float | None,
    ctx: ToolContext,
    *,
    is_refused: bool = False,
) -> ToolResult:
    """Return the result of a command that has ended. `is_refused`: a connection to the loopback of the sandbox was, of
    which many programs print nothing that tells it from a server that is broken."""
    output = strip_terminal_codes(printed.text())
    code = end.code
    signals = {128 + number: f" ({number.name})" for number in signal.Signals}
    outcome = f"exit code {code}{signals.get(code, '')}"
    parts = _name_parts(command, end.pipeline)
    codes = ", ".join(f"{name} {part_code}" for name, part_code in parts)
    head = f"{outcome} ({codes})" if codes else outcome
    if end.reason == "timeout":
        code = TIMEOUT_CODE
        head = outcome = (
            f"stopped: {excess(limit)}, and everything it had started was ended (exit code {code})"
        )
    notes = ["[processes it left running in the background were ended]"] if end.left_running else []
    if end.still_running:
        notes = [f"[still running, because it could not be ended: {', '.join(end.still_running)}]"]
    if ctx.commands.profile is not None and ctx.commands.sandbox is not None:
        if code != 0 and output.startswith("bwrap: "):
            notes.append("[the sandbox could not be set up: nothing ran]")
        elif ctx.commands.profile == "read-only" and looks_read_only(output):
            notes.append(_READ_ONLY)
        elif is_refused or looks_denied(output) or ctx.commands.sandbox.misses_home(output):
            notes.append(_RAN_INSIDE)
        if code != 0 and (reached := reached_limits(output, code)):
            notes.append(reached)
    if printed.loss:
        notes.append(printed.loss)
    body = output.rstrip("\n") or "(no output)"
    text = "\n".join([head, *notes, body])
    failed_parts = [
        f"{name} failed (exit code {part_code})"
        for name, part_code in parts[:-1]
        if part_code not in (0, _BROKEN_PIPE)
    ]
    return ToolResult(
        code == 0,
        text,
        Display(title=f"{one_line(command)}: {outcome}", body=body),
        exit_code=code,
        failed_parts=tuple(failed_parts),
    )


def _name_parts(command: str, codes: Sequence[int]) -> list[tuple[str, int]]:
    """Return the programs of the last pipeline with their codes; [] if it has only one."""
    if not codes:
        return []
    names = [re.sub(r"[^\w.+-]", "", name) for name in name_pipeline(command)]
    if len(names) != len(codes):
        names = [""] * len(codes)
    return [
        (name or f"program-{number}", code)
        for number, (name, code) in enumerate(zip(names, codes, strict=True), 1)
    ]
