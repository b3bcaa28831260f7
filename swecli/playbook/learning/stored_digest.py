"""Stored turns as the reflectors see them, and what is kept of each turn as it is seen."""

from __future__ import annotations

from dataclasses import replace

from swecli.models.errors import BadInput
from swecli.models.playbook import Delta
from swecli.models.session import Session
from swecli.playbook.counted import tags_of, taken_of
from swecli.playbook.digest import Mark, TurnDigest, digest_turn
from swecli.playbook.outcome import topic, verdict_on_previous, verdict_on_turn
from swecli.playbook.provenance import told_earlier
from swecli.redact import redact
from swecli.store.session_manager import SessionManager

TOLD_BACK = 20  # turns in which it is looked up what told the assistant to run a command


def digest_of(
    sessions: SessionManager, session: Session, number: int, mark: Mark | None = None, why: str = ""
) -> TurnDigest:
    """A turn with what is known of the one before it, and of what the deltas that stand counted and took from both.

    Raises:
        BadInput: there is no such turn.
    """
    rows = sessions.playbook.made_of(session, number - 1, number + 1)
    deltas = [row.delta for row in rows if not row.undone]
    before = _alone(sessions, session, number - 1, deltas).as_previous() if number > 1 else None
    digest = replace(_alone(sessions, session, number, deltas), previous=before, mark=mark, why=redact(why))
    if not any(call.command for call in digest.calls):
        return digest
    first = max(1, number - TOLD_BACK)
    sessions.load_back_to(first)
    earlier = [message for message in session.messages if first <= message.interaction < number - 1]
    return replace(digest, told=told_earlier(digest, earlier))


def counted_anew(digest: TurnDigest, sessions: SessionManager, session: Session) -> TurnDigest:
    """The digest with what was counted and taken while a model thought about it."""
    number = digest.interaction
    rows = sessions.playbook.made_of(session, number - 1, number + 1)
    deltas = [row.delta for row in rows if not row.undone]
    tagged, taken = tags_of(deltas, session.id, number), taken_of(deltas, session.id, number)
    return replace(digest, tagged=tagged, taken=taken)


def note_turn(sessions: SessionManager, session: Session, digest: TurnDigest) -> None:
    """Keep how the turn went, what it was about, and what it named; noted twice it is the same."""
    turns, number = sessions.playbook.turns, digest.interaction
    known = {"topic": topic(digest, session.playbook), "contradicted": digest.contradicted}
    turns.note(session.id, number, unknown=digest.unknown, **known)
    info = sessions.interaction_info(number)
    if digest.mark is None and not (info and info.mark):  # what the user said of it stands
        verdict = verdict_on_turn(digest)
        turns.judge(session.id, number, verdict.good, verdict.weight, verdict.signal)
    if digest.previous is not None and digest.mark is None:
        verdict = verdict_on_previous(digest)
        turns.judge(session.id, number - 1, verdict.good, verdict.weight, verdict.signal)


def _alone(sessions: SessionManager, session: Session, number: int, deltas: list[Delta]) -> TurnDigest:
    sessions.load_back_to(number)
    info = sessions.interaction_info(number)
    if info is None:
        raise BadInput(f"There is no turn T{number} in this session.")
    return digest_turn(
        [message for message in session.messages if message.interaction == number],
        info.shown,
        session_id=session.id,
        outcome=info.status,
        tagged=tags_of(deltas, session.id, number),
        taken=taken_of(deltas, session.id, number),
    )
