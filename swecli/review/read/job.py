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
from swecli.models.errors import BadInput
from swecli.models.finding import ReviewRecord
from swecli.models.message import AskRequest, Decision
from swecli.review.read.linter_hints import find_leads
from swecli.review.read.project_rules import load_checks
from swecli.review.read.prompt import system_prompt
from swecli.review.target.targets import Target
from swecli.store.reviews import ReviewStore
from swecli.store.session_manager import SessionManager
from swecli.tools.base import ToolContext
from swecli.tools.permissions import Permissions
from swecli.tools.registry import ToolRegistry

RESULT_LIMIT = 30_000
DIFF_SHARE = 0.25  # of the model's window, in characters at 4 a token, for the changes in the prompt
DIFF_LIMIT = 60_000


async def nobody(request: AskRequest) -> Decision:
    """A review asks nothing: what would need a question is refused."""
    return Decision(False, reason="a review only reads, and nobody is asked", by="headless")


@dataclass(slots=True)
class ReviewJob:
    """What is to be reviewed: `files` in all, `record` of the review as it was begun or left, `first` what to say
    before it begins."""

    record: ReviewRecord
    files: tuple[str, ...]
    most_loops: int
    leads: int = 0
    checks: int = 0
    first: Sequence[str] = ()
    max_cost: float | None = None
    sessions: SessionManager | None = None


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
    sleep: Sleep = asyncio.sleep


async def new_job(agent: Agent, target: Target, store: ReviewStore, *, trusted: bool) -> ReviewJob:
    """Begin a review of that target: leads and checks are gathered, its record is committed.

    The project's checks are used in a trusted folder only.
    """
    root, settings = project_root(agent.ctx.root), agent.settings
    checks, notes = load_checks(root) if trusted else ([], [])
    if not trusted and any((root / ".agents" / "checks").glob("*.md")):
        notes.append(".agents/checks is not used: this folder is not trusted (/trust says yes to it)")
    leads, failed = await find_leads(root, target.files, agent.ctx.environ, settings.review_leads)
    window = agent.model.profile.window
    room = min(DIFF_LIMIT, int(window * 4 * DIFF_SHARE)) if window else DIFF_LIMIT
    prompt, shown = system_prompt(target, leads, checks, root, room)
    before = store.unfinished()
    if before is not None and before.spec == target.spec:
        notes.append(
            f"{before.id} of the same target was not finished (loop {before.loops}): --continue goes on with it"
        )
    sessions = sessions_of(agent)
    session = sessions.start(
        f"review of {root}", agent.model.name, title=f"Review of {target.label}", project=str(root)
    )
    record = store.begin(
        ReviewRecord(store.project, target.spec, target.label, session.id, seen=tuple(shown), prompt=prompt)
    )
    first = (*target.notes, *notes, *failed)
    job = ReviewJob(record, target.files, settings.review_loops, len(leads), len(checks), first)
    job.max_cost, job.sessions = settings.max_budget_usd, sessions
    return job


def old_job(agent: Agent, target: Target, record: ReviewRecord, loops: int = 0) -> ReviewJob:
    """Go on with a review that was killed or interrupted; `loops` in all, 0 for as many as the settings say.

    Raises BadInput when it has had all its loops.
    """
    settings, most = agent.settings, loops or agent.settings.review_loops
    if record.loops >= most:
        raise BadInput(f"{record.id} has had its {record.loops} loops.", "Allow more (--loops), or begin a new review.")
    sessions = sessions_of(agent)
    try:
        sessions.resume(record.session_id, "")
    except BadInput:  # killed before its first message, or the session was deleted: the findings are there
        sessions.start(f"review of {record.project}", agent.model.name, title=f"Review of {record.label}")
    job = ReviewJob(record, target.files, most, first=target.notes)
    job.max_cost, job.sessions = settings.max_budget_usd, sessions
    return job


def sessions_of(agent: Agent) -> SessionManager:
    """A session manager of the review's own, on the same database: the chat's session is left alone."""
    return SessionManager(agent.sessions.database)


def collaborators(agent: Agent, job: ReviewJob, store: ReviewStore) -> Collaborators:
    """What a review works with, out of the session's agent; its workspace is the whole repository."""
    window = agent.model.profile.window
    limit = min(RESULT_LIMIT, window * 4 // 10) if window else RESULT_LIMIT
    ctx = replace(agent.ctx, root=project_root(agent.ctx.root))
    return Collaborators(
        agent.model, agent.tools, agent.permissions, ctx, job.sessions or sessions_of(agent), store,
        agent.counter, limit, agent.settings.max_tokens,
    )  # fmt: skip
