"""Run the project's own linters and type checkers, and show what is new."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from swecli.models.message import Display, Offer, ToolResult
from swecli.tools.base import ToolContext, ToolError, tool
from swecli.tools.builtin.run_command import CommandPlan, RunCommandParams, plan_command
from swecli.tools.commands.rules import RUN
from swecli.tools.commands.scripts import check_unchanged, digest_scripts
from swecli.tools.environment import child_environment
from swecli.tools.files import digest, read_bytes
from swecli.tools.limits import TIMEOUT_CODE, HeadTail, count_of, fit_rows, strip_terminal_codes
from swecli.tools.params import Params
from swecli.tools.paths import display_path
from swecli.tools.problems import count_lines, new_lines
from swecli.tools.shell import OutputThrottle, run_shell
from swecli.values import dataclass


class DiagnosticsParams(Params):
    pass


@dataclass(frozen=True, slots=True)
class _Checked:
    """The outcome of one command."""

    code: int
    lines: list[str]  # for the model


def _plan(params: DiagnosticsParams, ctx: ToolContext) -> CommandPlan:
    if not ctx.commands.diagnostics:
        raise ToolError(
            'No checks are configured. The user sets them in .swecli/config.toml: diagnostics = ["ruff check ."].'
        )
    # asked about and allowed by rules like any other command line
    line = "; ".join(ctx.commands.diagnostics)
    plan = plan_command(RunCommandParams.model_validate({"command": line}), ctx)
    return replace(plan, summary=f"Check with {line}")


@tool(RUN, DiagnosticsParams, _plan, Offer(in_reviews=False, needs="diagnostics"))
async def diagnostics(params: DiagnosticsParams, ctx: ToolContext, plan: CommandPlan) -> ToolResult:
    env = child_environment(ctx.commands.environ)
    check_unchanged(plan.scripts, digest_scripts(ctx.guard, plan.subject, env))
    before = _digests(ctx)
    checked = [await _check(command, ctx) for command in ctx.commands.diagnostics]
    lines = [line for check in checked for line in check.lines]
    changed_paths = _changed_files(before, _digests(ctx), ctx.root)
    if changed_paths:
        lines.append(f"[the checks changed files: {', '.join(changed_paths)}. Read them again]")
    rows = fit_rows(lines, ctx.model.page_limit)
    if len(rows) < len(lines):
        rows.append(f"[… {len(lines) - len(rows)} more lines]")
    failed = next((check.code for check in checked if check.code), 0)
    text = "\n".join(rows)
    return ToolResult(failed == 0, text, Display(title=lines[0], body=text), exit_code=failed)


async def _check(command: str, ctx: ToolContext) -> _Checked:
    """Run one command and compare its output with that of its first run."""
    output = HeadTail()
    throttle = OutputThrottle(ctx.progress.report)
    env = child_environment(ctx.commands.environ)
    try:
        end = await run_shell(command, ctx.commands.timeout, env, ctx, output, throttle)
    finally:
        throttle.flush()
    if end.reason == "timeout":
        reason = f"{command}: stopped after {ctx.commands.timeout:g} s, so nothing is known"
        return _Checked(TIMEOUT_CODE, [reason])
    printed = strip_terminal_codes(output.text()).split("\n")
    lines = [line.rstrip() for line in printed if line.strip()]
    if output.loss:
        head = f"{command}: exit code {end.code}. Its output is too long to compare."
        return _Checked(end.code, [head, output.loss, *lines])

    earlier_lines = ctx.commands.known_problems.get(command)
    if earlier_lines is None:
        ctx.commands.known_problems[command] = count_lines(lines if end.code else [])
    if end.code == 0:
        return _Checked(0, [f"{command}: no problems (exit code 0)"])
    if earlier_lines is None:
        head = f"{command}: exit code {end.code}; first run, so all it says. Later calls show only what is new:"
        return _Checked(end.code, [head, *lines])
    new = new_lines(lines, earlier_lines)
    if not new:
        return _Checked(end.code, [f"{command}: nothing new (exit code {end.code})"])
    head = f"{command}: {count_of(len(new), 'new line')} (exit code {end.code}):"
    return _Checked(end.code, [head, *new])


def _digests(ctx: ToolContext) -> dict[Path, str]:
    """Return the digests of the files that the model knows, as they are now."""
    digests: dict[Path, str] = {}
    for path in ctx.files.digests:
        with suppress(ToolError):  # deleted
            digests[path] = digest(read_bytes(ctx.root, path))
    return digests


def _changed_files(before: dict[Path, str], after: dict[Path, str], root: Path) -> Iterable[str]:
    return [display_path(root, path) for path in before if after.get(path) != before[path]]
