"""Begin and continue reviews: resolve the target, plan it, load the rules, and set up the reviewer and the verifier."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from swecli.agent.agent import Agent
from swecli.llm.registry import make_model
from swecli.models.errors import BadInput
from swecli.models.finding import OPEN_STATES, Finding, ReviewRecord, pluralize
from swecli.models.review_events import FindingsJudged, ReviewPlanned
from swecli.review.judge.grounding import move
from swecli.review.judge.ledger import recheck, recheck_all
from swecli.review.judge.sources import Sources, project_sources
from swecli.review.judge.verify import MIN_TOKENS, TOKEN_SHARE, Verification, Verifier, select_claims
from swecli.review.read.prompt import Rule, build_system_prompt, load_rules
from swecli.review.target.plan import Plan, build_plan, estimate_review
from swecli.review.target.targets import resolve_target
from swecli.store.reviews import ReviewStore
from swecli.store.session_manager import SessionManager
from swecli.tools.git import checkout_files

_PART_SHARE = 0.3  # of the model's window, for one part


@dataclass(frozen=True, slots=True)
class ReviewOptions:
    """Options of a review. `loops` 0 is the setting's value, `include` are patterns of files that no rule skips,
    `fail_on` is the severity from which all findings must be verified."""

    loops: int = 0
    include: tuple[str, ...] = ()
    verify: bool = True
    fail_on: str = "high"
    trusted: bool = False


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
    rules: Sequence[Rule] = ()
    notices: Sequence[str] = ()


async def begin_job(agent: Agent, store: ReviewStore, spec: Sequence[str] | None, options: ReviewOptions) -> ReviewJob:
    """Return the job for the target that the words name; for None continue the unfinished review. Runs git and GitHub's
    requests in a thread, so that Ctrl-C interrupts. Raises SwecliError."""
    before, root = store.unfinished(), project_sources(agent.ctx.root).root
    options = replace(options, loops=options.loops or agent.settings.review_loops)
    old = before if spec is None else None
    if spec is None and old is None:
        raise BadInput("There is no unfinished review.", "Start one: swecli review")
    if old is not None and old.loops >= options.loops:
        raise BadInput(f"{old.id} has had its {old.loops} loops.", "Allow more (--loops), or begin a new review.")
    plan, sources = await asyncio.to_thread(_load_plan, agent, store, old.spec if old else spec or (), options)
    verifier, sessions = _make_verifier(agent, store, sources), SessionManager(agent.sessions.database)
    target, title = plan.target, f"Review of {plan.target.label}"
    if old is not None:
        try:
            sessions.resume(old.session_id, "")
        except BadInput:  # it was killed before its first message, or the session was deleted
            sessions.start(f"review of {root}", agent.model.name, title=title)
        plan = replace(plan, estimate=None)  # it would be of the whole, not of the rest
        return ReviewJob(agent, store, options, verifier, sessions, old, plan, (), target.notes)
    # uncommitted changes are the user's own; commits, branches and pull requests are reviewed by their base's rules
    base = "" if not target.spec or target.spec[0] == "--staged" else target.base
    rules, notes = await asyncio.to_thread(load_rules, root, plan.files, base, agent.ctx.environ)
    if rules and not options.trusted:
        rules, notes = [], ["the project's rules are not used: this folder is not trusted (run /trust to use them)"]
    if before is not None and before.spec == target.spec:
        notes.append(f"{before.id} of the same target was not finished (loop {before.loops}): --continue resumes it")
    session = sessions.start(f"review of {root}", agent.model.name, title=title, project=str(root))
    record = ReviewRecord(store.project, target.spec, target.label, session.id, prompt=build_system_prompt(rules))
    record = store.record(store.begin(record), target.earlier.findings).review
    # findings move with their code before anything is compared; a snapshot has the files of its own target only
    names = {*plan.files, *(d.old_path for d in target.diffs.values()), *(f.path for f in target.earlier.findings)}
    known = store.findings(paths=names if target.commit else ())
    await asyncio.to_thread(recheck_all, store, known, sources)
    return ReviewJob(agent, store, options, verifier, sessions, record, plan, rules, (*target.notes, *notes))


async def plan_review(agent: Agent, store: ReviewStore, spec: Sequence[str], options: ReviewOptions) -> Plan:
    """Return the plan, with its estimate, for the target that the words name. Raises SwecliError."""
    plan, sources = await asyncio.to_thread(_load_plan, agent, store, spec, options)
    sources.close()
    return plan


def _load_plan(agent: Agent, store: ReviewStore, spec: Sequence[str], options: ReviewOptions) -> tuple[Plan, Sources]:
    """Return the plan for a target and its files, which are a private snapshot if its commit is not checked out."""
    here, environ, profile = agent.ctx.root, agent.ctx.environ or {}, agent.model.profile
    target = resolve_target(here, spec, environ, options.include)
    sources = project_sources(here)
    if target.commit:
        snapshot = TemporaryDirectory(prefix="swecli-review-")
        sources = Sources(Path(snapshot.name).resolve(), snapshot)
    try:
        if target.commit:
            checkout_files(here, target.commit, sources.root, environ)
        max_tokens = agent.settings.review_part_tokens
        max_tokens = min(max_tokens, int(profile.window * _PART_SHARE)) if profile.window else max_tokens
        plan = build_plan(target, sources, agent.counter, max_tokens)
        loops = options.loops or agent.settings.review_loops
        estimate = estimate_review(plan, loops, profile.price, store.past_costs(), verify=options.verify)
    except BaseException:
        sources.close()
        raise
    return replace(plan, estimate=estimate), sources


def planned_event(plan: Plan, review: str = "", rules: Sequence[Rule] = ()) -> ReviewPlanned:
    lines = sum(len(hunk.lines) for hunk in plan.hunks)
    names = tuple(rule.name for rule in rules)
    return ReviewPlanned(review, len(plan.parts), len(plan.hunks), lines, plan.unit, plan.skips, plan.estimate, names)


def _make_verifier(agent: Agent, store: ReviewStore, sources: Sources) -> Verifier:
    """Return a verifier with the model of `review_verify_model`, by default the session's. Raises SwecliError."""
    settings, name = agent.settings, agent.settings.review_verify_model
    model = make_model(name, settings, agent.ctx.environ or {}) if name else agent.model
    return Verifier(model, store, sources, agent.counter, settings.max_tokens)


async def verify_review(job: ReviewJob, review: str, used: int) -> tuple[FindingsJudged, Verification]:
    """Verify what the review reported, and what is gone from its files, unless verification is off. It may use two
    thirds of the tokens that the reviewer's requests have `used`."""
    store, found = job.store, job.store.findings_of(review)
    if not job.options.verify:  # a reported finding is open again, whatever its state was
        store.update([move(f, "reported again") for f in found if f.anchor], "reported again", "reviewer")
        return FindingsJudged(0, 0, 0), Verification()
    before = {known.fingerprint for known in job.plan.target.earlier.findings}
    claims = [f for f in found if not (f.state == "open" and f.verdict and f.fingerprint in before)]
    gone, files = store.findings(["gone"], job.plan.files if job.plan.target.commit else ()), job.plan.files
    claims += [
        f for f in gone if f.verdict != "cannot_tell" or f.path in files
    ]  # undecided ones are not paid for again
    claims += [known for f in found if f.same_as and not (known := store.get(f.same_as)).verdict]
    tokens, sources = max(MIN_TOKENS, int(used * TOKEN_SHARE)), Sources(job.verifier.sources.root)  # not cached
    verifier = replace(job.verifier, tokens=tokens, sources=sources)
    return await verifier.check(job.sessions, claims, {f.id for f in found})


def prepare_check(agent: Agent, store: ReviewStore, refs: Sequence[str] = ()) -> tuple[Verifier, list[Finding], str]:
    """Return the verifier, the claims and the estimated price, as a line, of a check that the user asks for: of the
    named findings, by default of all that are gone or not verified. Raises BadInput for an unknown id."""
    recheck(store, agent.ctx.root)
    open_ones, verifier = store.findings(OPEN_STATES), _make_verifier(agent, store, project_sources(agent.ctx.root))
    listed = [store.get(ref) for ref in refs] or [f for f in open_ones if f.state == "gone" or f.is_unchecked]
    claims = select_claims(listed)
    requests, usage, cost = verifier.estimate(claims)
    price = "price unknown" if cost is None else f"about ${cost:.4f}"
    sizes = f"{pluralize(requests, 'request')}, about {usage.total:,} tokens"
    return verifier, claims, f"{pluralize(len(claims), 'finding')} to check: {sizes}, {price}"
