"""Execute one call: parse, plan, ask for permission, run."""

from __future__ import annotations

import asyncio
import difflib
import logging
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.file_names import write_name
from swecli.models.approval import Ask, AskRequest, Decision
from swecli.models.errors import ConfigError, SwecliError
from swecli.models.json_value import JsonObject
from swecli.models.message import CallStatus, Display, ToolCall, ToolResult
from swecli.tools.arguments import read_arguments
from swecli.tools.base import NeedsMore, Tool, ToolContext, ToolError, ToolPlan, lost_workspace
from swecli.tools.limits import one_line, strip_terminal_codes
from swecli.tools.permissions import Permissions, PermissionVerdict
from swecli.tools.registry import ToolRegistry
from swecli.tools.sandbox import Profile
from swecli.values import dataclass

if TYPE_CHECKING:
    from pydantic import BaseModel

    from swecli.tools.hooks.advice import Advice
    from swecli.tools.hooks.late import Hooks
    from swecli.tools.hooks.names import HookedCall

_log = logging.getLogger(__name__)

_CANCELLED = "Cancelled by the user before it ran. Nothing was done."
_EFFECTS = "Effects may exist: check before repeating it."
_ERROR_LENGTH = 1000
# parameters that say what a call is about, of tools of ours and of others
_SUBJECTS = ("path", "command", "pattern", "call_id", "url", "query", "title", "name")
_MAX_CHANGED = 10  # files named after a command; more are only counted


@dataclass(frozen=True, slots=True)
class _PlannedCall:
    """A call whose arguments are read, and what it would do. `parameters` are those arguments as they were given: by
    the model, or by a hook that changed them."""

    call: ToolCall
    tool: Tool
    parameters: JsonObject
    params: BaseModel
    plan: ToolPlan
    ctx: ToolContext


async def execute(
    call: ToolCall,
    registry: ToolRegistry,
    ctx: ToolContext,
    permissions: Permissions,
    ask: Ask,
    problem: str | None = None,
    hooks: Hooks | None = None,
) -> tuple[ToolResult, str]:
    """Execute a call and return its result and one-line summary. Raises nothing but CancelledError.

    `problem` is the parse error of the arguments, if any; `hooks` are asked about the call, None: none are. The outcome
    is stored in `call`: `result` is the whole text for the model (the caller truncates it), `duration_ms` excludes the
    wait for the user's answers. On cancellation the result has the output so far (`ctx.progress.output`)."""
    question = _TimedAsk(ask)
    ask_plan = partial(_ask_plan, call, question, permissions)
    ctx = replace(
        ctx,
        files=replace(ctx.files, guard=permissions.guard(ctx.root, registry)),
        questions=replace(
            ctx.questions,
            ask_user=partial(_ask_user, call, question),
            ask_plan=ask_plan if permissions.mode == "plan" else None,
        ),
    )
    try:
        tool = _find_tool(call, registry, ctx, problem)
        params = read_arguments(tool, call.parameters)
        plan = tool.plan(params, ctx)
        planned = _PlannedCall(call, tool, call.parameters, params, plan, ctx)
        advice = await _ask_before(planned, hooks)
        planned = _apply_change(planned, advice)
        verdict = permissions.decide(tool, planned.plan, ctx)
        if advice is not None:
            verdict = advice.judge(verdict)
    except asyncio.CancelledError:  # while a hook was asked
        _mark_cancelled(call)
        call.result = _CANCELLED
        raise
    except Exception as error:  # noqa: BLE001  the boundary: a bug of a tool becomes a result that model and user see
        cause = _find_cause(error, ctx)
        return _store(call, _exception_result(call.name, cause)), summary_without_plan(call)
    summary = one_line(planned.plan.summary)
    refusal = await _check_permission(planned, verdict, permissions, ask, hooks)
    if planned.plan.unattended is not None and call.decision == "headless":
        planned = replace(planned, plan=planned.plan.unattended)
        refusal = None
        call.approved = None
    call.effects = tool.kind.effects_of(planned.plan)
    if refusal is not None:
        return _store(call, refusal), summary
    ctx.progress.on_start(call, summary)
    try:
        result = await _run_permitted(planned, verdict, question)
    except NeedsMore as more:
        planned = replace(planned, params=more.params, plan=tool.plan(more.params, ctx))
        result = await _try_again(planned, more, permissions, ask, question, advice)
    if advice is not None:
        result = advice.add_to(result)
    result = _store(call, result)
    if hooks is not None and not result.denied:
        result = await _ask_after(planned, result, hooks)
    return result, summary


async def _try_again(
    planned: _PlannedCall,
    first: NeedsMore,
    permissions: Permissions,
    ask: Ask,
    question: _TimedAsk,
    advice: Advice | None,
) -> ToolResult:
    """Run a call that needs more than it was allowed, if it is now; else return the result of the first try, and why
    nothing else was done."""
    verdict = permissions.decide(planned.tool, planned.plan, planned.ctx)
    if advice is not None:
        verdict = advice.judge(verdict)
    if verdict.outcome == "ask" and not verdict.reason:
        verdict = verdict._replace(reason=first.reason)
    refusal = await _check_permission(planned, verdict, permissions, ask)
    if refusal is not None:
        return _with_note(replace(first.result, denied=True), f"[{refusal.for_model}]")
    planned.call.effects = planned.tool.kind.effects_of(planned.plan)
    if planned.ctx.progress.output is not None:
        planned.ctx.progress.output.clear()
    try:
        return await _run_permitted(planned, verdict, question)
    except NeedsMore as more:
        return more.result


async def _run_permitted(
    planned: _PlannedCall, verdict: PermissionVerdict, question: _TimedAsk
) -> ToolResult:
    """Run a call that is permitted, and name the files that differ afterwards. Raises NeedsMore."""
    ctx = planned.ctx
    profile = _choose_profile(planned, verdict)
    commands = replace(ctx.commands, profile=profile, allowed=planned.plan.asked_paths)
    planned = replace(planned, ctx=replace(ctx, commands=commands))
    async with _recording(planned) as changed_paths:
        result = await _run(planned, question)
    if changed_paths and planned.tool.kind.may_change == "any file":
        return _with_note(result, _describe_changes(changed_paths))
    return result


def _with_note(result: ToolResult, note: str) -> ToolResult:
    return replace(result, for_model=f"{result.for_model}\n{note}")


def _describe_changes(changed_paths: Sequence[str]) -> str:
    """Return the line on the files that differ after a call that may change any."""
    names = ", ".join(write_name(path) for path in changed_paths[:_MAX_CHANGED])
    more = len(changed_paths) - _MAX_CHANGED
    return f"[files that differ now: {names}{f' and {more} more' if more > 0 else ''}]"


def _recording(planned: _PlannedCall) -> AbstractAsyncContextManager[list[str]]:
    """Return what records the changes of a permitted call, which are those that its kind may make. That a command ran
    without approval is no proof that it changed nothing; in the read-only sandbox nothing can change."""
    may_change = planned.tool.kind.may_change
    recorder = planned.ctx.files.changes
    only_reads = may_change == "nothing" or planned.ctx.commands.profile == "read-only"
    if recorder is None or only_reads:
        return nullcontext([])
    return recorder.around(planned.call.effects.changed if may_change == "subject" else ())


def _find_tool(
    call: ToolCall, registry: ToolRegistry, ctx: ToolContext, problem: str | None
) -> Tool:
    """Return the called tool. Raises ToolError if there is none, or its arguments could not be read."""
    tool = registry.get(call.name)
    if tool is None:
        offered = [name for name in registry if ctx.model.is_offered(name)]
        similar = difflib.get_close_matches(call.name.lower(), offered, n=3, cutoff=0.5)
        suggestion = f"Did you mean {' or '.join(similar)}? " if similar else ""
        raise ToolError(
            f"There is no tool {one_line(call.name)!r}. {suggestion}Tools: {', '.join(offered)}."
        )
    if problem is not None:
        raise ToolError(
            f"The arguments of {tool.name} could not be read: {problem}\n"
            "Nothing was done. Send the call again with one complete JSON object."
        )
    return tool


def _choose_profile(planned: _PlannedCall, verdict: PermissionVerdict) -> Profile | None:
    """Return the profile of the sandbox that a permitted command runs in; None: in none, or there is none."""
    if not planned.tool.kind.unasked_in_sandbox or planned.plan.outside:
        return None
    sandbox = planned.ctx.commands.sandbox
    if sandbox is None or not sandbox.is_active:
        return None
    return "read-only" if verdict.only_reads else "workspace"


async def _ask_before(planned: _PlannedCall, hooks: Hooks | None) -> Advice | None:
    """Return what hooks say about a call before it is decided whether it may run; None if there are none."""
    if hooks is None or not hooks.are_loaded:
        return None
    # late: few use hooks
    from swecli.tools.hooks.advice import Advice

    call = _as_hooked(planned)
    return Advice(call, await hooks.before_call(call))


def _as_hooked(planned: _PlannedCall) -> HookedCall:
    # late: as above
    from swecli.tools.hooks.names import HookedCall

    return HookedCall(planned.call.id, planned.tool, planned.parameters, planned.plan, planned.ctx)


def _apply_change(planned: _PlannedCall, advice: Advice | None) -> _PlannedCall:
    """Return the call as a hook has changed it, planned anew, so that what is decided, shown and run is the same.
    Raises ToolError if its arguments are invalid now."""
    if advice is None or advice.changed_parameters is None:
        return planned
    parameters = advice.changed_parameters
    params = read_arguments(planned.tool, parameters)
    plan = planned.tool.plan(params, planned.ctx)
    return replace(planned, parameters=parameters, params=params, plan=plan)


async def _ask_hooks_first(
    planned: _PlannedCall, verdict: PermissionVerdict, hooks: Hooks | None
) -> Decision | None:
    """Return the decision of hooks on a question to the user; None if he is to be asked."""
    if hooks is None or not hooks.are_loaded:
        return None
    # late: as above
    from swecli.tools.hooks.advice import Advice

    call = _as_hooked(planned)
    return Advice(call, await hooks.before_question(call)).answer_question(verdict)


async def _ask_after(planned: _PlannedCall, result: ToolResult, hooks: Hooks) -> ToolResult:
    """Let hooks see the result of a call, and return it with what they say. Files that they change count as unread, and
    are recorded for undo if the call itself may change some: such calls run one at a time."""
    call = planned.call
    if not hooks.are_loaded:
        return result
    # late: as above
    from swecli.tools.hooks.advice import from_hook

    hooked = _as_hooked(planned)
    if not hooks.has_after(hooked):
        return result
    files = planned.ctx.files
    before = {path: _version(path) for path in files.digests}
    recorder = None if planned.tool.kind.may_change == "nothing" else files.changes
    async with nullcontext([]) if recorder is None else recorder.around(()):
        answer = await hooks.after_call(hooked, result, call.duration_ms or 0)
    for path, version in before.items():
        if _version(path) != version:
            files.digests.pop(path, None)
    texts = [text for text in (answer.reason if answer.is_refusal else "", answer.context) if text]
    if not texts:
        return result
    result = _with_note(result, from_hook("\n".join(texts)))
    call.result = result.for_model
    return result


def _version(path: Path) -> tuple[int, int, int] | None:
    """Return what differs after each write of a file; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


async def _check_permission(
    planned: _PlannedCall,
    verdict: PermissionVerdict,
    permissions: Permissions,
    ask: Ask,
    hooks: Hooks | None = None,
) -> ToolResult | None:
    """Return None if the call may run, otherwise the result that refuses it. `hooks` are asked before the user is;
    None: none are."""
    call = planned.call
    if not planned.tool.kind.is_read_only or verdict.outcome != "allow":
        outcome = {"allow": "allowed", "ask": "asked", "deny": "denied"}[verdict.outcome]
        reason = verdict.reason or f"mode {permissions.mode}"
        permissions.last = f"{one_line(planned.plan.summary, 80)}: {outcome} ({reason})"
    if verdict.outcome == "allow":
        call.decision = verdict.by
        return None
    if verdict.outcome == "deny":
        call.approved = False
        call.decision = verdict.by
        call.reason = verdict.reason
        if verdict.by == "hook":  # it may name the way that is wanted
            return _error_result(f"Nothing was done: {verdict.reason}", denied=True)
        explanation = " ".join(filter(None, (verdict.reason, verdict.advice)))
        return _error_result(
            f"Not permitted: {explanation} Do not try to reach the same in another way.",
            denied=True,
        )
    request = _approval_request(planned, verdict, permissions)
    try:
        decision = await _ask_hooks_first(planned, verdict, hooks) or await ask(request)
    except asyncio.CancelledError:
        _mark_cancelled(call)
        call.result = _CANCELLED
        raise
    except Exception as error:  # noqa: BLE001  the boundary: without an answer the call is refused
        _log.exception("asking for approval failed")
        return _error_result(
            f"Approval could not be requested ({type(error).__name__}: {error}). Nothing was done.",
            denied=True,
        )
    call.approved = decision.allow
    call.decision = decision.by
    call.reason = decision.reason
    if not decision.allow:
        return _error_result(_refusal_text(decision), denied=True)
    if request.session_rules:
        _keep_answer(request, decision, permissions)
    return None


def _approval_request(
    planned: _PlannedCall, verdict: PermissionVerdict, permissions: Permissions
) -> AskRequest:
    """Return the question to the user, with what a lasting yes changes: the mode or the rules of the session, or a
    file with rules of the project."""
    tool = planned.tool
    plan = planned.plan
    rules, label = permissions.suggest_rules(tool, plan, planned.ctx, exact_only=verdict.exact_only)
    file = ""
    if verdict.by == "hook":  # it is asked again about each call, whatever rules say
        rules = ()
        label = ""
    if permissions.saved and rules and not verdict.exact_only:
        file = permissions.saved.writable_file()
    return AskRequest(
        planned.call,
        tool.kind.question,
        one_line(plan.summary),
        plan.preview,
        label,
        rules,
        permissions.suggest_mode(tool, verdict),
        why=verdict.reason,
        project_file=file,
        remedy=_describe_remedy(plan, verdict, ", ".join(rules)),
    )


def _describe_remedy(plan: ToolPlan, verdict: PermissionVerdict, rule: str) -> str:
    """Return what would end the questions about such calls, "" if a plain yes for the session does."""
    if verdict.by == "hook":
        return "the hook would have to allow it"
    if plan.guard_is_for_place and rule:
        return f"a rule for its folder allows it: {rule}"
    if plan.guard_is_for_place:
        return "a rule for a folder in it allows that folder"
    if not verdict.exact_only:
        return ""
    if verdict.reason == plan.guard:
        return f"a rule for exactly this allows it: {rule}"
    return "that rule would have to go"


def _keep_answer(request: AskRequest, decision: Decision, permissions: Permissions) -> None:
    """Apply a lasting yes: to the mode, which ends with the program, to the session, or to the project."""
    if decision.scope == "session" and request.session_mode is not None:
        permissions.mode = request.session_mode
        return
    for rule in request.session_rules:
        if decision.scope == "session":
            permissions.allow_for_session(rule)
        elif decision.scope == "project":
            try:
                permissions.allow_for_project(rule)
            except ConfigError as error:
                # the rule applies to this session only; /permissions shows why
                permissions.last += f"; {rule} could not be saved: {error}"


async def _ask_user(
    call: ToolCall, ask: Ask, question: str, choices: Sequence[str], default: str
) -> Decision:
    """Ask the user the question of a call, and record who answered, and what he typed: a choice is not in his words."""
    display = Display(body=question)
    summary = f"Ask {one_line(question)}"
    asked = AskRequest(call, question, summary, display, choices=tuple(choices), default=default)
    decision = await ask(asked)
    call.decision = decision.by
    if decision.answer not in choices:
        call.reason = decision.answer
    return decision


async def _ask_plan(call: ToolCall, ask: Ask, permissions: Permissions, text: str) -> Decision:
    """Ask the user to accept a plan, and record the answer. A yes ends plan mode."""
    decision = await ask(AskRequest(call, "Accept this plan?", "Plan", Display(), plan=text))
    call.approved = decision.allow
    call.decision = decision.by
    call.reason = decision.reason
    if decision.allow:
        permissions.mode = decision.plan_mode
    return decision


def _refusal_text(decision: Decision) -> str:
    if decision.by == "hook":
        return f"Nothing was done: {decision.reason}"
    if decision.by == "headless":
        reason = decision.reason or "nobody is there to approve it"
        return f"Not permitted: {reason}. Nothing was done. Continue without it, or state what is needed."
    if decision.reason:
        return f"The user refused this call and nothing was done. The user says: {decision.reason}"
    return "The user refused this call and nothing was done. Do not try it again unchanged; ask what is wanted instead."


class _TimedAsk:
    """Asks the user, and counts the seconds that a call waited for the answers. `is_unanswered`: the last question has
    no answer yet, or never got one."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.seconds = 0.0
        self.is_unanswered = False

    async def __call__(self, request: AskRequest) -> Decision:
        started = time.monotonic()
        self.is_unanswered = True
        try:
            decision = await self._ask(request)
        finally:
            self.seconds += time.monotonic() - started
        self.is_unanswered = False
        return decision


async def _run(planned: _PlannedCall, question: _TimedAsk) -> ToolResult:
    call = planned.call
    tool = planned.tool
    ctx = planned.ctx
    started = time.monotonic()
    try:
        return await tool.run(planned.params, ctx, planned.plan)
    except asyncio.CancelledError:
        _mark_cancelled(call)
        raise
    except NeedsMore:
        raise
    except Exception as error:  # noqa: BLE001  the boundary: as above
        return _exception_result(tool.name, _find_cause(error, ctx))
    finally:
        call.duration_ms = round((time.monotonic() - started - question.seconds) * 1000)
        if call.status is CallStatus.CANCELLED:
            call.result = _stopped_text(call.duration_ms, ctx, question)


def _mark_cancelled(call: ToolCall) -> None:
    call.status = CallStatus.CANCELLED
    call.error = "cancelled"


def _stopped_text(duration_ms: int, ctx: ToolContext, question: _TimedAsk) -> str:
    """Return the result of a call that the user stopped, with the time that the screen shows."""
    if question.is_unanswered:  # the time is the tool's own, so there is none yet
        return "Stopped by the user, before the question was answered. Nothing was done."
    head = f"Stopped by the user after {duration_ms / 1000:.0f} s"
    return interrupted_text(head, ctx.progress.output.text() if ctx.progress.output else "")


def _find_cause(error: Exception, ctx: ToolContext) -> Exception:
    """Return what to report for a failed call: that the workspace is gone, if it is; then no other reason counts. Of a
    tool that uses what a context had in another version, which part it misses."""
    if not ctx.root.is_dir():
        return ToolError(lost_workspace(ctx.root))
    if isinstance(error, AttributeError) and isinstance(error.obj, ToolContext):
        return ToolError(
            f"This tool is made for another version of swecli: its context has no {error.name!r}. Update its package."
        )
    return error


def summary_without_plan(call: ToolCall) -> str:
    """Return one line on a call of which no plan is known: its tool, and what it is about."""
    about = next((value for name in _SUBJECTS if (value := call.parameters.get(name))), "")
    return one_line(f"{call.name or '(no name)'} {about}")


def interrupted_text(reason: str, output: str) -> str:
    """Return the result of a call that was interrupted, with the reason and the output so far."""
    printed = strip_terminal_codes(output).rstrip("\n")
    return f"{reason}. {_EFFECTS}" + (f" Output until then:\n{printed}" if printed else "")


def _error_result(text: str, *, denied: bool = False) -> ToolResult:
    return ToolResult(ok=False, for_model=text, for_user=Display(body=text), denied=denied)


def _exception_result(tool: str, error: Exception) -> ToolResult:
    """Return the result for an exception. Those that no tool should raise are logged."""
    if isinstance(error, SwecliError):
        return _error_result(str(error))
    _log.error("the tool %s failed", tool, exc_info=error)
    return _error_result(
        f"{tool} failed with an internal error ({type(error).__name__}: {error}). Try another way."
    )


def _store(call: ToolCall, result: ToolResult) -> ToolResult:
    call.result = result.for_model
    call.status = _status_of(result)
    call.error = None if result.ok else result.for_model[:_ERROR_LENGTH]
    call.exit_code = result.exit_code
    if result.effects is not None:
        call.effects = result.effects
    return result


def _status_of(result: ToolResult) -> CallStatus:
    if result.denied:
        return CallStatus.REFUSED
    return CallStatus.FINISHED if result.ok else CallStatus.FAILED
