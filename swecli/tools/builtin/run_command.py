"""A shell command in the workspace."""

from __future__ import annotations

import asyncio
import codecs
import re
import shlex
import signal
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from swecli.models.message import Display, ToolResult
from swecli.tools.base import Params, PermissionKind, ToolContext, ToolError, ToolPlan, tool
from swecli.tools.commands import rules
from swecli.tools.files import digest, read_bytes
from swecli.tools.git import read_only_environment
from swecli.tools.limits import HeadTail, escape_hidden, one_line, strip_terminal_codes
from swecli.tools.paths import resolve_path
from swecli.tools.processes import OutputThrottle, ProcessExit, child_environment, run_group

_TIMED_OUT = 124  # what timeout(1) says
_AT_ONCE = 0.5  # seconds; a background command that ends within them has failed, and is answered like any other
_BACKGROUND_OUTPUT = 200_000, 300_000  # characters kept of the head and of the tail
_KILL_JOB = re.compile(r"kill\s+(?:-\w+\s+)?%(\d+)")
_MAX_TIMEOUT = 3600
_INTERPRETER = re.compile(r"(?:ba|da|z|k)?sh|source|\.|python[\d.]*|node|deno|bun|ruby|perl|php|lua|Rscript|make|env")


class _RunCommandParams(Params):
    command: str = Field(min_length=1, description="What to run, as in a shell script.")
    timeout: int | None = Field(
        None, ge=1, le=_MAX_TIMEOUT, description="Seconds it may take. Without it: 120, or what is set."
    )
    background: bool = Field(False, description="Go on while it runs, without a time limit.")


def _plan(params: _RunCommandParams, ctx: ToolContext) -> ToolPlan:
    command = params.command.strip()
    if not command:
        raise ToolError("The command is empty.")
    if "\0" in command:
        raise ToolError("The command holds a NUL character.")
    where = f"in {escape_hidden(str(ctx.root), keep='')}" + (", in the background" if params.background else "")
    return ToolPlan(
        summary=f"Run {command}",
        preview=Display(title=where, body=escape_hidden(command), kind="code", language="bash"),
        state=_scripts(ctx.root, command),
        subject=command,
    )


class _ByCommand(PermissionKind):
    """Subjects are commands as a shell takes them: allowed as far as they are seen through, touched anywhere."""

    def objection(self, patterns: Sequence[str], subject: str, ctx: ToolContext) -> str | None:
        return rules.objection(subject, ctx.root, child_environment(ctx.environ), patterns) or None

    def touches(self, pattern: str, subject: str) -> bool:
        return rules.touches(pattern, subject)

    def exact(self, pattern: str, subject: str) -> bool:
        return rules.is_exact(pattern, subject)

    def suggest(self, subject: str, ctx: ToolContext) -> str:
        return rules.suggest_pattern(subject, ctx.root, child_environment(ctx.environ))


RUN = _ByCommand("run", "Run this?", "asks before it runs")


@tool(RUN, _RunCommandParams, _plan)
async def run_command(params: _RunCommandParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    command = plan.subject
    if _scripts(ctx.root, command) != plan.state:
        raise ToolError("A script this command runs changed after the command was approved. Nothing ran.")
    if params.background:
        return await _begin(command, params.timeout, ctx)
    if stopped := _KILL_JOB.fullmatch(command):
        return await _stop(stopped[1], ctx)
    kept, reporter = HeadTail() if ctx.output is None else ctx.output, OutputThrottle(ctx.report)
    timeout = float(params.timeout or ctx.timeout)
    try:
        ended = await _run(command, timeout, ctx, kept, reporter)
    finally:
        reporter.flush()
    return _result(command, strip_terminal_codes(kept.text()), ended, timeout)


async def _run(
    command: str, timeout: float | None, ctx: ToolContext, kept: HeadTail, reporter: OutputThrottle | None = None
) -> ProcessExit:
    """Run it to its end; what it prints goes to `kept` and `reporter`. Raises ToolError where it cannot be started."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def take(data: bytes) -> None:
        text = decoder.decode(data)
        kept.add(text)
        if reporter is not None:
            reporter.add(text)

    # what only reads runs so that git starts nothing; everything else in the environment as it is
    env = child_environment(ctx.environ)
    env = env if rules.objection(command, ctx.root, env) else read_only_environment(env)
    shell = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"
    try:
        return await run_group([shell, "-c", command], cwd=ctx.root, env=env, timeout=timeout, on_output=take)
    except (OSError, UnicodeEncodeError) as error:
        raise ToolError(f"The command could not be started: {error}.") from error
    finally:
        kept.add(decoder.decode(b"", final=True))


async def _begin(command: str, timeout: int | None, ctx: ToolContext) -> ToolResult:
    if ctx.jobs.is_full:
        raise ToolError(f"{len(ctx.jobs.running)} commands run in the background: end one first (kill %N).")
    kept = HeadTail(*_BACKGROUND_OUTPUT)
    task = asyncio.create_task(_run(command, timeout, ctx, kept))
    try:
        await asyncio.wait({task}, timeout=_AT_ONCE)
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task})
        raise
    if task.done():
        return _result(command, strip_terminal_codes(kept.text()), task.result(), timeout or 0)
    job = ctx.jobs.add(command, kept, task)
    number, printed = job.number, job.text.rstrip("\n")
    text = (
        f'Job {number} runs in the background. Its output: read_result(call_id="job-{number}"). Its end will be '
        f"reported. kill %{number} ends it." + (f" Output until now:\n{printed}" if printed else "")
    )
    return ToolResult(True, text, Display(title=f"runs in the background as job {number}", body=printed))


async def _stop(number: str, ctx: ToolContext) -> ToolResult:
    """What `kill %N` means in a shell that has jobs."""
    job = ctx.jobs.find(f"job-{number}")
    if job is None or job.over:
        raise ToolError(f"Job {number} {'has ended already' if job else 'was never started'}.")
    await ctx.jobs.stop([job])
    return ToolResult(True, f"{job}: {job.state}", Display(title=job.state), exit_code=0)


def _result(command: str, output: str, ended: ProcessExit, timeout: float) -> ToolResult:
    code = _TIMED_OUT if ended.how == "timeout" else ended.code
    head = _how(ended, timeout)
    notes = ["[what it had left running in the background was ended]"] if ended.left else []
    body = output.rstrip("\n") or "(no output)"
    text = "\n".join([head, *notes, body])
    return ToolResult(code == 0, text, Display(title=f"{one_line(command)}: {head}", body=body), exit_code=code)


def _how(ended: ProcessExit, timeout: float) -> str:
    if ended.how == "timeout":
        return f"stopped: it took longer than {timeout:g} s, and everything it had started was ended (exit code 124)"
    names = {128 + one: f" ({one.name})" for one in signal.Signals}
    return f"exit code {ended.code}{names.get(ended.code, '')}"


def _scripts(root: Path, command: str) -> dict[str, str]:
    """Digests of the workspace's files the command would run: what was approved is what runs."""
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        words = command.split()
    found: dict[str, str] = {}
    after_interpreter = False
    for index, word in enumerate(words[:200]):
        first = index == 0 or words[index - 1] in ("&&", "||", ";", "|")
        if (first and "/" in word) or (after_interpreter and not word.startswith("-")):
            try:
                found[word] = digest(read_bytes(root, resolve_path(root, word)))
            except ToolError:
                continue  # no file of the workspace: nothing to hold on to
        after_interpreter = bool(_INTERPRETER.fullmatch(word.rsplit("/", 1)[-1])) or (
            after_interpreter and word.startswith("-")
        )
    return found
