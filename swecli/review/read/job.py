"""Begin and continue reviews: resolve the target, plan it, load the rules, and set up the reviewer and the verifier."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import field, replace

from swecli.agent.agent import Agent
from swecli.agent.calls import Toolkit
from swecli.config.paths import project_root
from swecli.llm.registry import make_model
from swecli.models.approval import AskRequest, Decision
from swecli.models.counts import pluralize
from swecli.models.errors import BadInput, ToolError
from swecli.models.finding import OPEN_STATES, Finding, ReviewRecord, worst_first
from swecli.models.review_events import FindingsJudged
from swecli.review.judge.grounding import move
from swecli.review.judge.ledger import recheck
from swecli.review.judge.look_up import Examiner
from swecli.review.judge.prove import Prover, find_intended
from swecli.review.judge.sources import Sources, project_sources
from swecli.review.judge.verify import (
    MIN_TOKENS,
    TOKEN_SHARE,
    Verification,
    Verifier,
    count_verdicts,
)
from swecli.review.read.part_message import describe_change, shorten_intent
from swecli.review.read.rules import build_system_prompt, load_rules
from swecli.review.target.github import PullState
from swecli.review.target.plan import Plan, build_plan
from swecli.review.target.targets import resolve_target
from swecli.store.reviews import ReviewStore
from swecli.store.session_manager import SessionManager
from swecli.values import dataclass

_PROVABLE = ("introduced", "pre_existing", "cannot_tell")  # verdicts that a script may decide
_PART_SHARE = 0.3  # of the model's window, for one part


@dataclass(frozen=True, slots=True)
class ReviewOptions:
    """Options of a review. `include` are patterns of files that no rule skips, `fail_on` is the severity from which all
    findings must be verified, and with `prove` are shown by a script."""

    include: tuple[str, ...] = ()
    verify: bool = True
    fail_on: str = "high"
    trusted: bool = False
    prove: bool = False


@dataclass(frozen=True, slots=True)
class ReviewJob:
    """A review that is ready to run. Its `sessions` are its own, apart from the chat; `notices` are emitted first."""

    agent: Agent
    store: ReviewStore
    options: ReviewOptions
    verifier: Verifier
    sessions: SessionManager
    record: ReviewRecord
    plan: Plan
    rules: Mapping[str, str] = field(default_factory=dict)
    notices: Sequence[str] = ()
    prover: Prover | None = None  # None: nothing is proved by running code

    def findings(self) -> list[Finding]:
        """Return the findings of the review, the worst first: what it reported, and what the ledger has of the reviewed
        lines, since the reviewer is told not to report that again."""
        earlier_findings = self.store.findings((*OPEN_STATES, "dismissed", "fixed", "refuted"))
        carried = {finding.fingerprint for finding in self.plan.target.earlier.findings}
        by_id = {
            finding.id: finding
            for finding in self.plan.select(earlier_findings)
            # a settled one only if the pull request is to be told so
            if finding.state not in ("fixed", "refuted") or finding.fingerprint in carried
        }
        by_id |= {finding.id: finding for finding in self.store.findings_of(self.record.id)}
        return sorted(by_id.values(), key=worst_first)

    def _find_changed(
        self, earlier_findings: Sequence[Finding], read_digests: Collection[str]
    ) -> list[Finding]:
        """Return the confirmed findings that the read hunks may repair: those in the same function. What repairs one of
        removed code may be in any hunk, or in none: the code may stand there again."""
        hunks = [hunk for hunk in self.plan.hunks if hunk.digest in read_digests]
        findings: list[Finding] = []
        for finding in earlier_findings:
            source = self.plan.target.sources.reviewed(finding.path)
            may_be_repaired = any(hunk.is_around(finding, source) for hunk in hunks)
            if finding.removed and self.plan.select([finding]):
                may_be_repaired = bool(hunks) or not self._is_still_removed(finding)
            if may_be_repaired and finding.stands:
                findings.append(finding)
        return findings

    def _is_still_removed(self, finding: Finding) -> bool:
        """Return whether the change removes code at the place of a finding, with no more than blank lines between."""
        sources = self.plan.target.sources
        before = sources.before.get(finding.path)
        if before is None or before.is_gone:
            return before is not None
        lines = sources.get(finding.path).lines
        for line, _ in before.removals:
            between = lines[line - 1 : finding.line - 1] or lines[finding.line : line - 1]
            if not "".join(between).strip():
                return True
        return False

    async def verify(
        self, read_digests: Collection[str], used_tokens: int, cost: float | None
    ) -> tuple[FindingsJudged, Verification]:
        """Verify what the review reported, what is gone from its files, and what may be repaired by the hunks of
        `read_digests`, unless verification is off. It may use two thirds of the tokens that the reviewer's requests
        took (`used_tokens`), and what their `cost` left of the budget."""
        store = self.store
        plan = self.plan
        reported = store.findings_of(self.record.id)
        if not self.options.verify:  # a reported finding is open again, whatever its state was
            reopened = [move(finding, "reported again") for finding in reported if finding.anchor]
            store.update(reopened, "reported again", "reviewer")
            return FindingsJudged(0, 0, 0), Verification()
        earlier_findings = store.findings(["open", "regressed"])
        unchecked = [finding for finding in plan.select(earlier_findings) if finding.is_unchecked]
        claims = [*reported, *unchecked, *self._find_changed(earlier_findings, read_digests)]
        is_snapshot = plan.target.sources.is_snapshot
        for finding in store.findings(["gone"], plan.files if is_snapshot else ()):
            # undecided ones are paid once
            if finding.verdict != "cannot_tell" or finding.path in plan.files:
                claims.append(finding)
        similar = [store.get(finding.same_as) for finding in reported if finding.same_as]
        claims += [finding for finding in similar if not finding.verdict]
        budget = self.agent.settings.max_budget_usd
        verifier = replace(
            self.verifier,
            tokens=max(MIN_TOKENS, int(used_tokens * TOKEN_SHARE)),
            max_cost=None if budget is None or cost is None else budget - cost,
            sources=plan.target.sources.reread(),
        )
        event, result = await verifier.check(claims, {finding.id for finding in reported})
        if self.prover is not None:
            await self._prove(verifier, self.prover, result)
            event = count_verdicts([store.get(finding.id) for finding in event.findings])
        return event, result

    async def _prove(self, verifier: Verifier, prover: Prover, result: Verification) -> None:
        """Have scripts run for the severe findings that may be the change's, and those that a script has shown
        before."""
        severe = [finding for finding in self.findings() if finding.at_least(self.options.fail_on)]
        claims = [finding for finding in severe if finding.is_open and finding.verdict in _PROVABLE]
        undecided = {claim.id for claim in claims if claim.verdict == "cannot_tell"}
        proven: list[Finding] = []  # by a script only
        async with aclosing(prover.prove(verifier, claims, result)) as proved:
            async for finding in proved:
                self.store.update([finding], "proof", verifier.model.name)
                if finding.id in undecided and finding.verdict == "introduced":
                    proven.append(finding)
        intended = await find_intended(verifier, proven, result)
        self.store.update(intended, "check", verifier.model.name)


async def begin_job(
    agent: Agent, store: ReviewStore, spec: Sequence[str] | None, options: ReviewOptions
) -> ReviewJob:
    """Return the job for the target that the words name; for None continue the unfinished review. Runs git and GitHub's
    requests in a thread, so that Ctrl-C interrupts. Raises SwecliError."""
    before = store.unfinished()
    old = before if spec is None else None
    if spec is None and old is None:
        raise BadInput("There is no unfinished review.", "Start one: swecli review")
    if old is not None and old.unread_loops >= agent.settings.review_loops:
        raise BadInput(
            f"{old.id} has used its {pluralize(old.unread_loops, 'request')} for what is not read.",
            "Allow more (--loops), or begin a new review.",
        )
    plan = await asyncio.to_thread(
        plan_review, agent, store, old.spec if old else spec or (), options
    )
    try:
        if problem := getattr(agent.model, "no_review", ""):
            raise BadInput(
                problem,
                "/connect sets up a model in a session; in a shell, name one: -m provider/name",
            )
        return await _make_job(agent, store, options, plan, old, before)
    except BaseException:
        plan.target.sources.close()
        raise


async def _make_job(
    agent: Agent,
    store: ReviewStore,
    options: ReviewOptions,
    plan: Plan,
    old: ReviewRecord | None,
    before: ReviewRecord | None,
) -> ReviewJob:
    """Return the job of a plan: of the review `old` that is continued, or of a new one. `before` is the project's
    unfinished review, if there is one."""
    root = project_sources(agent.ctx.root).root
    target = plan.target
    title = f"Review of {plan.target.label}"
    sessions = SessionManager(agent.sessions.database)
    session = sessions.start(
        f"review of {root}", agent.model.name, title=title, project=store.project
    )
    verifier = _make_verifier(agent, store, target.sources, sessions)
    if target.diffs or target.deleted:
        change = "\n".join(describe_change(plan))
        verifier = replace(verifier, change=change, intent=shorten_intent(target.intent))
    if old is not None:
        old = replace(old, session_id=session.id)
        plan = replace(plan, estimate=None)  # it would be of the whole
        return ReviewJob(agent, store, options, verifier, sessions, old, plan, notices=target.notes)
    # uncommitted changes are the user's own; commits, branches and pull requests are reviewed by their base's rules
    is_own = not target.spec or target.spec[0] == "--staged"
    base = "" if is_own and options.trusted else target.base
    rules, notes = await asyncio.to_thread(
        load_rules, root, plan.files, base, agent.ctx.commands.environ
    )
    if rules and not base and not options.trusted:
        rules = {}
        notes = [
            "the project's rules are not used: this folder is not trusted (run /trust to use them)"
        ]
    if before is not None and before.spec == target.spec:
        notes.append(
            f"{before.id} of the same target was not finished ({pluralize(before.loops, 'request')}): "
            "--continue resumes it"
        )
    verifier = replace(verifier, rules=rules)
    record = ReviewRecord(
        store.project, target.spec, target.label, session.id, prompt=build_system_prompt(rules)
    )
    _adopt(store, target.earlier.findings)
    record = store.begin(record)
    # findings move with their code before anything is compared; a snapshot has the files of its own target only
    names = {
        *plan.files,
        *(diff.old_path for diff in target.diffs.values()),
        *(finding.path for finding in target.earlier.findings),
    }
    paths = names if target.sources.is_snapshot else ()
    await asyncio.to_thread(recheck, store, target.sources, (), paths)
    _dismiss_resolved(store, target.earlier)
    prover = _make_prover(agent, verifier, plan) if options.prove else None
    notices = (*target.notes, *notes)
    return ReviewJob(
        agent, store, options, verifier, sessions, record, plan, rules, notices, prover
    )


def _adopt(store: ReviewStore, carried: Sequence[Finding]) -> None:
    """Add the findings that a pull request carries to the ledger, and dismiss those that a person dismissed there."""
    store.adopt(carried)
    reasons = {
        finding.fingerprint: finding.reason for finding in carried if finding.state == "dismissed"
    }
    earlier_findings = store.findings(OPEN_STATES) if reasons else []
    resolved = [
        replace(finding, state="dismissed", reason=reasons[finding.fingerprint])
        for finding in earlier_findings
        if finding.fingerprint in reasons
    ]
    store.update(resolved, "resolved on the pull request", "user")


def _dismiss_resolved(store: ReviewStore, earlier: PullState) -> None:
    """Dismiss the findings that people dismissed on the pull request. One whose code has changed since is checked
    instead: who resolves a thread may mean that it is repaired."""
    present = store.findings(("open", "regressed")) if earlier.resolutions else []
    dismissed = [
        replace(finding, state="dismissed", reason=resolution.reason)
        for finding in present
        if (resolution := earlier.resolutions.get(finding.fingerprint)) and resolution.may_dismiss
    ]
    store.update(dismissed, "resolved on the pull request", "user")


def plan_review(
    agent: Agent, store: ReviewStore, spec: Sequence[str], options: ReviewOptions
) -> Plan:
    """Return the plan, with its estimate, for the target that the words name. Runs git and GitHub's requests. Raises
    SwecliError."""
    profile = agent.model.profile
    max_tokens = agent.settings.review_part_tokens
    if profile.window:
        max_tokens = min(max_tokens, int(profile.window * _PART_SHARE))
    root = agent.ctx.root
    environ = agent.ctx.commands.environ or {}
    target = resolve_target(root, spec, environ, options.include, _make_barrier(agent))
    try:
        plan = build_plan(target, agent.counter, max_tokens)
    except BaseException:
        target.sources.close()
        raise
    return plan.with_estimate(
        agent.settings.review_loops, profile.price, store.past_costs(), verify=options.verify
    )


def _make_barrier(agent: Agent) -> Callable[[str], str]:
    """Return what says why a path of the project is not read for a model, "" if it is."""
    root = project_root(agent.ctx.root)
    guard = agent.toolkit.guard.without_border()

    def barrier(path: str) -> str:
        try:
            return guard.access(f"{root}/{path}").read_reason
        except ToolError as error:
            return error.message

    return barrier


def _make_verifier(
    agent: Agent, store: ReviewStore, sources: Sources, sessions: SessionManager
) -> Verifier:
    """Return a verifier with the model of `review_verify_model`, by default the session's. Raises SwecliError."""
    agent.count_exactly()
    settings = agent.settings
    name = agent.settings.review_verify_model
    model = make_model(name, settings, agent.ctx.commands.environ or {}) if name else agent.model
    toolkit = read_only_toolkit(agent, sources, sessions)
    examiner = Examiner(model, toolkit, sessions, agent.counter, settings.max_tokens)
    return Verifier(examiner, store, sources)


def _make_prover(agent: Agent, verifier: Verifier, plan: Plan) -> Prover:
    """Return what proves claims. Raises BadInput without a change to compare, or without a sandbox."""
    sandbox = agent.ctx.commands.sandbox
    if verifier.change is None or plan.target.sources.base is None:
        raise BadInput(
            f"--prove compares two sides, and {plan.target.label} has one.",
            "Review a change: --staged, --base BRANCH, --pr N or a commit.",
        )
    if sandbox is None or not sandbox.is_active:
        reason = sandbox.problem if sandbox is not None else "it is switched off"
        raise BadInput(
            f"--prove runs scripts in the sandbox, and there is none: {reason}.",
            "See: swecli doctor",
        )
    environ = agent.ctx.commands.environ or {}
    project = project_root(agent.ctx.root)
    return Prover(sandbox, project, environ)


def read_only_toolkit(agent: Agent, sources: Sources, sessions: SessionManager) -> Toolkit:
    """Return what calls need that read the reviewed files; nothing is asked."""
    files = replace(agent.ctx.files, digests={})
    ctx = replace(agent.ctx, root=sources.root, sessions=sessions, files=files, todos=[])
    hooks = agent.toolkit.hooks.for_task() if agent.toolkit.hooks else None
    return Toolkit(agent.tools, agent.permissions, ctx, _deny, hooks=hooks)


async def _deny(request: AskRequest) -> Decision:
    return Decision(False, reason="a review is read-only and asks for no approval", by="headless")


def prepare_check(
    agent: Agent, store: ReviewStore, names: Sequence[str] = (), *, trusted: bool
) -> tuple[Verifier, list[Finding], str]:
    """Return the verifier, the claims and the estimated price, as a line, of a check that the user asks for: of the
    named findings, by default of all that are gone or not verified. The project's rules count if the folder is
    `trusted`. Raises BadInput for an unknown id."""
    recheck(store, agent.ctx.root)
    sources = project_sources(agent.ctx.root)
    sessions = SessionManager(agent.sessions.database)
    title = "Check of findings"
    sessions.start(
        f"review of {sources.root}", agent.model.name, title=title, project=store.project
    )
    verifier = _make_verifier(agent, store, sources, sessions)
    findings = [store.get(name) for name in names] or [
        finding
        for finding in store.findings(OPEN_STATES)
        if finding.state == "gone" or finding.is_unchecked
    ]
    if trusted:
        rules, _ = load_rules(sources.root, {finding.path for finding in findings})
        verifier = replace(verifier, rules=rules)
    return verifier, *verifier.estimate(findings)
