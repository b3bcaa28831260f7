"""Begin a review, follow it to its end, repair what it found, and post it: the part that every face does alike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from swecli.actions.builtin.findings import open_store
from swecli.models.action import ActionResult
from swecli.models.errors import BadInput
from swecli.models.events import Event
from swecli.models.finding import Finding
from swecli.models.message import Ask
from swecli.models.review_events import ReviewFinished
from swecli.review.judge.ledger import format_change, recheck
from swecli.review.judge.repair import build_repair_prompt, build_suggestion_edit
from swecli.review.read.job import ReviewOptions, begin_job
from swecli.review.read.run import Review
from swecli.store.reviews import ReviewStore
from swecli.tools.execute import execute

if TYPE_CHECKING:
    from swecli.agent.request_builder import Turn
    from swecli.app import Runtime


async def begin_review(
    runtime: Runtime, spec: Sequence[str] | None, options: ReviewOptions
) -> Review:
    """Return a review of the target that the words name; None continues the unfinished one. Raises SwecliError."""
    store = open_store(runtime.sessions, runtime.cwd)
    return Review(await begin_job(runtime.agent, store, spec, options))


async def follow(review: Review, show: Callable[[Event], None]) -> ReviewFinished:
    """Run a review to its end, show each event, and return the last one.

    When it is cancelled, the result so far is shown and kept. Raises SwecliError if it fails, CancelledError.
    """
    try:
        async with aclosing(review.run()) as events:
            async for event in events:
                show(event)
    except asyncio.CancelledError:
        show(review.finish("interrupted"))
        raise
    return review.finish("done")


def prepare_repair(runtime: Runtime, ref: str) -> tuple[Finding, Turn]:
    """Return an open finding and the turn in which the agent repairs it. Raises SwecliError."""
    agent = runtime.agent
    store = open_store(runtime.sessions, runtime.cwd)
    recheck(store, agent.ctx.root, [ref])
    finding = store.get(ref)
    if not finding.is_open:
        raise BadInput(
            f"{finding.id} is {finding.state}.", f"/findings reopen {finding.id} opens it again."
        )
    return finding, agent.prepare(build_repair_prompt(finding, agent.ctx.root))


def conclude_repair(runtime: Runtime, ref: str) -> ActionResult:
    """Compare all findings with the files after a repair, and say what became of this one."""
    store = open_store(runtime.sessions, runtime.cwd)
    changes = recheck(store, runtime.agent.ctx.root)
    moved = [pair for pair in changes if pair[0].state != pair[1].state]
    after = store.get(ref)
    note = ""
    if after.state == "gone":
        note = format_gone(after)
    elif after.is_open:
        fixed = f"/findings fixed {after.id} marks it as fixed"
        note = f"{after.id} is still open: its code exists · {fixed}"
    lines = tuple(format_change(before, changed) for before, changed in moved)
    return ActionResult(after.to_json(), lines, note=note)


async def apply_suggestion(
    runtime: Runtime, store: ReviewStore, ref: str, ask: Ask
) -> ActionResult:
    """Replace the lines of a finding by its suggestion if `ask` allows the edit. The code of the result is 1 if nothing
    was changed. Raises BadInput."""
    agent = runtime.agent
    call, after = build_suggestion_edit(store.get(ref), agent.ctx.root)
    # a copy of the context: the agent has not seen this change, and must read the file again before it edits it
    unseen = replace(agent.ctx, files=replace(agent.ctx.files, digests={}))
    result, _ = await execute(call, agent.tools, unseen, agent.permissions, ask)
    if result.ok:
        store.update([after], "applied", "user")
        return ActionResult(after.to_json(), (format_gone(after),))
    refused = call.decision == "user"
    why = "nothing was changed" if refused else result.for_model.split("\n", 1)[0]
    return ActionResult(None, (why,), code=1)


def format_gone(finding: Finding) -> str:
    """Say that the code of a finding is gone, and what checks whether it is fixed."""
    return f"{finding.id} is gone, not verified · /findings check {finding.id} verifies it"
