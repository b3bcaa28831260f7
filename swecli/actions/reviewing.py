"""Do a review: begin it, follow it to its end and post what it found; and repair findings."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from swecli.actions.findings import open_store
from swecli.models.action import ActionResult, Face, Invocation
from swecli.models.approval import Ask
from swecli.models.counts import pluralize
from swecli.models.errors import BadInput, SwecliError, UsageError
from swecli.models.events import to_json
from swecli.models.finding import Finding
from swecli.models.json_value import Json
from swecli.models.review_events import ReviewFinished
from swecli.review.judge.ledger import format_change, recheck
from swecli.review.judge.repair import build_repair_prompt, build_suggestion_edit
from swecli.review.publish.event_lines import format_event
from swecli.review.publish.gate import FAILED, Gate
from swecli.review.publish.posting import as_markdown, as_seed, plan_push, require_token
from swecli.review.publish.sarif import as_sarif
from swecli.review.publish.view import row_view
from swecli.review.read.job import ReviewOptions, begin_job, plan_review
from swecli.review.read.run import Review
from swecli.review.target.github import GitHubError
from swecli.review.target.targets import Target
from swecli.store.reviews import ReviewStore
from swecli.tools.execute import execute

if TYPE_CHECKING:
    from swecli.agent.request_builder import Turn
    from swecli.app import Runtime


_FORBIDDEN = 403


class _PostCounts(NamedTuple):
    """How many findings were posted on the pull request, and how many were not."""

    posted: int = 0
    failed: int = 0


async def run_review(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """Review what the user named, show the events, and post the findings if asked to. Raises SwecliError if it cannot
    begin or fails; findings are stored."""
    target = _read_target(invocation)
    if "--post" in invocation.flags and "--yes" in invocation.flags:
        require_token(runtime.start.environ)  # before any cost
    options = ReviewOptions(
        include=invocation.flags.get("--include", ()),
        verify="--no-verify" not in invocation.flags,
        fail_on=invocation.value("--fail-on", "high"),
        trusted=runtime.trusted,
        prove="--prove" in invocation.flags,
    )
    store = open_store(runtime.sessions, runtime.cwd)
    if "--dry-run" in invocation.flags:
        return await asyncio.to_thread(_plan, runtime, store, target or (), options)
    review = Review(await begin_job(runtime.agent, store, target, options))
    if "--post" in invocation.flags and review.job.plan.target.pr is None:
        review.finish("interrupted")
        raise _needs_pull_request()
    reviewed = review.job.plan.target
    github = reviewed.github if "--post" in invocation.flags else None
    if github is not None and not await asyncio.to_thread(github.may_write):
        invocation.face.warn(_may_not_write(reviewed))
    with invocation.face.working("Reviewing"):
        outcome = await invocation.face.wait(_follow(review, invocation.face))
    return await _conclude(review, outcome or review.finish("interrupted"), invocation)


def _read_target(invocation: Invocation) -> tuple[str, ...] | None:
    """Return the words of the target, () for the uncommitted changes; None for the unfinished review. Raises
    UsageError."""
    flags = ("--staged", "--base", "--pr", "--continue")
    named_targets = [(flag, *invocation.flags[flag]) for flag in flags if flag in invocation.flags]
    if "--prove" in invocation.flags and "--no-verify" in invocation.flags:
        raise UsageError(
            "--prove needs the check that --no-verify skips.", "Leave one of them out."
        )
    if len(named_targets) > 1 or (named_targets == [("--continue",)] and invocation.words):
        raise UsageError(
            "A review has one target.", "Name paths, a commit, --staged, --base or --continue."
        )
    target = named_targets[0] if named_targets else ()
    if target in (("--base",), ("--pr",)):
        raise UsageError(f"{target[0]} has no value.", "For example: --base main, or --pr 12")
    if target[:1] == ("--continue",):
        return None
    if "--post" in invocation.flags and target[:1] != ("--pr",):
        raise _needs_pull_request()
    return (*target, *invocation.words)


def _may_not_write(target: Target) -> str:
    """Return what is said of a token that cannot post; the review counts all the same."""
    name = target.github.repository if target.github else ""
    return f"The token may not write to {name}, as in a fork's pull request: the review is only printed."


def _needs_pull_request() -> UsageError:
    return UsageError("--post needs --pr.", "For example: review --pr 12 --post")


def _plan(
    runtime: Runtime, store: ReviewStore, target: Sequence[str], options: ReviewOptions
) -> ActionResult:
    """Return the plan of a review with its estimated cost; no request is made. Raises SwecliError."""
    plan = plan_review(runtime.agent, store, target, options)
    plan.target.sources.close()
    event = plan.to_event()
    title = f"{plan.target.label}: {pluralize(len(plan.target.files), 'file')}"
    return ActionResult(to_json(event), (title, *plan.target.notes, *format_event(event)))


async def _follow(review: Review, face: Face) -> ReviewFinished:
    """Run a review to its end, show each event, and return the last one.

    When it is cancelled, the result so far is shown and kept. Raises SwecliError if it fails, CancelledError.
    """
    try:
        async with aclosing(review.run()) as events:
            async for event in events:
                face.show(event)
    except asyncio.CancelledError:
        face.show(review.finish("interrupted"))
        raise
    return review.finish("done")


async def _conclude(
    review: Review, outcome: ReviewFinished, invocation: Invocation
) -> ActionResult:
    """Post the findings if asked to, and return the result. One gate says which of them fail the review, are posted and
    are exported."""
    face = invocation.face
    is_verified = "--no-verify" not in invocation.flags
    gate = Gate(
        invocation.value("--min-verdict", "confirmed") if is_verified else "any",
        invocation.value("--fail-on"),
        invocation.value("--post-min", "medium"),
    )
    may_be_incomplete = "--allow-incomplete" in invocation.flags
    code = face.signal_code or gate.exit_code(outcome, is_incomplete_allowed=may_be_incomplete)
    if failing := gate.name_failing(outcome.findings):
        face.warn(failing)
    if may_be_incomplete and not outcome.complete and not face.signal_code:
        face.warn("The review is incomplete, and --allow-incomplete lets it pass.")
    posted = _PostCounts()
    if "--post" in invocation.flags and face.signal_code:
        face.warn("The review was interrupted, so nothing was posted.")
    elif "--post" in invocation.flags:
        try:
            posted = await _post(review, outcome, gate, invocation)
        except SwecliError as error:  # the result is printed all the same
            posted = _PostCounts(failed=sum(finding.is_open for finding in outcome.findings))
            if isinstance(error, GitHubError) and error.status == _FORBIDDEN:
                face.warn(f"{_may_not_write(review.job.plan.target)} {error.message}")
            else:
                face.complain(error)
                code = FAILED if error.exit_code == 1 else error.exit_code
    return _render(
        outcome, output_format=invocation.value("--format"), code=code, gate=gate, posted=posted
    )


async def _post(
    review: Review, outcome: ReviewFinished, gate: Gate, invocation: Invocation
) -> _PostCounts:
    """Post findings on the pull request if the user agrees, else only show what would be posted. Raises GitHubError,
    BadInput."""
    face = invocation.face
    target = review.job.plan.target
    push = await asyncio.to_thread(plan_push, target, outcome, review.record.seen, gate)
    new_findings = len(push.inline) + len(push.rest)
    if "--yes" not in invocation.flags:
        for line in push.lines:
            face.note(line)
        if not push.has_changes:
            return _PostCounts(failed=new_findings)
        if face.can_ask:
            require_token({"GITHUB_TOKEN": push.github.token})
    question = f"Post this to pull request {target.pr} of {push.github.repository}?"
    if not await face.confirm(question, "yes, post it", "no, nothing is posted"):
        face.note(f"nothing was posted{face.how_to_agree}")
        return _PostCounts(failed=new_findings)
    posted = await asyncio.to_thread(push.post)
    for line in posted.lines:
        face.note(line)
    return _PostCounts(posted.findings, posted.rejected)


def _render(
    outcome: ReviewFinished, output_format: str, code: int, gate: Gate, posted: _PostCounts
) -> ActionResult:
    """Return the result in a format, as lines or data. `code` is the exit code, `gate` says what counts."""
    value: Json = to_json(outcome)
    lines: tuple[str, ...] = ()
    if output_format == "seed":
        value = as_seed(outcome, *posted)
    elif output_format == "sarif":
        gated = [finding for finding in outcome.findings if finding.has_verdict(gate.least)]
        value = as_sarif(gated, outcome, code, gate)
    elif output_format == "markdown":
        lines = (as_markdown(outcome.findings, end=outcome).rstrip("\n"),)
    else:
        lines = _list_findings(outcome)
    return ActionResult(value, lines, code=code)


def _list_findings(outcome: ReviewFinished) -> tuple[str, ...]:
    """Return a line for each finding; those that are older than the change are listed last, and do not count."""
    present = [finding for finding in outcome.findings if finding.state != "refuted"]
    older = [row_view(finding).line for finding in present if finding.is_older]
    lines = [row_view(finding).line for finding in present if not finding.is_older]
    lines = lines or [_describe_nothing(outcome)]
    if older:
        lines += ["Older than the change, not counted:", *older]
    return tuple(lines)


def _describe_nothing(outcome: ReviewFinished) -> str:
    """Return why a review has no findings."""
    if not outcome.complete:
        return "No findings in what was read; the review is incomplete."
    if not outcome.coverage.total:
        return "No findings: the change has no code to read."
    return "No findings."


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
    after = store.get(ref)
    note = ""
    if after.state == "gone":
        note = format_gone(after)
    elif after.is_open:
        fixed = f"/findings fixed {after.id} marks it as fixed"
        note = f"{after.id} is still open: its code exists · {fixed}"
    lines = tuple(
        format_change(before, after) for before, after in changes if before.state != after.state
    )
    return ActionResult(after.to_json(), lines, note=note)


async def apply_suggestion(
    runtime: Runtime, store: ReviewStore, ref: str, ask: Ask
) -> ActionResult:
    """Replace the lines of a finding by its suggestion if `ask` allows the edit. The code of the result is 1 if nothing
    was changed. Raises BadInput."""
    agent = runtime.agent
    call, after = build_suggestion_edit(store.get(ref), agent.ctx.root)
    # a copy of the context: the agent has not seen this change, and must read the file again before it edits it
    context = replace(agent.ctx, files=replace(agent.ctx.files, digests={}))
    result, _ = await execute(call, agent.tools, context, agent.permissions, ask)
    if result.ok:
        store.update([after], "applied", "user")
        return ActionResult(after.to_json(), (format_gone(after),))
    reason = result.for_model.split("\n", 1)[0]
    if call.decision == "user":
        reason = "nothing was changed"
    return ActionResult(None, (reason,), code=1)


def format_gone(finding: Finding) -> str:
    """Say that the code of a finding is gone, and what checks whether it is fixed."""
    return f"{finding.id} is gone, not verified · /findings check {finding.id} verifies it"
