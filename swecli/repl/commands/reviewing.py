"""`/review`: run a review, show its progress, and post its findings to a pull request after approval. `/findings`: walk
through findings to apply, fix, dismiss and check them; the other actions are those of the CLI."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

from swecli.actions.builtin.findings import dismiss, findings, list_, open_store
from swecli.actions.reviewing import (
    apply_suggestion,
    begin_review,
    conclude_repair,
    follow,
    prepare_repair,
)
from swecli.models.action import Action
from swecli.models.errors import SwecliError, UsageError
from swecli.models.events import ContextReduced, Event, Notice, StepRetried
from swecli.models.finding import STATES, Finding
from swecli.models.review_events import ReviewEvent, ReviewFinished
from swecli.repl.commands.actions import perform
from swecli.repl.commands.base import CommandContext
from swecli.repl.input.question import Option
from swecli.repl.render.review_lines import render_finding
from swecli.review.judge.ledger import recheck
from swecli.review.publish.filters import filter_findings
from swecli.review.publish.gate import Gate
from swecli.review.publish.posting import plan_push, require_token
from swecli.review.publish.view import view
from swecli.review.read.job import ReviewOptions, prepare_check
from swecli.review.read.run import Review
from swecli.store.reviews import ReviewStore

_STEPS = {"n": 1, "p": -1}
_MAX_REASONS = 3  # reasons of earlier dismissals that are offered


async def run_review(ctx: CommandContext, args: str) -> None:
    """Run `/review ARGS`. Raises SwecliError."""
    try:
        words = shlex.split(args)
    except ValueError as error:
        raise UsageError(
            f"Cannot parse the arguments of /review: {error}.", "Close the quotes."
        ) from error
    if words[:1] == ["--fix"] and len(words) != 2:
        raise UsageError("--fix takes one finding.", "For example: /review --fix F-12")
    await ctx.wait_for_background()
    if words[:1] == ["--fix"]:
        await _repair(ctx, words[1])
        return
    options = ReviewOptions(trusted=ctx.runtime.trusted, verify="--no-verify" not in words)
    post = "--post" in words
    spec = [word for word in words if word not in ("--post", "--no-verify")]
    is_continued = spec == ["--continue"]
    needs_pr = UsageError("--post goes with --pr.", "For example: /review --pr 12 --post")
    if post and not is_continued and "--pr" not in spec:
        raise needs_pr
    review = await begin_review(ctx.runtime, None if is_continued else spec, options)
    if post and review.job.plan.target.pr is None:
        raise needs_pr
    finished = await _run(ctx, review)
    if post:
        await _post(ctx, review, finished, Gate("confirmed" if options.verify else "any"))


async def _run(ctx: CommandContext, review: Review) -> ReviewFinished:
    """Run the review, show its events and return the last one."""

    def show(event: Event) -> None:
        if isinstance(event, (ReviewEvent, Notice, StepRetried, ContextReduced)):
            ctx.renderer.show(event)

    try:
        with ctx.renderer.working("Reviewing"):
            return await follow(review, show)
    except asyncio.CancelledError:
        ctx.screen.note("/review --continue continues it")
        raise


async def _post(ctx: CommandContext, review: Review, finished: ReviewFinished, gate: Gate) -> None:
    target = review.job.plan.target
    push = await asyncio.to_thread(plan_push, target, finished, review.record.seen, gate)
    for line in push.lines:
        ctx.screen.line(line)
    if not push.has_changes:
        return
    require_token(ctx.runtime.start.environ)
    answers = [("no", "no, nothing is posted"), ("yes", "yes, post it")]
    question = f"Post this to pull request {target.pr} of {push.github.repository}?"
    if await ctx.pick(question, answers) != "yes":
        ctx.screen.note("nothing was posted")
        return
    for line in await asyncio.to_thread(push.post):
        ctx.screen.note(line)


async def run_findings(ctx: CommandContext, args: str) -> None:
    """Run `/findings ARGS`. Raises SwecliError."""
    if _is_filter(args.partition(" ")[0].lower()):
        await _act(ctx, list_, args)
        return
    action, rest, _ = findings.read(args)
    if handler := _HANDLERS.get(action.name):
        await handler(ctx, open_store(ctx.runtime.sessions, ctx.runtime.cwd), rest)
    else:
        await _act(ctx, action, rest)


def _is_filter(word: str) -> bool:
    """Return whether a word filters findings, so that `list` may be left out: `/findings open severity>=high`."""
    return word in (*STATES, "all") or ":" in word or ">=" in word


async def _act(ctx: CommandContext, action: Action, rest: str) -> None:
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
    index = 0
    found = filter_findings(store.findings(), rest.split())
    if not found:
        await _act(ctx, list_, rest)
    while 0 <= index < len(found):
        recheck(store, ctx.runtime.cwd, [found[index].id])
        finding = store.get(found[index].id)
        await _show(ctx, store, finding.id)
        options = _options(finding, first=index == 0, last=index == len(found) - 1)
        title = f"{finding.id}, {index + 1} of {len(found)}"
        picked = await ctx.asker.choose(title, options, guarded=True)
        key = "q" if picked is None else options[picked].mark
        if key == "f":
            await _repair(ctx, finding.id)
        if key in ("q", "f"):
            return
        try:
            stay = key not in _STEPS and not await _handle_key(ctx, store, finding, key)
        except SwecliError as error:
            ctx.screen.error(error.message, error.hint)
            stay = True
        index += 0 if stay else _STEPS.get(key, 1)


async def _show(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    finding = store.get(rest)
    laid_out = view(finding, Path(store.project), store.history(finding.id))
    ctx.screen.print(render_finding(finding, laid_out))


def _options(finding: Finding, *, first: bool, last: bool) -> list[Option]:
    can_apply = finding.suggestion and finding.state in ("open", "regressed")
    rows = [
        ("a", "apply the suggestion", can_apply),
        ("f", "let the agent fix it", finding.is_open),
        ("d", "dismiss", finding.state != "dismissed"),
        ("c", "check now, by a request to the model", bool(finding.anchor) and finding.is_open),
        ("o", "open in the editor", finding.line > 0),
        ("n", "next", not last),
        ("p", "back", not first),
        ("q", "quit", True),
    ]
    return [Option(label, key) for key, label, offered in rows if offered]


async def _handle_key(ctx: CommandContext, store: ReviewStore, finding: Finding, key: str) -> bool:
    """Run the action of a key, and return whether to continue with the next finding. Raises SwecliError."""
    if key == "d":
        if reason := await _ask_reason(ctx, store):
            await _act(ctx, dismiss, f"{finding.id} {reason}")
        return bool(reason)
    await {"a": _apply, "c": _check, "o": _open_in_editor}[key](ctx, store, finding.id)
    return False


async def _apply(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    outcome = await apply_suggestion(ctx.runtime, store, rest, ctx.approve)
    say = ctx.screen.warn if outcome.code else ctx.screen.note
    say(outcome.lines[0])


async def _check(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    verifier, claims, question = prepare_check(ctx.runtime.agent, store, rest.split())
    if not claims:
        ctx.screen.note("there is nothing to check")
        return
    if await ctx.pick(question, [("yes", "yes"), ("no", "no")]) != "yes":
        ctx.screen.note("nothing was checked")
        return
    with ctx.renderer.working("Checking"):
        event, result = await verifier.check(ctx.runtime.sessions, claims)
    for line in result.problems:
        ctx.screen.warn(line)
    ctx.renderer.show(event)
    for after in event.findings:
        why = f", {after.judgement.why}" if after.judgement else ""
        ctx.screen.note(f"{after.id}: {after.status}{why}")


async def _open_in_editor(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    finding = store.get(rest)
    await ctx.asker.open_editor(
        ctx.runtime.start.environ, Path(store.project) / finding.path, finding.line
    )


async def _ask_reason(ctx: CommandContext, store: ReviewStore) -> str:
    """Ask why a finding is dismissed, offering the last reasons. Returns "" for no answer."""
    known = dict.fromkeys(f.reason for f in reversed(store.findings(["dismissed"])) if f.reason)
    if recent := list(known)[:_MAX_REASONS]:
        answer = await ctx.pick(
            "Why is it not a problem?", [*((r, r) for r in recent), ("", "another reason")]
        )
        if answer is None or answer:
            return answer or ""
    return (await ctx.asker.ask_text("Why is it not a problem?") or "").strip()


_HANDLERS: dict[str, Callable[[CommandContext, ReviewStore, str], Awaitable[None]]] = {
    "walk": _walk,
    "show": _show,
    "apply": _apply,
    "check": _check,
}
