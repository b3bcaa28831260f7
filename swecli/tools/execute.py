"""The tools there are, and one call of them, from what the model sent to its result: parse, plan, permit, run."""

from __future__ import annotations

import asyncio
import difflib
import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace

from pydantic import BaseModel, ValidationError

from swecli.discovery import find_declared, index_by_name
from swecli.models.errors import ConfigError, SwecliError
from swecli.models.message import Ask, AskRequest, Decision, Display, ToolCall, ToolResult, ToolSpec
from swecli.tools import builtin
from swecli.tools.base import Tool, ToolContext, ToolError, ToolPlan
from swecli.tools.limits import one_line, strip_terminal_codes
from swecli.tools.permissions import Permissions, suggest_rule

_log = logging.getLogger(__name__)

_CANCELLED_BEFORE = "Cancelled by the user before it ran. Nothing was done."
_EFFECTS = "Effects may exist: check before repeating it."
_ERROR_LENGTH = 1000


class ToolRegistry:
    """A set of tools. Raises NameClash when two want one name."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = index_by_name([(tool.name, tool) for tool in tools])

    @classmethod
    def discover(cls) -> ToolRegistry:
        """The tools that ship with the product and those of installed packages (entry point group swecli.tools)."""
        return cls(find_declared(builtin, Tool, "swecli.tools"))

    def __iter__(self) -> Iterator[Tool]:
        """All tools, sorted by name."""
        return (self._tools[name] for name in self.names())

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def names(self) -> list[str]:
        return sorted(self._tools)

    def nearest(self, name: str) -> list[str]:
        """Names that look like this one, best first."""
        return difflib.get_close_matches(name.lower(), self._tools, n=3, cutoff=0.5)

    def specs(self) -> list[ToolSpec]:
        """What the model reads of them, sorted by name: the same bytes on every run."""
        return [tool.spec() for tool in self]


async def execute(
    call: ToolCall,
    registry: ToolRegistry,
    ctx: ToolContext,
    permissions: Permissions,
    ask: Ask,
    problem: str | None = None,
) -> tuple[ToolResult, str]:
    """Carry out one call; the result and its one-line summary. Never raises but CancelledError.

    `problem` says what was wrong with the arguments' text, where they could not be read. Everything that became of
    the call is written into `call`: `result` is the
    whole text for the model (the caller cuts it), `duration_ms` the time it ran, without the wait for approval.
    On cancellation programs are ended, the call records it with what was printed until then (`ctx.output`), and
    CancelledError goes on.
    """
    ctx = replace(ctx, may_read=permissions.may_read)
    try:
        tool, params = _parsed(call, registry, problem)
        plan = tool.plan(params, ctx)
    except Exception as error:  # noqa: BLE001  the boundary: a tool's fault is a result the model and the user see
        return _recorded(call, _failure(call.name, error)), _not_begun(call)
    summary = one_line(plan.summary)
    refusal = await _permit(call, tool, plan, ctx, permissions, ask)
    if refusal is not None:
        return _recorded(call, refusal), summary
    ctx.started(call, summary)
    changes = None if tool.kind.is_read_only else ctx.changes
    async with changes.around(tool.kind.name, plan.subject) if changes else nullcontext():
        return _recorded(call, await _run(call, tool, params, plan, ctx)), summary


def _parsed(call: ToolCall, registry: ToolRegistry, problem: str | None) -> tuple[Tool, BaseModel]:
    """The tool that is called, and its parameters. Raises ToolError."""
    tool = registry.get(call.name)
    if tool is None:
        near = registry.nearest(call.name)
        meant = f"Did you mean {' or '.join(near)}? " if near else ""
        raise ToolError(f"There is no tool {one_line(call.name)!r}. {meant}Tools: {', '.join(registry.names())}.")
    if problem is not None:
        raise ToolError(
            f"The arguments of {tool.name} could not be read: {problem}\n"
            "Nothing was done. Send the call again with one complete JSON object."
        )
    try:
        return tool, tool.params.model_validate(call.parameters)
    except ValidationError as error:
        lines = "\n".join(f"- {line}" for line in _complaints(error))
        raise ToolError(f"The arguments of {tool.name} are not right. Nothing was done.\n{lines}") from error


async def _permit(
    call: ToolCall, tool: Tool, plan: ToolPlan, ctx: ToolContext, permissions: Permissions, ask: Ask
) -> ToolResult | None:
    """The refusal, or None where the call may run."""
    verdict = permissions.decide(tool, plan, ctx)
    if not tool.kind.is_read_only or verdict.outcome != "allow":
        done = {"allow": "ran unasked", "ask": "asked", "deny": "refused"}[verdict.outcome]
        why = verdict.why or f"mode {permissions.mode}"
        permissions.last = f"{one_line(plan.summary, 80)}: {done} ({why})"
    if verdict.outcome == "allow":
        call.decision = verdict.by
        return None
    if verdict.outcome == "deny":
        call.approved, call.decision, call.reason = False, verdict.by, verdict.why
        return _failed(f"Not permitted: {verdict.why} Do not try to reach the same in another way.", denied=True)
    rule, label = suggest_rule(tool, plan, ctx, narrow=verdict.narrow)
    file = permissions.saved.writable_file() if permissions.saved and rule and not verdict.narrow else ""
    shown = (tool.kind.question, one_line(plan.summary), plan.preview, label, rule)
    request = AskRequest(call, *shown, why=verdict.why, project_file=file)
    try:
        decision = await ask(request)
    except asyncio.CancelledError:
        call.error, call.result = "cancelled", _CANCELLED_BEFORE
        raise
    except Exception as error:  # noqa: BLE001  the boundary: without an answer nothing runs, and that is reported
        _log.exception("asking for approval failed")
        return _failed(
            f"It could not be asked for approval ({type(error).__name__}: {error}). Nothing was done.", denied=True
        )
    call.approved, call.decision, call.reason = decision.allow, decision.by, decision.reason
    if not decision.allow:
        return _failed(_refused(decision), denied=True)
    if decision.scope == "session" and request.session_rule:
        permissions.allow_for_session(request.session_rule)
    if decision.scope == "project" and request.session_rule:
        try:
            permissions.allow_for_project(request.session_rule)
        except ConfigError as error:  # it holds for the session; /permissions shows why for no longer
            permissions.last += f"; {request.session_rule} could not be saved: {error}"
    return None


def _refused(decision: Decision) -> str:
    if decision.by == "headless":
        reason = decision.reason or "nobody is there to approve it"
        return f"Not permitted: {reason}. Nothing was done. Go on without it, or say what is needed."
    if decision.reason:
        return f"The user refused this call and nothing was done. The user says: {decision.reason}"
    return "The user refused this call and nothing was done. Do not try it again unchanged; ask what is wanted instead."


async def _run(call: ToolCall, tool: Tool, params: BaseModel, plan: ToolPlan, ctx: ToolContext) -> ToolResult:
    begun = time.monotonic()
    try:
        return await tool.run(params, ctx, plan)
    except asyncio.CancelledError:
        call.error = "cancelled"
        call.result = interrupted_text(f"Stopped by the user after {time.monotonic() - begun:.0f} s", ctx.printed())
        raise
    except Exception as error:  # noqa: BLE001  the boundary: as above
        return _failure(tool.name, error)
    finally:
        call.duration_ms = round((time.monotonic() - begun) * 1000)


def _not_begun(call: ToolCall) -> str:
    """The summary of a call that could not be planned: its name and what it was about."""
    about = next((v for k in ("path", "command", "pattern", "call_id") if (v := call.parameters.get(k))), "")
    return one_line(f"{call.name or '(no name)'} {about}")


def interrupted_text(how: str, output: str) -> str:
    """The result of a call that did not come to its end: `how` that came about, and what it had printed until then."""
    printed = strip_terminal_codes(output).rstrip("\n")
    return f"{how}. {_EFFECTS}" + (f" Output until then:\n{printed}" if printed else "")


def _failed(text: str, *, denied: bool = False) -> ToolResult:
    return ToolResult(ok=False, for_model=text, for_user=Display(body=text), denied=denied)


def _failure(tool: str, error: Exception) -> ToolResult:
    """What became of a call that raised; what no tool should raise is logged."""
    if isinstance(error, SwecliError):
        return _failed(str(error))
    _log.error("the tool %s failed", tool, exc_info=error)
    return _failed(f"{tool} failed by a fault of its own ({type(error).__name__}: {error}). Try another way.")


def _recorded(call: ToolCall, result: ToolResult) -> ToolResult:
    call.result = result.for_model
    call.error = None if result.ok else result.for_model[:_ERROR_LENGTH]
    call.exit_code = result.exit_code
    return result


def _complaints(error: ValidationError) -> list[str]:
    """One line for each thing wrong: where, what, and what was sent."""
    lines = []
    for item in error.errors(include_url=False):
        where = ".".join(str(part) for part in item["loc"]) or "arguments"
        sent = "" if item["type"] in ("missing", "extra_forbidden") else f" (got {one_line(repr(item['input']), 60)})"
        what = "there is no such parameter" if item["type"] == "extra_forbidden" else item["msg"]
        lines.append(f"{one_line(where, 80)}: {what}{sent}")
    return lines
