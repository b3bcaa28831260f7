"""The last step of a review: its findings, and the ledger's gone ones of its files, are checked by fresh requests."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from swecli.agent.agent import Agent
from swecli.agent.turn import TurnState
from swecli.models.events import Event, Notice
from swecli.models.finding import OPEN_STATES, Finding, counted
from swecli.models.message import INTERRUPTED_RESULT, RequestRecord
from swecli.models.review_events import FindingsJudged
from swecli.review.judge.ledger import recheck
from swecli.review.judge.sources import Sources
from swecli.review.judge.states import Cause, move
from swecli.review.judge.verify import LEAST_TOKENS, SHARE, Verification, Verifier, judged
from swecli.review.read.job import Collaborators, ReviewJob, ReviewOptions, collaborators
from swecli.store.records import Spent
from swecli.store.reviews import ReviewStore
from swecli.store.session_manager import SessionManager

ENOUGH = 10_000_000  # tokens: who asks for a check by hand has seen its price


async def run_checks(job: ReviewJob, parts: Collaborators, review: str, state: TurnState) -> list[Event]:
    """Check what the review found and what of its files is gone, unless it is not wanted; the events to emit.

    It takes at most two thirds of the tokens that the reviewer's requests took; what it took is added to `state`.
    """
    if not job.options.verify:
        _let_stand(parts, review)
        return []
    found = parts.store.of_review(review)
    before = {known.fingerprint for known in job.target.earlier.findings}
    claims = [f for f in found if not (f.state == "open" and f.verdict and f.fingerprint in before)]
    claims += parts.store.findings(["gone"], job.plan.files)
    event, taken = await check(parts, claims, max(LEAST_TOKENS, int(state.usage.total * SHARE)), {f.id for f in found})
    state.spend(taken.usage, taken.cost)
    return [*(Notice(line, "warning") for line in taken.problems), *([event] if event.findings else [])]


def by_hand(agent: Agent, store: ReviewStore, refs: Sequence[str] = ()) -> tuple[Collaborators, list[Finding], str]:
    """What a check that somebody asks for is made with, its findings, and its price in words, named before it is paid.

    The findings are those named, else all that are gone or were not verified. Raises BadInput for an unknown id.
    """
    recheck(store, agent.ctx.root)
    open_ones, parts = store.findings(OPEN_STATES), collaborators(agent, agent.sessions, store)
    listed = [store.get(ref) for ref in refs] or [f for f in open_ones if f.state == "gone" or not f.verdict]
    claims = _claims(listed)
    requests, usage, cost = _verifier(parts, ENOUGH).price(claims)
    price = "price unknown" if cost is None else f"about ${cost:.4f}"
    sizes = f"{counted(requests, 'request')}, about {usage.total:,} tokens"
    return parts, claims, f"{counted(len(claims), 'finding')} to check: {sizes}, {price}"


def _claims(findings: Iterable[Finding]) -> list[Finding]:
    known = {f.id: f for f in findings if f.anchor or f.block}
    return [finding for finding in known.values() if finding.state not in ("dismissed", "refuted", "fixed")]


def _verifier(parts: Collaborators, tokens: int) -> Verifier:
    """What checks; it takes at most so many tokens."""
    model = parts.verify_model or parts.model
    return Verifier(model, parts.store, Sources(parts.ctx.root), parts.counter, tokens, parts.max_tokens, parts.sleep)


async def check(
    parts: Collaborators, findings: Iterable[Finding], tokens: int = ENOUGH, reported: Collection[str] = ()
) -> tuple[FindingsJudged, Verification]:
    """Judge findings and commit the verdicts; `reported` are the ids of those that were just reported."""
    asked, claims = _verifier(parts, tokens), _claims(findings)
    taken = await asked.verify(claims)
    again = {f.id for f in claims if f.id in reported and f.state in ("fixed", "gone")}
    after = [judged(f, taken.judged[f.id], again=f.id in again) for f in claims if f.id in taken.judged]
    parts.store.put(after, "check", asked.model.name)
    _record(parts, taken, asked.model.name)
    count = {word: sum(f.verdict == word for f in after) for word in ("confirmed", "refuted", "cannot_tell")}
    return FindingsJudged(count["confirmed"], count["refuted"], count["cannot_tell"], tuple(after)), taken


def unverified(found: Sequence[Finding], options: ReviewOptions) -> int:
    """How many findings a complete review would have had checked."""
    left = [f for f in found if f.is_open and not f.verdict and f.at_least(options.fail_on)]
    return len(left) if options.verify else 0


def _let_stand(parts: Collaborators, review: str) -> None:
    """Without checks: what was reported again is open again, whatever it was called before."""
    again = [f for f in parts.store.of_review(review) if f.state in ("fixed", "gone")]
    moved = [move(finding, Cause("reported again", "reviewer")) for finding in again]
    parts.store.put(moved, "reported again", "reviewer")


def withdraw(parts: Collaborators, refs: list[str]) -> None:
    """Take back findings that the reviewer calls wrong; confirmed ones stay, and are checked again."""
    known = {finding.id: finding for finding in parts.store.findings()} if refs else {}
    named = [known[ref] for ref in refs if ref in known]
    moved = [move(finding, Cause("withdrawn", "reviewer", "the reviewer took it back")) for finding in named]
    parts.store.put(moved, "withdrawn", "reviewer")


def _record(parts: Collaborators, taken: Verification, name: str) -> None:
    session = parts.sessions.current_session
    if session is None or not session.interactions or not taken.requests:
        return
    parts.sessions.record_request(
        RequestRecord(name, "verify", session.interactions, taken.requests, taken.usage, taken.cost, 0)
    )


def end_transcript(sessions: SessionManager, state: TurnState) -> None:
    """Give each open call an answer, and end the review's one interaction, of which nothing is learned."""
    session = sessions.current_session
    assert session is not None, "a transcript was begun"
    for call in state.open_calls:
        if call.result is None:
            call.result, call.error = INTERRUPTED_RESULT, "interrupted"
            sessions.record_call(call)
    sessions.finish_interaction("done")
    sessions.playbook.record_reflection(
        session.id, session.interactions, status="skipped", author="", spent=Spent(), detail="a review"
    )
