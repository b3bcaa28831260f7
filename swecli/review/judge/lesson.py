"""Proposes a strategy for a dismissal, so that the next review knows its reason."""

from __future__ import annotations

from swecli.models.finding import Finding
from swecli.models.playbook import MAX_CHARACTERS, MAX_WORDS, Delta, Evidence, Op
from swecli.models.session import Session
from swecli.redact import redact
from swecli.store.reviews import ReviewStore
from swecli.store.session_manager import SessionManager

_MAX_SMELL, _MAX_QUOTE = 80, 300  # characters


def propose_lesson(
    sessions: SessionManager, store: ReviewStore, finding: Finding, command: str
) -> str:
    """Propose the reason of a dismissal as a strategy and return a line with how to approve it, `command` being the
    interface's playbook. A known strategy gets one more piece of evidence instead. Returns "" if nothing is new."""
    session = sessions.current_session
    if session is None or finding.state != "dismissed":
        return ""
    name = f"review:{store.project}:dismissed:{finding.id}"
    if sessions.playbook.was_applied(name):  # a proposal that was taken back is not repeated
        return ""
    reason = f"{finding.id} was dismissed"
    delta = Delta(name, (_build_op(finding, session),), "rules", reason=reason)
    added = sessions.playbook.apply(delta, session).added
    notice = f"is proposed, since {reason}. It needs your approval: {command} review"
    return "\n".join(f"{bullet} {notice}" for bullet in added)


def _build_op(finding: Finding, session: Session) -> Op:
    """Add the strategy as a proposal, or more evidence for the one that says the same."""
    words = redact(finding.reason).split()[: MAX_WORDS // 2]
    reason = " ".join(words)[: MAX_CHARACTERS // 2]
    smell = finding.code_smell_type.replace("_", " ").lower()[:_MAX_SMELL]
    content = f"{smell} is not a problem here because {reason}"
    quote = redact(f"{finding.id} {finding.place}: {finding.message}")[:_MAX_QUOTE]
    evidence = (
        Evidence("finding", quote, trust="repository"),
        Evidence("user", reason, trust="user"),
    )
    for bullet in session.playbook.bullets.values():
        if bullet.content == content:
            return Op("UPDATE", bullet.id, {"section": "review"}, evidence)
    fields = {
        "content": content,
        "kind": "pitfall",
        "scope": "project",
        "section": "review",
        "trust": "repository",
        "state": "quarantined",
    }
    return Op("ADD", fields=fields, evidence=evidence)
