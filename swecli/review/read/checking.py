"""The last step of a review: its findings, and the ledger's gone ones of its files, are checked by fresh requests."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from swecli.agent.agent import Agent
from swecli.models.events import Event, Notice
from swecli.models.finding import OPEN_STATES, Finding, counted
from swecli.models.message import RequestRecord
from swecli.models.review_events import FindingsJudged
from swecli.review.judge.grounding import move
from swecli.review.judge.ledger import recheck
from swecli.review.judge.verify import LEAST_TOKENS, SHARE, Verification, Verifier, judged
from swecli.review.read.job import ReviewJob, verifier_of
from swecli.store.reviews import ReviewStore
from swecli.store.session_manager import SessionManager


async def run_checks(job: ReviewJob, review: str, used: int) -> tuple[list[Event], Verification]:
    """Check what the review found and what of its files is gone, unless it is not wanted; the events to emit.

    It takes at most two thirds of the tokens that the reviewer's requests have `used`.
    """
    store, found = job.store, job.store.of_review(review)
    if not job.options.verify:  # what was reported again is open again, whatever it was called before
        again = [move(finding, "reported again") for finding in found if finding.state in ("fixed", "gone")]
        store.put(again, "reported again", "reviewer")
        return [], Verification()
    before = {known.fingerprint for known in job.plan.target.earlier.findings}
    claims = [f for f in found if not (f.state == "open" and f.verdict and f.fingerprint in before)]
    claims += store.findings(["gone"], job.plan.files)
    verifier = job.verifier.within(max(LEAST_TOKENS, int(used * SHARE)))
    event, taken = await check(verifier, job.sessions, claims, {f.id for f in found})
    return [*(Notice(line, "warning") for line in taken.problems), *([event] if event.findings else [])], taken


def by_hand(agent: Agent, store: ReviewStore, refs: Sequence[str] = ()) -> tuple[Verifier, list[Finding], str]:
    """What a check that somebody asks for is made with, its findings, and its price in words, named before it is paid.

    The findings are those named, else all that are gone or were not verified. Raises BadInput for an unknown id.
    """
    recheck(store, agent.ctx.root)
    open_ones, verifier = store.findings(OPEN_STATES), verifier_of(agent, store)
    listed = [store.get(ref) for ref in refs] or [f for f in open_ones if f.state == "gone" or not f.verdict]
    claims = _claims(listed)
    requests, usage, cost = verifier.price(claims)
    price = "price unknown" if cost is None else f"about ${cost:.4f}"
    sizes = f"{counted(requests, 'request')}, about {usage.total:,} tokens"
    return verifier, claims, f"{counted(len(claims), 'finding')} to check: {sizes}, {price}"


def _claims(findings: Iterable[Finding]) -> list[Finding]:
    known = {f.id: f for f in findings if f.anchor or f.block}
    return [finding for finding in known.values() if finding.state not in ("dismissed", "refuted", "fixed")]


async def check(
    verifier: Verifier, sessions: SessionManager, findings: Iterable[Finding], reported: Collection[str] = ()
) -> tuple[FindingsJudged, Verification]:
    """Judge findings and commit the verdicts; `reported` are the ids of those that were just reported."""
    claims, name = _claims(findings), verifier.model.name
    taken = await verifier.verify(claims)
    again = {f.id for f in claims if f.id in reported and f.state in ("fixed", "gone")}
    after = [judged(f, taken.judged[f.id], again=f.id in again) for f in claims if f.id in taken.judged]
    verifier.store.put(after, "check", name)
    session = sessions.current_session
    if session is not None and session.interactions and taken.requests:
        row = RequestRecord(name, "verify", session.interactions, taken.requests, taken.usage, taken.cost, 0)
        sessions.record_request(row)
    count = {word: sum(f.verdict == word for f in after) for word in ("confirmed", "refuted", "cannot_tell")}
    return FindingsJudged(count["confirmed"], count["refuted"], count["cannot_tell"], tuple(after)), taken


def withdraw(store: ReviewStore, refs: Sequence[str]) -> None:
    """Take back findings that the reviewer calls wrong; confirmed ones stay, and are checked again."""
    named = [finding for finding in store.findings() if finding.id in refs] if refs else []
    moved = [move(finding, "withdrawn", "the reviewer took it back") for finding in named]
    store.put(moved, "withdrawn", "reviewer")
