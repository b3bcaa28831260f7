"""What `/review` does: it draws a review as it runs, and puts its findings on a pull request after a yes."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from swecli.config.trust import project_root
from swecli.models.errors import UsageError
from swecli.models.events import ContextReduced, Notice, StepRetried
from swecli.models.review_events import ReviewEvent, ReviewFinished
from swecli.repl.commands.base import CommandContext
from swecli.repl.commands.ledger import repair
from swecli.review.publish.posting import Wanted, need_token, plan_push
from swecli.review.read.job import ReviewOptions, begin_job
from swecli.review.read.run import Review
from swecli.store.reviews import ReviewStore

_MOST_LOOPS = 1_000


async def perform_review(ctx: CommandContext, words: list[str]) -> None:
    """Review what the words of `/review` name, or repair a finding. Raises SwecliError."""
    agent, store = ctx.runtime.agent, ReviewStore(ctx.runtime.sessions.database, str(project_root(ctx.runtime.cwd)))
    if words[:1] == ["--fix"]:
        if len(words) != 2:
            raise UsageError("--fix takes one finding.", "For example: /review --fix F-12")
        await repair(ctx, store, words[1])
        return
    loops = _loops(words)
    options = ReviewOptions(loops, trusted=ctx.runtime.trusted, verify="--no-verify" not in words)
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


def _loops(words: list[str]) -> int:
    """Take `--loops N` out of the words; 0 (as in the settings) where it is not there. Raises UsageError."""
    if "--loops" not in words:
        return 0
    at = words.index("--loops")
    number = "".join(words[at + 1 : at + 2])
    if not number.isdecimal() or not 0 < int(number[:6]) <= _MOST_LOOPS:
        raise UsageError(f"--loops takes a number from 1 to {_MOST_LOOPS:,}.", "For example: /review --loops 40")
    del words[at : at + 2]
    return int(number)


async def _watch(ctx: CommandContext, review: Review) -> ReviewFinished | None:
    """Draw it; interrupted, it ends with what it has. Its last event."""
    end: ReviewFinished | None = None
    try:
        async with aclosing(review.run()) as events:
            async for event in events:
                if isinstance(event, (ReviewEvent, Notice, StepRetried, ContextReduced)):
                    ctx.show(event)
                end = event if isinstance(event, ReviewFinished) else end
    except asyncio.CancelledError:
        ctx.show(review.finish("interrupted"))
        ctx.screen.note("/review --continue goes on with it")
        raise
    return end


async def _post(ctx: CommandContext, review: Review, end: ReviewFinished, least: str) -> None:
    """Show what would be put on the pull request, and put it there after an explicit yes. Raises SwecliError."""
    environ, target = ctx.runtime.start.environ, review.job.plan.target
    wanted = Wanted(least, read=review.record.seen)
    push = await asyncio.to_thread(plan_push, ctx.runtime.agent.ctx.root, environ, target, end, wanted)
    for line in push.lines:
        ctx.screen.line(line)
    if not push.anything:
        return
    need_token(environ)
    answers = [("no", "no, nothing is posted"), ("yes", "yes, post it")]
    if await ctx.pick(f"Put this on pull request {target.pr} of {push.github.repository}?", answers) != "yes":
        ctx.screen.note("nothing was posted")
        return
    for line in await asyncio.to_thread(push.send):
        ctx.screen.note(line)
