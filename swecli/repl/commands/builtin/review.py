"""`/review`: a reviewer that reports as it goes; `--fix F-12` lets the agent repair what it found."""

from __future__ import annotations

import asyncio
import shlex
from contextlib import aclosing
from typing import TYPE_CHECKING

from swecli.config.trust import is_trusted, project_root
from swecli.models.errors import BadInput, UsageError
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.commands.builtin.findings import propose

if TYPE_CHECKING:
    from swecli.agent.reviewing import Review
    from swecli.store.review_store import ReviewStore

TARGETS = (
    ("--staged", "what is staged"),
    ("--base", "BRANCH: what changed since it"),
    ("--pr", "N: a pull request on GitHub"),
    (".", "the whole tree"),
    ("--continue", "go on with the review that was not finished"),
    ("--fix", "F-1: let the agent repair it"),
)


@command(usage="[PATHS|COMMIT|A..B|--staged|--base B|--pr N|--continue|--fix F-1]", complete=lambda runtime: TARGETS)
async def review(ctx: CommandContext, args: str) -> None:
    """Review changes or files; findings are kept and survive everything"""
    # late: most sessions review nothing
    from swecli.store.review_store import ReviewStore  # noqa: PLC0415

    try:
        words = shlex.split(args)
    except ValueError as error:
        raise UsageError(f"/review cannot read that: {error}.", "Close the quotes.") from error
    store = ReviewStore(ctx.runtime.sessions.database, str(project_root(ctx.runtime.cwd)))
    await ctx.settle()
    if words[:1] == ["--fix"]:
        if len(words) != 2:
            raise UsageError("--fix takes one finding.", "For example: /review --fix F-12")
        await _fix(ctx, store, words[1])
        return
    await _watch(ctx, await _begin(ctx, store, words))


async def _begin(ctx: CommandContext, store: ReviewStore, words: list[str]) -> Review:
    """A new review, or one to go on with. Raises SwecliError."""
    # late: see above
    from swecli.agent.review_job import collaborators, new_job, old_job  # noqa: PLC0415
    from swecli.agent.reviewing import Review  # noqa: PLC0415
    from swecli.review.pull_request import find_any  # noqa: PLC0415

    runtime, agent = ctx.runtime, ctx.runtime.agent
    environ = runtime.start.environ
    if words == ["--continue"]:
        record = store.unfinished()
        if record is None:
            raise BadInput("There is no review to go on with.", "Begin one: /review")
        job = old_job(agent, find_any(project_root(agent.ctx.root), record.spec, environ), record)
    else:
        target = find_any(agent.ctx.root, words, environ)
        trusted = is_trusted(runtime.start.paths, project_root(runtime.cwd))
        job = await new_job(agent, target, store, trusted=trusted)
    return Review(job, collaborators(agent, job, store))


async def _watch(ctx: CommandContext, running: Review) -> None:
    """Draw it; interrupted, it ends with what it has."""
    # late: see above
    from swecli.models.events import ContextReduced, Notice, StepRetried  # noqa: PLC0415
    from swecli.models.review_events import ReviewEvent  # noqa: PLC0415

    try:
        async with aclosing(running.run()) as events:
            async for event in events:
                if isinstance(event, (ReviewEvent, Notice, StepRetried, ContextReduced)):
                    ctx.show(event)
    except asyncio.CancelledError:
        ctx.show(running.finish("interrupted"))
        ctx.screen.note("/review --continue goes on with it")
        raise


async def _fix(ctx: CommandContext, store: ReviewStore, ref: str) -> None:
    """Let the agent repair a finding in an ordinary turn, then look at it again."""
    # late: see above
    from swecli.review.recheck import recheck, told  # noqa: PLC0415
    from swecli.review.repair import repair_request  # noqa: PLC0415

    agent = ctx.runtime.agent
    recheck(store, agent.ctx.root, [ref])
    finding = store.get(ref)
    if not finding.is_open:
        raise BadInput(f"{finding.id} is {finding.state}.", f"/findings reopen {finding.id} opens it again.")
    async with aclosing(agent.run(agent.prepare(repair_request(finding, agent.ctx.root)))) as events:
        async for event in events:
            ctx.show(event)
    changed = recheck(store, agent.ctx.root)
    for before, after in changed:
        if before.state != after.state:
            ctx.screen.line(told(before, after))
    if store.get(ref).is_open:
        ctx.screen.note(
            f"{finding.id} is still open: its code is there · /findings fixed {finding.id} if it is mended otherwise"
        )
    propose(ctx, store)
