"""What a review is made of: its job, its collaborators, and how both come from the agent of the session."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from swecli.agent.agent import Agent
from swecli.agent.step import Sleep
from swecli.config.trust import project_root
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.llm.registry import make_model
from swecli.models.coverage import Estimate
from swecli.models.errors import BadInput
from swecli.models.finding import ReviewRecord
from swecli.models.message import AskRequest, Decision
from swecli.models.review_events import ReviewPlanned
from swecli.review.judge.ledger import recheck
from swecli.review.judge.sources import Sources
from swecli.review.read.estimate import make_estimate
from swecli.review.read.linter_hints import Hint, find_hints, measured
from swecli.review.read.project_rules import Rule, load_rules
from swecli.review.read.prompt import system_prompt
from swecli.review.target.plan import Plan, make_plan
from swecli.review.target.pull_request import find_any
from swecli.review.target.targets import Target
from swecli.store.reviews import ReviewStore
from swecli.store.session_manager import SessionManager
from swecli.tools.base import ToolContext
from swecli.tools.permissions import Permissions
from swecli.tools.registry import ToolRegistry

RESULT_LIMIT = 30_000
PART_SHARE = 0.3  # of the model's window, for one part


async def nobody(request: AskRequest) -> Decision:
    """A review asks nothing: what would need a question is refused."""
    return Decision(False, reason="a review only reads, and nobody is asked", by="headless")


@dataclass(frozen=True, slots=True)
class ReviewOptions:
    """How a review is to be made. `loops` 0 is the setting's; `include` brings skipped files back; `verify` False lets
    claims stand unchecked; `fail_on` is the severity from which on all must be verified."""

    loops: int = 0
    include: tuple[str, ...] = ()
    verify: bool = True
    fail_on: str = "high"
    trusted: bool = False


@dataclass(slots=True)
class ReviewJob:
    """What is to be reviewed: the `record` as it was begun or left, `sessions` with its transcript, `first` the lines
    to emit before it begins."""

    record: ReviewRecord
    target: Target
    plan: Plan
    most_loops: int
    sessions: SessionManager
    options: ReviewOptions
    hints: Sequence[Hint] = ()
    rules: Sequence[Rule] = ()
    first: Sequence[str] = ()
    max_cost: float | None = None
    estimate: Estimate | None = None


@dataclass(slots=True)
class Collaborators:
    """What a review works with. `sessions` is its own: its messages are no part of the chat."""

    model: ChatModel
    tools: ToolRegistry
    permissions: Permissions
    ctx: ToolContext
    sessions: SessionManager
    store: ReviewStore
    counter: TokenCounter
    result_limit: int
    max_tokens: int | None = None
    verify_model: ChatModel | None = None
    sleep: Sleep = asyncio.sleep


async def begin_job(agent: Agent, store: ReviewStore, spec: Sequence[str] | None, options: ReviewOptions) -> ReviewJob:
    """The job of the target that the words name; without words (None) the review that was not finished.

    git and GitHub are waited for in a thread, so that Ctrl-C is heard. Raises SwecliError.
    """
    if spec is not None:
        return await _new_job(agent, store, spec, options)
    record, here = store.unfinished(), project_root(agent.ctx.root)
    if record is None:
        raise BadInput("There is no unfinished review.", "Start one: swecli review")
    target = await asyncio.to_thread(find_any, here, record.spec, agent.ctx.environ or {}, options.include)
    return _old_job(agent, target, record, options)


async def _new_job(agent: Agent, store: ReviewStore, spec: Sequence[str], options: ReviewOptions) -> ReviewJob:
    """A review of that target: hints and rules are gathered, its record is committed.

    The project's rules are used in a trusted folder only.
    """
    root, settings, before = project_root(agent.ctx.root), agent.settings, store.unfinished()
    target, plan, estimate = await plan_for(agent, store, spec, options)
    # what is not committed is the user's own; a commit, a branch or a pull request is judged by its base's rules
    base = "" if not target.spec or target.spec[0] == "--staged" else target.base
    rules, notes = await asyncio.to_thread(load_rules, root, plan.files, base, agent.ctx.environ)
    if rules and not options.trusted:
        rules, notes = [], ["the project's rules are not used: this folder is not trusted (run /trust to use them)"]
    hints, failed = await find_hints(root, plan.files, agent.ctx.environ, settings.review_leads)
    hints = [*await asyncio.to_thread(measured, plan.files, Sources(root)), *hints]
    if before is not None and before.spec == target.spec:
        notes.append(
            f"{before.id} of the same target was not finished (loop {before.loops}): --continue goes on with it"
        )
    sessions = SessionManager(agent.sessions.database)  # its own: the chat's session is left alone
    session = sessions.start(
        f"review of {root}", agent.model.name, title=f"Review of {target.label}", project=str(root)
    )
    record = ReviewRecord(store.project, target.spec, target.label, session.id, prompt=system_prompt(rules))
    noted = store.note(store.begin(record), target.earlier.findings)
    await asyncio.to_thread(recheck, store, root)  # rows stand where their code is now, before anything is compared
    return ReviewJob(
        noted.review, target, plan, options.loops or settings.review_loops, sessions, options, hints, rules,
        (*target.notes, *notes, *failed), settings.max_budget_usd, estimate,
    )  # fmt: skip


def _old_job(agent: Agent, target: Target, record: ReviewRecord, options: ReviewOptions) -> ReviewJob:
    """Go on with a review that was killed or interrupted. Raises BadInput when it has had all its loops."""
    settings, most = agent.settings, options.loops or agent.settings.review_loops
    if record.loops >= most:
        raise BadInput(f"{record.id} has had its {record.loops} loops.", "Allow more (--loops), or begin a new review.")
    sessions = SessionManager(agent.sessions.database)
    try:
        sessions.resume(record.session_id, "")
    except BadInput:  # killed before its first message, or the session was deleted: the findings are there
        sessions.start(f"review of {record.project}", agent.model.name, title=f"Review of {record.label}")
    plan, cost = plan_of(agent, target), settings.max_budget_usd
    return ReviewJob(record, target, plan, most, sessions, options, first=target.notes, max_cost=cost)


async def plan_for(
    agent: Agent, store: ReviewStore, spec: Sequence[str], options: ReviewOptions
) -> tuple[Target, Plan, Estimate]:
    """What these words name, what of it would be read, and what that is expected to take. Raises SwecliError."""
    target = await asyncio.to_thread(find_any, agent.ctx.root, tuple(spec), agent.ctx.environ or {}, options.include)
    plan = await asyncio.to_thread(plan_of, agent, target)
    loops = options.loops or agent.settings.review_loops
    return target, plan, make_estimate(plan, loops, agent.model.profile.price, store.spent(), verify=options.verify)


def plan_of(agent: Agent, target: Target) -> Plan:
    """The plan of a target, in parts that the session's model takes. Raises BadInput when a rule leaves out all."""
    window, most = agent.model.profile.window, agent.settings.review_part_tokens
    most = min(most, int(window * PART_SHARE)) if window else most
    plan = make_plan(target, Sources(project_root(agent.ctx.root)), agent.counter, most)
    if not plan.hunks:
        raise BadInput(f"There is nothing to review in {target.label}.", "--include PATTERN brings skipped files back.")
    return plan


def planned(plan: Plan, estimate: Estimate | None, review: str = "", rules: Sequence[Rule] = ()) -> ReviewPlanned:
    """What a review will read, as an event."""
    lines = sum(len(hunk.lines) for hunk in plan.hunks)
    names = tuple(rule.name for rule in rules)
    return ReviewPlanned(review, len(plan.parts), len(plan.hunks), lines, plan.unit, plan.skips, estimate, names)


def collaborators(agent: Agent, sessions: SessionManager, store: ReviewStore) -> Collaborators:
    """What a review works with, out of the session's agent; its workspace is the whole repository."""
    window = agent.model.profile.window
    limit = min(RESULT_LIMIT, window * 4 // 10) if window else RESULT_LIMIT
    ctx = replace(agent.ctx, root=project_root(agent.ctx.root))
    name = agent.settings.review_verify_model
    verify_model = make_model(name, agent.settings, agent.ctx.environ or {}) if name else None
    return Collaborators(
        agent.model, agent.tools, agent.permissions, ctx, sessions, store, agent.counter, limit,
        agent.settings.max_tokens, verify_model,
    )  # fmt: skip
