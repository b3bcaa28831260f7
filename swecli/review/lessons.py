"""From findings to strategies: a smell that was fixed three times here is worth a line in the playbook."""

from __future__ import annotations

from swecli.models.finding import SMELLS, Finding
from swecli.models.playbook import AppliedDelta, Delta, Evidence, Op
from swecli.models.session import Session
from swecli.redact import redact
from swecli.store.reviews import ReviewStore
from swecli.store.session_manager import SessionManager

TIMES = 3
QUOTED = 5  # findings named as evidence


def lessons(sessions: SessionManager, store: ReviewStore, session: Session | None) -> list[AppliedDelta]:
    """Propose a strategy for each smell fixed three times in this project, once; what was newly proposed.

    It comes with those findings as evidence, and like all that was read in a repository it waits for the user's word
    before any prompt holds it. Nothing without a session.
    """
    if session is None:
        return []
    proposed = []
    for smell, findings in store.fixed_often(TIMES).items():
        name = f"review:{store.project}:{smell}"
        if smell in SMELLS and not sessions.playbook.made(name):  # one that was taken back is not proposed again
            proposed.append(sessions.playbook.apply(lesson(name, smell, findings, session.id), session))
    return proposed


def lesson(name: str, smell: str, findings: list[Finding], session_id: str) -> Delta:
    """The delta that teaches it; its id makes it apply once."""
    evidence = tuple(
        Evidence("finding", redact(f"{f.id} {f.place}: {f.message}")[:300], session_id, trust="repository")
        for f in findings[:QUOTED]
    )
    words = smell.replace("_", " ").lower()
    fields = {
        "content": f"Watch for {words} ({SMELLS[smell]}): it had to be fixed {TIMES} times or more in this project.",
        "kind": "pitfall",
        "scope": "project",
        "section": "review",
        "trust": "repository",
        "state": "quarantined",
    }
    reason = f"{words} was fixed {TIMES} times: {', '.join(f.id for f in findings[:QUOTED])}"
    return Delta(name, (Op("ADD", fields=fields, evidence=evidence),), "rules", session_id, None, reason)


def lesson_note(applied: AppliedDelta, command: str) -> str:
    """What was proposed, and how the user says yes or no; `command` is how the face calls its playbook."""
    bullet = " ".join(applied.added)
    return f"{bullet} is proposed, since {applied.delta.reason}. It needs your approval: {command} review"
