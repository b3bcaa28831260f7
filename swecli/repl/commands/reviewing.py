"""`/review`: show its progress. `/findings`: walk through findings to apply, fix, dismiss and check them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from swecli.actions.builtin.findings import check, dismiss, findings, list_
from swecli.actions.builtin.review import review
from swecli.actions.findings import open_store
from swecli.actions.reviewing import apply_suggestion, conclude_repair, prepare_repair
from swecli.config.paths import project_root
from swecli.models.action import Action
from swecli.models.errors import SwecliError, UsageError
from swecli.models.events import ContextReduced, Event, Notice, StepRetried
from swecli.models.finding import STATES, Finding
from swecli.models.review_events import ReviewEvent
from swecli.repl.commands.actions import SessionFace, perform
from swecli.repl.commands.base import CommandContext
from swecli.repl.input.question import Option
from swecli.repl.render.review_lines import render_finding
from swecli.review.judge.ledger import recheck
from swecli.review.publish.filters import filter_findings
from swecli.review.publish.view import view
from swecli.store.reviews import ReviewStore

_STEPS = {"n": 1, "p": -1}
_MAX_REASONS = 3  # reasons of earlier dismissals that are offered


async def run_review(ctx: CommandContext, args: str) -> None:
    """Run `/review ARGS`. Raises SwecliError."""
    request = review.read(args)
    repairs = "--fix" in request.flags
    if repairs and (len(request.flags) > 1 or len(request.flags["--fix"]) != 1):
        raise UsageError("--fix takes one finding.", "For example: /review --fix F-12")
    await ctx.wait_for_background()
    if repairs:
        await _repair(ctx, request.value("--fix"))
        return
    try:
        result = await perform(ctx, review, args, face=_ReviewFace(ctx))
    except asyncio.CancelledError:
        ctx.screen.note("/review --continue continues it")
        raise
    if "--dry-run" in request.flags:
        ctx.report(result)


class _ReviewFace(SessionFace):
    """Draws the progress of a review, but not what the reviewer says; the last event is its result."""

    def show(self, event: Event) -> None:
        if isinstance(event, (ReviewEvent, Notice, StepRetried, ContextReduced)):
            super().show(event)


async def run_findings(ctx: CommandContext, args: str) -> None:
    """Run `/findings ARGS`. Raises SwecliError."""
    if _is_filter(args.partition(" ")[0].lower()):
        await _perform_and_report(ctx, list_, args)
        return
    action, rest, _ = findings.read(args)
    if handler := _HANDLERS.get(action.name):
        await handler(ctx, open_store(ctx.runtime.sessions, ctx.runtime.cwd), rest)
    else:
        await _perform_and_report(ctx, action, rest)


def _is_filter(word: str) -> bool:
    """Return whether a word filters findings, so that `list` may be left out: `/findings open severity>=high`."""
    return word in (*STATES, "all") or ":" in word or ">=" in word


async def _perform_and_report(ctx: CommandContext, action: Action, rest: str) -> None:
    result = await perform(ctx, action, rest)
    ctx.report(result)
    if result.rows:
        ctx.screen.note(
            "/findings walk · /findings show F-1 · /findings dismiss F-1 WHY · /review --fix F-1"
        )


async def _repair(ctx: CommandContext, ref: str) -> None:
    """Let the agent repair a finding in a turn, then recheck all findings. Raises SwecliError."""
    finding, turn = prepare_repair(ctx.runtime, ref)
    with ctx.renderer.working(f"Repairing {finding.id}"):
        async with aclosing(ctx.runtime.agent.run(turn)) as events:
            async for event in events:
                ctx.program.show(event)
    outcome = conclude_repair(ctx.runtime, finding.id)
    for line in outcome.lines:
        ctx.screen.line(line)
    if outcome.note:
        ctx.screen.note(outcome.note)


async def _walk(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    """Show one finding after the other and ask what to do with it, until the user quits or the last one is done."""
    index = 0
    ids = [finding.id for finding in filter_findings(store.findings(), rest.split())]
    if not ids:
        await _perform_and_report(ctx, list_, rest)
    while 0 <= index < len(ids):
        recheck(store, ctx.runtime.cwd, [ids[index]])
        finding = store.get(ids[index])
        await _show(ctx, store, finding.id)
        options = _options(finding, is_first=index == 0, is_last=index == len(ids) - 1)
        title = f"What about {finding.id}, {index + 1} of {len(ids)}?"
        picked_index = await ctx.asker.choose(title, options, guarded=True)
        key = "q" if picked_index is None else options[picked_index].key
        if key == "f":
            await _repair(ctx, finding.id)
        if key in ("q", "f"):
            return
        try:
            if key in _STEPS or await _handle_key(ctx, store, finding, key):
                index += _STEPS.get(key, 1)
        except SwecliError as error:
            ctx.screen.error(error.message, error.hint)


async def _show(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    finding = store.get(rest)
    finding_view = view(finding, project_root(ctx.runtime.cwd), store.history(finding.id))
    ctx.screen.print(render_finding(finding, finding_view))


def _options(finding: Finding, *, is_first: bool, is_last: bool) -> list[Option]:
    """Return what can be done with a finding, and the key of each."""
    can_apply = finding.suggestion and finding.state in ("open", "regressed")
    rows = [
        ("a", "apply the suggestion", can_apply),
        ("f", "let the agent fix it", finding.is_open),
        ("d", "dismiss", finding.state != "dismissed"),
        ("c", "check now, by a request to the model", bool(finding.anchor) and finding.is_open),
        ("o", "open in the editor", finding.line > 0),
        ("n", "next", not is_last),
        ("p", "back", not is_first),
        ("q", "quit", True),
    ]
    return [Option(label, key) for key, label, offered in rows if offered]


async def _handle_key(ctx: CommandContext, store: ReviewStore, finding: Finding, key: str) -> bool:
    """Run the action of a key, and return whether to continue with the next finding. Raises SwecliError."""
    if key == "d":
        if reason := await _ask_reason(ctx, store):
            await _perform_and_report(ctx, dismiss, f"{finding.id} {reason}")
        return bool(reason)
    await {"a": _apply, "c": _check, "o": _open_in_editor}[key](ctx, store, finding.id)
    return False


async def _apply(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    outcome = await apply_suggestion(ctx.runtime, store, rest, ctx.approve)
    if outcome.code:
        ctx.screen.warn(outcome.lines[0])
    else:
        ctx.screen.note(outcome.lines[0])


async def _check(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    await _perform_and_report(ctx, check, rest)


async def _open_in_editor(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    finding = store.get(rest)
    path = project_root(ctx.runtime.cwd) / finding.path
    await ctx.asker.open_editor(ctx.runtime.start.environ, path, finding.line)


async def _ask_reason(ctx: CommandContext, store: ReviewStore) -> str:
    """Ask why a finding is dismissed, offering the last reasons. Returns "" for no answer."""
    question = "Why is it not a problem?"
    dismissed = reversed(store.findings(["dismissed"]))
    reasons = dict.fromkeys(finding.reason for finding in dismissed if finding.reason)
    options = [(reason, reason) for reason in reasons][:_MAX_REASONS]
    if options:
        answer = await ctx.pick(question, [*options, ("", "another reason")])
        if answer != "":
            return answer or ""
    return (await ctx.asker.ask_text(question) or "").strip()


_HANDLERS: dict[str, Callable[[CommandContext, ReviewStore, str], Awaitable[None]]] = {
    "walk": _walk,
    "show": _show,
    "apply": _apply,
}
