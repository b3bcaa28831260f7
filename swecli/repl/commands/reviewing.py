"""What `/review` and `/findings` do: a review drawn as it runs and posted after a yes, and a walk through findings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from swecli.models.errors import BadInput, SwecliError, UsageError
from swecli.models.events import ContextReduced, Notice, StepRetried
from swecli.models.finding import Finding
from swecli.models.review_events import ReviewEvent, ReviewFinished
from swecli.repl.actions.findings import ACTIONS, store_of
from swecli.repl.actions.findings import perform as act
from swecli.repl.chat.async_query_processor import Approver
from swecli.repl.commands.base import CommandContext
from swecli.repl.input.keys import editor_command
from swecli.repl.input.question import Option
from swecli.repl.render.event_lines import render_finding
from swecli.review.judge.ledger import (
    build_repair_prompt,
    build_suggestion_edit,
    format_change,
    recheck,
)
from swecli.review.judge.verify import check_findings
from swecli.review.publish.posting import plan_push, require_token
from swecli.review.publish.view import filter_findings, view
from swecli.review.read.job import ReviewOptions, begin_job, prepare_check
from swecli.review.read.run import Review
from swecli.store.reviews import ReviewStore
from swecli.tools.execute import execute


async def perform_review(ctx: CommandContext, words: list[str]) -> None:
    """Review what the words of `/review` name, or repair a finding. Raises SwecliError."""
    agent, store = ctx.runtime.agent, store_of(ctx.runtime.sessions, ctx.runtime.cwd)
    if words[:1] == ["--fix"]:
        if len(words) != 2:
            raise UsageError("--fix takes one finding.", "For example: /review --fix F-12")
        await _repair(ctx, store, words[1])
        return
    options = ReviewOptions(trusted=ctx.runtime.trusted, verify="--no-verify" not in words)
    post, spec = "--post" in words, [word for word in words if word not in ("--post", "--no-verify")]
    goes_on = spec == ["--continue"]
    only_pr = UsageError("--post goes with --pr.", "For example: /review --pr 12 --post")
    if post and not goes_on and "--pr" not in spec:
        raise only_pr
    review = Review(await begin_job(agent, store, None if goes_on else spec, options))
    if post and review.job.plan.target.pr is None:
        raise only_pr
    end = await _watch(ctx, review)
    if post and end is not None:
        await _post(ctx, review, end, "confirmed" if options.verify else "any")


async def _watch(ctx: CommandContext, review: Review) -> ReviewFinished | None:
    end: ReviewFinished | None = None
    try:
        async with aclosing(review.run()) as events:
            async for event in events:
                if isinstance(event, (ReviewEvent, Notice, StepRetried, ContextReduced)):
                    ctx.renderer.show(event)
                end = event if isinstance(event, ReviewFinished) else end
    except asyncio.CancelledError:
        ctx.renderer.show(review.finish("interrupted"))
        ctx.screen.note("/review --continue goes on with it")
        raise
    return end


async def _post(ctx: CommandContext, review: Review, end: ReviewFinished, least: str) -> None:
    target = review.job.plan.target
    push = await asyncio.to_thread(plan_push, target, end, review.record.seen, least)
    for line in push.lines:
        ctx.screen.line(line)
    if not push.has_changes:
        return
    require_token(ctx.runtime.start.environ)
    answers = [("no", "no, nothing is posted"), ("yes", "yes, post it")]
    if await ctx.pick(f"Put this on pull request {target.pr} of {push.github.repository}?", answers) != "yes":
        ctx.screen.note("nothing was posted")
        return
    for line in await asyncio.to_thread(push.post):
        ctx.screen.note(line)


_TAKE_LINE = ("editor", "vi", "vim", "nvim", "nano", "pico", "emacs", "micro", "kak")
_STEPS = {"n": 1, "p": -1}
_RECENT = 3  # reasons of earlier dismissals that are offered


async def perform(ctx: CommandContext, name: str, rest: str) -> None:
    """Do what `/findings NAME REST` asks. Raises SwecliError."""
    if doing := _DOINGS.get(name):
        await doing(ctx, store_of(ctx.runtime.sessions, ctx.runtime.cwd), rest)
        return
    if name not in ACTIONS or name == "export":
        raise UsageError(f"Unknown findings action {name!r}.", "/help findings lists the actions.")
    _act(ctx, name, rest)


def _act(ctx: CommandContext, name: str, rest: str) -> None:
    result = act(ctx.runtime.sessions, ctx.runtime.cwd, [name, *rest.split()])
    ctx.report(result)
    if result.rows:
        ctx.screen.note("/findings walk · /findings show F-1 · /findings dismiss F-1 WHY · /review --fix F-1")


async def _repair(ctx: CommandContext, store: ReviewStore, ref: str) -> None:
    """Let the agent repair a finding in an ordinary turn, then look at it again. Raises SwecliError."""
    agent = ctx.runtime.agent
    recheck(store, agent.ctx.root, [ref])
    finding = store.get(ref)
    if not finding.is_open:
        raise BadInput(f"{finding.id} is {finding.state}.", f"/findings reopen {finding.id} opens it again.")
    async with aclosing(agent.run(agent.prepare(build_repair_prompt(finding, agent.ctx.root)))) as events:
        async for event in events:
            ctx.renderer.show(event)
    for before, after in recheck(store, agent.ctx.root):
        if before.state != after.state:
            ctx.screen.line(format_change(before, after))
    after = store.get(ref)
    if after.state == "gone":
        ctx.screen.note(f"{after.id} is gone, not verified · /findings check {after.id} has it checked")
    elif after.is_open:
        ctx.screen.note(
            f"{after.id} is still open: its code is there · /findings fixed {after.id} if it is mended otherwise"
        )


async def _walk(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    at, findings = 0, filter_findings(store, rest.split())
    if not findings:
        _act(ctx, "list", rest)
    while 0 <= at < len(findings):
        recheck(store, ctx.runtime.cwd, [findings[at].id])
        finding = store.get(findings[at].id)
        await _show(ctx, store, finding.id)
        options = _options(finding, first=at == 0, last=at == len(findings) - 1)
        title = f"{finding.id}, {at + 1} of {len(findings)}"
        picked = await ctx.asker.choose(title, options, guarded=True)
        key = "q" if picked is None else options[picked].mark
        if key == "f":
            await _repair(ctx, store, finding.id)
        if key in ("q", "f"):
            return
        try:
            stays = key not in _STEPS and not await _perform(ctx, store, finding, key)
        except SwecliError as error:
            ctx.screen.error(error.message, error.hint)
            stays = True
        at += 0 if stays else _STEPS.get(key, 1)


async def _show(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    finding = store.get(rest)
    laid_out = view(finding, Path(store.project), store.history(finding.id))
    ctx.screen.print(render_finding(finding, laid_out))


def _options(finding: Finding, *, first: bool, last: bool) -> list[Option]:
    can_apply = finding.suggestion and finding.state in ("open", "regressed")
    rows = [
        ("a", "apply the suggestion", can_apply),
        ("f", "fix by the agent", finding.is_open),
        ("d", "dismiss", finding.state != "dismissed"),
        ("c", "check now, by a request to the model", bool(finding.anchor) and finding.is_open),
        ("o", "open in the editor", finding.line > 0),
        ("n", "quit" if last else "next", True),
        ("p", "back", not first),
        ("q", "quit", not last),
    ]
    return [Option(label, key) for key, label, offered in rows if offered]


async def _perform(ctx: CommandContext, store: ReviewStore, finding: Finding, key: str) -> bool:
    """Do what a key stands for; whether the walk goes on to the next. Raises SwecliError."""
    if key == "d":
        reason = await _reason(ctx, store)
        if reason:
            _act(ctx, "dismiss", f"{finding.id} {reason}")
        return bool(reason)
    await {"a": _apply, "c": _check, "o": _open}[key](ctx, store, finding.id)
    return False


async def _apply(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    agent, approver = ctx.runtime.agent, Approver(ctx.renderer, ctx.asker)
    call, after = build_suggestion_edit(store.get(rest), agent.ctx.root)
    # as the agent would; what it has read is left as it is: to the agent the file has changed since
    result, _ = await execute(call, agent.tools, replace(agent.ctx, seen={}), agent.permissions, approver)
    if result.ok:
        store.update([after], "applied", "user")
        ctx.screen.note(f"{after.id} is gone, not verified · /findings check {after.id} has it checked")
    else:
        ctx.screen.warn("nothing was changed" if call.decision == "user" else result.for_model.split("\n", 1)[0])


async def _check(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    verifier, claims, asked = prepare_check(ctx.runtime.agent, store, rest.split())
    if not claims or await ctx.pick(asked, [("yes", "yes"), ("no", "no")]) != "yes":
        ctx.screen.note("nothing was checked" if claims else "there is nothing to check")
        return
    event, taken = await check_findings(verifier, ctx.runtime.sessions, claims)
    for line in taken.problems:
        ctx.screen.warn(line)
    ctx.renderer.show(event)
    for after in event.findings:
        ctx.screen.note(f"{after.id}: {after.status}{f', {after.judgement.why}' if after.judgement else ''}")


async def _reason(ctx: CommandContext, store: ReviewStore) -> str:
    """Why it is not a problem: one of the last reasons, or a new one; "" for none."""
    known = dict.fromkeys(f.reason for f in reversed(store.findings(["dismissed"])) if f.reason)
    recent = list(known)[:_RECENT]
    if recent:
        answer = await ctx.pick("Why is it not a problem?", [*((r, r) for r in recent), ("", "another reason")])
        if answer is None or answer:
            return answer or ""
    return (await ctx.asker.ask_text("Why is it not a problem?") or "").strip()


async def _open(ctx: CommandContext, store: ReviewStore, rest: str) -> None:
    """Let the user's editor have the terminal, at the line where it is one that takes `+LINE`."""
    finding = store.get(rest)
    program, *words = editor_command(ctx.runtime.start.environ)
    plus = [f"+{finding.line}"] if Path(program).name in _TAKE_LINE else []
    try:
        await ctx.asker.run_program([program, *words, *plus, str(Path(store.project) / finding.path)])
    except OSError as error:
        raise BadInput(f"The editor {program!r} cannot be started: {error.strerror}.", "Set $EDITOR.") from error


_DOINGS: dict[str, Callable[[CommandContext, ReviewStore, str], Awaitable[None]]] = {
    "walk": _walk,
    "show": _show,
    "apply": _apply,
    "check": _check,
}
