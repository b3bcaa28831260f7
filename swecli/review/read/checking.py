"""The last step of a review: its findings, and the ledger's gone ones of its files, are checked by fresh requests."""

from __future__ import annotations

from collections.abc import Sequence

from swecli.agent.turn import TurnState
from swecli.models.events import Event, Notice
from swecli.models.finding import Finding, Judgement
from swecli.models.message import INTERRUPTED_RESULT, RequestRecord, Usage
from swecli.models.review_events import FindingsJudged
from swecli.review.judge.sources import Sources
from swecli.review.judge.states import Cause, move
from swecli.review.judge.verify import LEAST_TOKENS, SHARE, Verification, Verifier, judged
from swecli.review.read.job import Collaborators, ReviewJob, ReviewOptions
from swecli.store.session_manager import SessionManager


async def run_checks(job: ReviewJob, parts: Collaborators, review: str, state: TurnState) -> list[Event]:
    """Check what the review found, unless it is not wanted; the events to emit. What it took is added to `state`."""
    if not job.options.verify:
        _let_stand(parts, review)
        return []
    checked = await _check(job, parts, review, state.usage.total)
    if checked is None:
        return []
    event, taken = checked
    state.spend(taken.usage, taken.cost)
    return [*(Notice(line, "warning") for line in taken.problems), event]


def unverified(found: Sequence[Finding], options: ReviewOptions) -> int:
    """How many findings a complete review would have had checked."""
    left = [f for f in found if f.is_open and not f.verdict and f.at_least(options.fail_on)]
    return len(left) if options.verify else 0


async def _check(
    job: ReviewJob, parts: Collaborators, review: str, spent: int
) -> tuple[FindingsJudged, Verification] | None:
    """Judge what the review found and commit the verdicts; None where nothing is to be checked.

    Args:
        spent: tokens that the reviewer's requests took; checking takes at most two thirds of that.
    """
    found = {finding.id: finding for finding in parts.store.of_review(review)}
    gone = parts.store.findings(["gone"], job.plan.files)
    claims = [f for f in (*found.values(), *gone) if f.state not in ("dismissed", "refuted") and f.anchor]
    claims = list({finding.id: finding for finding in claims}.values())
    if not claims:
        return None
    tokens = max(LEAST_TOKENS, int(spent * SHARE))
    model = parts.verify_model or parts.model
    verifier = Verifier(
        model, parts.store, Sources(parts.ctx.root), parts.counter, tokens, parts.max_tokens, parts.sleep
    )
    taken = await verifier.verify(claims)
    after = [_with_verdict(f, taken.judged[f.id], f.id in found) for f in claims if f.id in taken.judged]
    parts.store.put(after, "check", model.name)
    _record(parts, taken, model.name)
    count = {word: sum(f.verdict == word for f in after) for word in ("confirmed", "refuted", "cannot_tell")}
    return FindingsJudged(count["confirmed"], count["refuted"], count["cannot_tell"], tuple(after)), taken


def _with_verdict(finding: Finding, judgement: Judgement, reported: bool) -> Finding:
    return judged(finding, judgement, again=reported and finding.state in ("fixed", "gone"))


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
        session.id, session.interactions, status="skipped", author="", usage=Usage(), cost=0.0, detail="a review"
    )
