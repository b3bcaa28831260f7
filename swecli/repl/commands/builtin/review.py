"""`/review`: a reviewer that reports as it goes; `--fix F-12` lets the agent repair what it found."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from swecli.config.trust import project_root
from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command

if TYPE_CHECKING:
    from swecli.models.review_events import ReviewFinished
    from swecli.review.read.run import Review
    from swecli.store.reviews import ReviewStore

MOST_LOOPS = 1_000
TARGETS = (
    ("--staged", "what is staged"),
    ("--base", "BRANCH: what changed since it"),
    ("--pr", "N: a pull request on GitHub; with --post its findings go there, after your yes"),
    (".", "the whole tree"),
    ("--continue", "continue the unfinished review"),
    ("--fix", "F-1: let the agent repair it"),
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for: the words of the target, `--post`, `--loops N` (0: as in the settings), and
    `--no-verify`."""

    target: tuple[str, ...]
    post: bool = False
    loops: int = 0
    unverified: bool = False


@command(
    usage="[PATHS|COMMIT|A..B|--staged|--base B|--pr N [--post]|--continue|--fix F-1] [--loops N]",
    complete=lambda runtime: TARGETS,
)
async def review(ctx: CommandContext, args: str) -> None:
    """Review changes or files; findings are kept and survive everything"""
    # late: most sessions review nothing
    from swecli.store.reviews import ReviewStore  # noqa: PLC0415

    try:
        words = shlex.split(args)
    except ValueError as error:
        raise UsageError(f"/review cannot read that: {error}.", "Close the quotes.") from error
    store = ReviewStore(ctx.runtime.sessions.database, str(project_root(ctx.runtime.cwd)))
    await ctx.settle()
    if words[:1] == ["--fix"]:
        if len(words) != 2:
            raise UsageError("--fix takes one finding.", "For example: /review --fix F-12")
        # late: see above
        from swecli.repl.commands.ledger import repair  # noqa: PLC0415

        await repair(ctx, store, words[1])
        return
    wish = _wish(words)
    running = await _begin(ctx, store, wish)
    end = await _watch(ctx, running)
    if wish.post and end is not None:
        await _post(ctx, running, end, unverified=wish.unverified)


def _wish(words: list[str]) -> Wish:
    """The flags taken apart. Raises UsageError."""
    rest, post, loops = list(words), "--post" in words, 0
    if "--loops" in rest:
        at = rest.index("--loops")
        number = rest[at + 1] if at + 1 < len(rest) else ""
        if not number.isdecimal() or not 0 < int(number[:6]) <= MOST_LOOPS:
            raise UsageError(f"--loops takes a number from 1 to {MOST_LOOPS:,}.", "For example: /review --loops 40")
        loops = int(number)
        del rest[at : at + 2]
    unverified = "--no-verify" in rest
    rest = [word for word in rest if word not in ("--post", "--no-verify")]
    if post and "--pr" not in rest and rest != ["--continue"]:
        raise UsageError("--post goes with --pr.", "For example: /review --pr 12 --post")
    return Wish(tuple(rest), post, loops, unverified)


async def _begin(ctx: CommandContext, store: ReviewStore, wish: Wish) -> Review:
    """A new review, or one to go on with. Raises SwecliError."""
    # late: see above
    from swecli.review.read.job import ReviewOptions, begin_job  # noqa: PLC0415
    from swecli.review.read.run import Review  # noqa: PLC0415

    runtime, agent = ctx.runtime, ctx.runtime.agent
    spec = None if wish.target == ("--continue",) else wish.target
    options = ReviewOptions(wish.loops, trusted=runtime.trusted, verify=not wish.unverified)
    job = await begin_job(agent, store, spec, options)
    if wish.post and job.plan.target.pr is None:
        raise UsageError("--post goes with --pr.", "For example: /review --pr 12 --post")
    return Review(job)


async def _watch(ctx: CommandContext, running: Review) -> ReviewFinished | None:
    """Draw it; interrupted, it ends with what it has. Its last event."""
    # late: see above
    from swecli.models.events import ContextReduced, Notice, StepRetried  # noqa: PLC0415
    from swecli.models.review_events import ReviewEvent, ReviewFinished  # noqa: PLC0415

    end: ReviewFinished | None = None
    try:
        async with aclosing(running.run()) as events:
            async for event in events:
                if isinstance(event, (ReviewEvent, Notice, StepRetried, ContextReduced)):
                    ctx.show(event)
                end = event if isinstance(event, ReviewFinished) else end
    except asyncio.CancelledError:
        ctx.show(running.finish("interrupted"))
        ctx.screen.note("/review --continue goes on with it")
        raise
    return end


async def _post(ctx: CommandContext, running: Review, end: ReviewFinished, *, unverified: bool) -> None:
    """Show what would be put on the pull request, and put it there after an explicit yes. Raises SwecliError."""
    # late: see above
    from swecli.review.publish.posting import Wanted, need_token, plan_push  # noqa: PLC0415

    environ: Mapping[str, str] = ctx.runtime.start.environ
    wanted = Wanted("any" if unverified else "confirmed", read=running.record.seen)
    target = running.job.plan.target
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
