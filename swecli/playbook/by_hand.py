"""Changes of the playbook that the user writes: the user's own words are their evidence."""

from __future__ import annotations

from swecli.models.errors import BadInput
from swecli.models.ids import uuid7
from swecli.models.playbook import MAX_WORDS, Bullet, Delta, Evidence, Op, OpName, Scope
from swecli.models.session import Session
from swecli.playbook.redact import redact

KEPT = "kept in review"  # begins the reason of such a change


def content_of(text: str) -> str:
    """A strategy's words, on one line and without secrets. Raises BadInput when it is empty or too long."""
    content = redact(" ".join(text.split()))
    count = len(content.split())
    if not count:
        raise BadInput("The strategy has no words.", "Say what it should do.")
    if count > MAX_WORDS:
        raise BadInput(f"A strategy has at most {MAX_WORDS} words, this has {count}.", "Say it shorter.")
    return content


def adding(session: Session, text: str) -> Delta:
    """Teach a strategy for the session's project (for the session alone where there is none)."""
    content = content_of(text)
    scope = "project" if session.project else "session"
    fields = {"content": content, "kind": "preference", "scope": scope, "trust": "user"}
    return _delta(session, Op("ADD", fields=fields, evidence=(_said(session, content),)), "taught by the user")


def editing(session: Session, bullet: Bullet, text: str) -> Delta:
    """Put a strategy differently."""
    content = content_of(text)
    op = Op("UPDATE", bullet.id, fields={"content": content, "trust": "user"}, evidence=(_said(session, content),))
    return _delta(session, op, "edited by the user")


def removing(session: Session, bullet: Bullet) -> Delta:
    """Take a strategy out."""
    op = Op("REMOVE", bullet.id, evidence=(_said(session, f"remove {bullet.id}"),))
    return _delta(session, op, "removed by the user")


def setting(session: Session, bullet: Bullet, doing: OpName, words: str) -> Delta:
    """Pin a strategy, bring it back among the active ones, or set it aside until it is reviewed."""
    return _delta(session, Op(doing, bullet.id, evidence=(_said(session, words),)), words)


def disabling(session: Session, bullet: Bullet) -> Delta:
    """Keep a strategy, but out of every prompt."""
    words = f"disable {bullet.id}"
    return _delta(
        session, Op("UPDATE", bullet.id, fields={"state": "disabled"}, evidence=(_said(session, words),)), words
    )


def promoting(session: Session, bullet: Bullet, scope: Scope) -> Delta:
    """Let a strategy apply more widely, or more narrowly: here, and to whom the scope says.

    Raises BadInput where it applies so already, or there is no session that it could belong to.
    """
    if bullet.scope == scope:
        raise BadInput(f"{bullet.id} applies to the {scope} already.")
    if scope == "session" and not session.id:
        raise BadInput("There is no session here that a strategy could belong to.")
    words = f"{bullet.id} is for the {scope} now, and was for the {bullet.scope}"
    return _delta(session, Op("UPDATE", bullet.id, fields={"scope": scope}, evidence=(_said(session, words),)), words)


def _said(session: Session, words: str) -> Evidence:
    return Evidence("user", words, session.id, session.interactions or None, trust="user")


def _delta(session: Session, op: Op, reason: str) -> Delta:
    return Delta(uuid7(), (op,), "user", session.id, session.interactions or None, reason)
