"""`/review`: run a review, show its progress, and post its findings to a pull request after approval."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from swecli.models.errors import UsageError
from swecli.models.events import ContextReduced, Notice, StepRetried
from swecli.models.review_events import ReviewEvent, ReviewFinished
from swecli.repl.actions.findings import open_store
from swecli.repl.commands.base import CommandContext
from swecli.review.publish.posting import plan_push, require_token
from swecli.review.read.job import ReviewOptions, begin_job
from swecli.review.read.run import Review


async def run_review(ctx: CommandContext, words: list[str]) -> None:
    """Run a review with the arguments of `/review`. Raises SwecliError."""
    store = open_store(ctx.runtime.sessions, ctx.runtime.cwd)
    options = ReviewOptions(trusted=ctx.runtime.trusted, verify="--no-verify" not in words)
    post, spec = "--post" in words, [word for word in words if word not in ("--post", "--no-verify")]
    is_continued = spec == ["--continue"]
    needs_pr = UsageError("--post goes with --pr.", "For example: /review --pr 12 --post")
    if post and not is_continued and "--pr" not in spec:
        raise needs_pr
    review = Review(await begin_job(ctx.runtime.agent, store, None if is_continued else spec, options))
    if post and review.job.plan.target.pr is None:
        raise needs_pr
    finished = await _run(ctx, review)
    if post and finished is not None:
        await _post(ctx, review, finished, "confirmed" if options.verify else "any")


async def _run(ctx: CommandContext, review: Review) -> ReviewFinished | None:
    """Run the review and show its events. Returns the last one, None if it failed before."""
    finished: ReviewFinished | None = None
    try:
        async with aclosing(review.run()) as events:
            async for event in events:
                if isinstance(event, (ReviewEvent, Notice, StepRetried, ContextReduced)):
                    ctx.renderer.show(event)
                finished = event if isinstance(event, ReviewFinished) else finished
    except asyncio.CancelledError:
        ctx.renderer.show(review.finish("interrupted"))
        ctx.screen.note("/review --continue continues it")
        raise
    return finished


async def _post(ctx: CommandContext, review: Review, finished: ReviewFinished, least: str) -> None:
    target = review.job.plan.target
    push = await asyncio.to_thread(plan_push, target, finished, review.record.seen, least)
    for line in push.lines:
        ctx.screen.line(line)
    if not push.has_changes:
        return
    require_token(ctx.runtime.start.environ)
    answers = [("no", "no, nothing is posted"), ("yes", "yes, post it")]
    if await ctx.pick(f"Post this to pull request {target.pr} of {push.github.repository}?", answers) != "yes":
        ctx.screen.note("nothing was posted")
        return
    for line in await asyncio.to_thread(push.post):
        ctx.screen.note(line)
