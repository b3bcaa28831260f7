"""What a review is made of, and how it comes from the agent of the session; the project's own rules for its reviewer,
which of a change that is compared with a commit are that commit's, so that no change can instruct its own reviewer."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from swecli.agent.agent import Agent
from swecli.context.project import front_matter
from swecli.llm.registry import make_model
from swecli.models.errors import BadInput
from swecli.models.finding import OPEN_STATES, SEVERITIES, Finding, ReviewRecord, pluralize, worst_first
from swecli.models.message import RequestRecord
from swecli.models.review_events import FindingsJudged, ReviewPlanned
from swecli.review.judge.grounding import move
from swecli.review.judge.ledger import recheck, recheck_all
from swecli.review.judge.sources import Sources, project_sources
from swecli.review.judge.verify import MIN_TOKENS, TOKEN_SHARE, Verification, Verifier, apply_judgement
from swecli.review.read.requests import Rule, system_prompt
from swecli.review.target.diffs import format_skips
from swecli.review.target.plan import Plan, build_plan, estimate_review
from swecli.review.target.targets import TARGET_HINT, resolve_target
from swecli.store.reviews import ReviewStore
from swecli.store.session_manager import SessionManager
from swecli.tools.git import checkout_files, run_git

_PART_SHARE = 0.3  # of the model's window, for one part
_FOLDER, _REVIEW, _AGENTS = ".agents/checks", ".agents/REVIEW.md", "AGENTS.md"
LONGEST_RULES = 12_000  # characters of all rules together
_MOST_CHECKS = 50


@dataclass(frozen=True, slots=True)
class ReviewOptions:
    """How a review is to be made. `loops` 0 is the setting's, until it begins; `include` brings skipped files back;
    `verify` False lets claims stand unchecked; `fail_on` is the severity from which on all must be verified."""

    loops: int = 0
    include: tuple[str, ...] = ()
    verify: bool = True
    fail_on: str = "high"
    trusted: bool = False


@dataclass(frozen=True, slots=True)
class ReviewJob:
    """What is to be reviewed, with what: the `record` as it was begun or left, `sessions` of its own, whose messages
    are no part of the chat, `first` the lines to emit before it begins."""

    agent: Agent
    store: ReviewStore
    options: ReviewOptions
    verifier: Verifier
    sessions: SessionManager
    record: ReviewRecord
    plan: Plan
    rules: Sequence[Rule] = ()
    first: Sequence[str] = ()


async def begin_job(agent: Agent, store: ReviewStore, spec: Sequence[str] | None, options: ReviewOptions) -> ReviewJob:
    """The job of the target that the words name; without words (None) the review that was not finished. git and GitHub
    are waited for in a thread, so that Ctrl-C is heard. Raises SwecliError."""
    before, root = store.unfinished(), project_sources(agent.ctx.root).root
    options = replace(options, loops=options.loops or agent.settings.review_loops)
    old = before if spec is None else None
    if spec is None and old is None:
        raise BadInput("There is no unfinished review.", "Start one: swecli review")
    if old is not None and old.loops >= options.loops:
        raise BadInput(f"{old.id} has had its {old.loops} loops.", "Allow more (--loops), or begin a new review.")
    plan, sources = await asyncio.to_thread(_read, agent, store, old.spec if old else spec or (), options)
    verifier, sessions = _verifier_of(agent, store, sources), SessionManager(agent.sessions.database)
    target, title = plan.target, f"Review of {plan.target.label}"
    if old is not None:
        try:
            sessions.resume(old.session_id, "")
        except BadInput:  # killed before its first message, or the session was deleted: the findings are there
            sessions.start(f"review of {root}", agent.model.name, title=title)
        plan = replace(plan, estimate=None)  # of the whole, not of what is left
        return ReviewJob(agent, store, options, verifier, sessions, old, plan, (), target.notes)
    # what is not committed is the user's own; a commit, a branch or a pull request is judged by its base's rules
    base = "" if not target.spec or target.spec[0] == "--staged" else target.base
    rules, notes = await asyncio.to_thread(load_rules, root, plan.files, base, agent.ctx.environ)
    if rules and not options.trusted:
        rules, notes = [], ["the project's rules are not used: this folder is not trusted (run /trust to use them)"]
    if before is not None and before.spec == target.spec:
        notes.append(
            f"{before.id} of the same target was not finished (loop {before.loops}): --continue goes on with it"
        )
    session = sessions.start(f"review of {root}", agent.model.name, title=title, project=str(root))
    record = ReviewRecord(store.project, target.spec, target.label, session.id, prompt=system_prompt(rules))
    noted = store.record(store.begin(record), target.earlier.findings)
    # rows stand where their code is now, before anything is compared; another commit's files hold only what is its own
    near = {*plan.files, *(d.old_path for d in target.diffs.values()), *(f.path for f in target.earlier.findings)}
    known = store.findings(paths=near if target.commit else ())
    await asyncio.to_thread(recheck_all, store, known, sources)
    first = (*target.notes, *notes)
    return ReviewJob(agent, store, options, verifier, sessions, noted.review, plan, rules, first)


async def plan_review(agent: Agent, store: ReviewStore, spec: Sequence[str], options: ReviewOptions) -> Plan:
    """What would be read of what these words name, and what that is expected to take. Raises SwecliError."""
    plan, sources = await asyncio.to_thread(_read, agent, store, spec, options)
    sources.close()
    return plan


def _read(agent: Agent, store: ReviewStore, spec: Sequence[str], options: ReviewOptions) -> tuple[Plan, Sources]:
    """The plan of a target, in parts that the session's model takes, and its files: those of a commit that is not
    checked out in a folder of their own. Raises BadInput when a rule leaves out all."""
    here, environ, profile = agent.ctx.root, agent.ctx.environ or {}, agent.model.profile
    target = resolve_target(here, spec, environ, options.include)
    sources = project_sources(here)
    if target.commit:
        snapshot = TemporaryDirectory(prefix="swecli-review-")
        sources = Sources(Path(snapshot.name).resolve(), snapshot)
    try:
        if target.commit:
            checkout_files(here, target.commit, sources.root, environ)
        most = agent.settings.review_part_tokens
        most = min(most, int(profile.window * _PART_SHARE)) if profile.window else most
        plan = build_plan(target, sources, agent.counter, most)
        if not plan.hunks:
            raise BadInput(f"There is nothing to review in {target.label}: {format_skips(plan.skips)}.", TARGET_HINT)
        loops = options.loops or agent.settings.review_loops
        estimate = estimate_review(plan, loops, profile.price, store.spent(), verify=options.verify)
    except BaseException:
        sources.close()
        raise
    return replace(plan, estimate=estimate), sources


def planned_event(plan: Plan, review: str = "", rules: Sequence[Rule] = ()) -> ReviewPlanned:
    """What a review will read, as an event."""
    lines = sum(len(hunk.lines) for hunk in plan.hunks)
    names = tuple(rule.name for rule in rules)
    return ReviewPlanned(review, len(plan.parts), len(plan.hunks), lines, plan.unit, plan.skips, plan.estimate, names)


def _verifier_of(agent: Agent, store: ReviewStore, sources: Sources) -> Verifier:
    """What checks: the model of its setting, else the session's. Raises SwecliError where there is no such model."""
    settings, name = agent.settings, agent.settings.review_verify_model
    model = make_model(name, settings, agent.ctx.environ or {}) if name else agent.model
    return Verifier(model, store, sources, agent.counter, settings.max_tokens)


async def verify_review(job: ReviewJob, review: str, used: int) -> tuple[FindingsJudged, Verification]:
    """Check what the review found and what of its files is gone, unless it is not wanted. It takes at most two thirds
    of the tokens that the reviewer's requests have `used`."""
    store, found = job.store, job.store.of_review(review)
    if not job.options.verify:  # what was reported again is open again, whatever it was called before
        store.update([move(f, "reported again") for f in found], "reported again", "reviewer")
        return FindingsJudged(0, 0, 0), Verification()
    before = {known.fingerprint for known in job.plan.target.earlier.findings}
    claims = [f for f in found if not (f.state == "open" and f.verdict and f.fingerprint in before)]
    claims += store.findings(["gone"], job.plan.files if job.plan.target.commit else ())
    claims += [known for f in found if f.same_as and not (known := store.get(f.same_as)).verdict]
    tokens, sources = max(MIN_TOKENS, int(used * TOKEN_SHARE)), Sources(job.verifier.sources.root)  # as they are now
    verifier = replace(job.verifier, tokens=tokens, sources=sources)
    return await check_findings(verifier, job.sessions, claims, {f.id for f in found}, job.plan.files)


def prepare_check(agent: Agent, store: ReviewStore, refs: Sequence[str] = ()) -> tuple[Verifier, list[Finding], str]:
    """What a check that somebody asks for is made with, its findings, and its price in words, named before it is paid.
    The findings are those named, else all that are gone or were not verified. Raises BadInput for an unknown id."""
    recheck(store, agent.ctx.root)
    open_ones, verifier = store.findings(OPEN_STATES), _verifier_of(agent, store, project_sources(agent.ctx.root))
    listed = [store.get(ref) for ref in refs] or [f for f in open_ones if f.state == "gone" or f.is_unchecked]
    claims = _claims(listed)
    requests, usage, cost = verifier.price(claims)
    price = "price unknown" if cost is None else f"about ${cost:.4f}"
    sizes = f"{pluralize(requests, 'request')}, about {usage.total:,} tokens"
    return verifier, claims, f"{pluralize(len(claims), 'finding')} to check: {sizes}, {price}"


def _claims(findings: Iterable[Finding], reported: Collection[str] = (), files: Collection[str] = ()) -> list[Finding]:
    """What can be checked, of fixed ones those that were reported again: what is gone of these files (none named: of
    any), the others, the worst first, what else is gone."""
    known = {f.id: f for f in findings if (f.anchor or f.block) and f.state not in ("dismissed", "refuted")}

    def order(f: Finding) -> tuple[int, int]:
        return (1 if f.state != "gone" else 0 if not files or f.path in files else 2), worst_first(f)[1]

    return sorted((f for f in known.values() if f.state != "fixed" or f.id in reported), key=order)


async def check_findings(
    verifier: Verifier,
    sessions: SessionManager,
    findings: Iterable[Finding],
    reported: Collection[str] = (),
    files: Collection[str] = (),
) -> tuple[FindingsJudged, Verification]:
    """Judge findings and commit the verdicts; `reported` are the ids of those that a review of `files` reported."""
    claims, name = _claims(findings, reported, files), verifier.model.name
    taken = await verifier.verify(claims)
    after = [apply_judgement(f, taken.judged[f.id], again=f.id in reported) for f in claims if f.id in taken.judged]
    verifier.store.update(after, "check", name)
    for ref, known in taken.same.items():
        verifier.store.merge(ref, known)
    session = sessions.current_session
    if session is not None and session.interactions and taken.requests:
        took = (taken.requests, taken.usage, taken.cost, 0)
        sessions.record_request(RequestRecord(name, "verify", session.interactions, *took))
    count = {word: sum(f.verdict == word for f in after) for word in ("confirmed", "refuted", "cannot_tell")}
    return FindingsJudged(count["confirmed"], count["refuted"], count["cannot_tell"], tuple(after)), taken


# The project's own rules


def load_rules(
    root: Path, paths: Iterable[str], base: str = "", environ: Mapping[str, str] | None = None
) -> tuple[list[Rule], list[str]]:
    """The rules for these files as of the commit `base` ("": as they are now), and a line for each that is cut or
    cannot be used."""
    if base and _text(root, "", base, environ) is None:
        return [], [
            f"{base[:12]} is not in this clone: its rules are not used (fetch it: git fetch --depth=1 origin {base})"
        ]
    folders = {parent for path in paths for parent in PurePosixPath(path).parents}
    agents = [
        (folder / _AGENTS).as_posix() for folder in sorted(folders, key=lambda folder: (len(folder.parts), folder))
    ]
    found, notes, room = list[Rule](), list[str](), LONGEST_RULES
    for where in [_REVIEW, *agents, *_checks(root, base, environ)]:
        text = _text(root, where, base, environ)
        if text is None:
            continue
        rule = parse_rule(PurePosixPath(where).stem if where.startswith(_FOLDER) else where, text)
        if "\0" in text or "\ufffd" in text or not rule.text:
            notes.append(f"{where} {'says nothing' if not rule.text else 'cannot be read as text'} and is not used")
            continue
        if len(rule.text) > room:
            notes.append(f"{where} is cut at {room:,} characters: all rules have {LONGEST_RULES:,}")
        if room > 0:
            found.append(replace(rule, text=rule.text[:room]))
        room = max(0, room - len(rule.text))
    return found, notes


def _checks(root: Path, base: str, environ: Mapping[str, str] | None) -> list[str]:
    if base:
        # git lists a tree as a head, an empty line and the names
        listed = (_text(root, _FOLDER, base, environ) or "").partition("\n\n")[2].split("\n")
    else:
        listed = [path.name for path in (root / _FOLDER).glob("*.md")]
    return [f"{_FOLDER}/{name}" for name in sorted(listed) if name.endswith(".md")][:_MOST_CHECKS]


def _text(root: Path, where: str, base: str, environ: Mapping[str, str] | None) -> str | None:
    """A rule's file, of a commit also a folder's list; None where there is none, or only a link."""
    path = root / where
    with suppress(BadInput, OSError):
        if base:
            return run_git(root, "show", f"{base}:{where}", environ=environ)
        return None if path.is_symlink() or not path.is_file() else path.read_text("utf-8-sig", errors="replace")
    return None


def parse_rule(stem: str, text: str) -> Rule:
    """A rule out of its file: front matter with `name`, `description` and `severity-default`, then the rule."""
    given, body = front_matter(text.replace("\r\n", "\n"))
    severity = (given.get("severity-default") or given.get("severity") or "").lower()
    kept = "\n".join(filter(None, [given.get("description", ""), body.strip()]))
    return Rule(given.get("name") or stem, kept, severity if severity in SEVERITIES else "medium")
