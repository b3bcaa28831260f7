"""Changes of the playbook that the user writes: the user's own words are their evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from swecli.models.errors import BadInput
from swecli.models.ids import uuid7
from swecli.models.playbook import MAX_WORDS, Bullet, Delta, Evidence, Op, OpName, Scope
from swecli.models.session import Session
from swecli.playbook.anchors import anchors_of
from swecli.playbook.gate import DOUBT, LONGEST, Relation, nearest
from swecli.playbook.learning.proposals import AddProposal
from swecli.playbook.learning.superseding import overtaken
from swecli.redact import redact


def content_of(text: str) -> str:
    """A strategy's words, on one line and without secrets. Raises BadInput when there are none, or too many."""
    content = redact(" ".join(text.split()))
    count = len(content.split())
    if not count:
        raise BadInput("The strategy has no words.", "Say what it should do.")
    if count > MAX_WORDS:
        raise BadInput(f"A strategy has at most {MAX_WORDS} words, this has {count}.", "Say it shorter.")
    if len(content) > LONGEST:
        raise BadInput(f"A strategy has at most {LONGEST} characters, this has {len(content):,}.", "Say it shorter.")
    return content


def adding(session: Session, text: str) -> Delta:
    """Teach a strategy for the session's project (for the session alone where there is none).

    What one says already is evidence for that one, what says more takes its place, and one that says the opposite is
    set aside: the user's newest words win, as when they are said in a conversation. But what they pinned stays until
    they have chosen between the two.
    """
    content = content_of(text)
    said, (old, relation) = _said(session, content), _known(session, content)
    scope = "project" if session.project else "session"
    fields = {"content": content, "kind": "preference", "scope": scope, "trust": "user", "anchors": anchors(content)}
    if old is None or relation == "variant":
        aside = _overtaken(session, content, said)
        return _delta(session, Op("ADD", fields=fields, evidence=(said,)), "taught by the user", *aside)
    if relation == "opposite":
        pinned = ", which you pinned" if old.state == "pinned" else ""
        doubt = replace(said, source=DOUBT, quote=f"it contradicts {old.id}{pinned}")
        fields |= {"state": "quarantined"} if pinned else {}
        aside = [Op("QUARANTINE", old.id, evidence=(said,))] if old.state == "active" else []
        return _delta(session, Op("ADD", fields=fields, evidence=(said, doubt)), "taught by the user", *aside)
    more: dict[str, Any] = {"trust": "user"} | ({} if old.live else {"state": "active"})
    if relation == "narrower":
        more |= {"content": content, "anchors": anchors(content)}
    aside = [] if old.live else _overtaken(session, content, said, but=old.id)
    return _delta(session, Op("UPDATE", old.id, fields=more, evidence=(said,)), "taught by the user", *aside)


def _overtaken(session: Session, content: str, said: Evidence, but: str = "") -> list[Op]:
    """Setting aside what the user's words take the place of."""
    scope: Scope = "project" if session.project else "session"
    add = AddProposal(content, "", "preference", scope, "user", (said,))
    found = overtaken(add, session.playbook.bullets.values(), but)
    return [Op("QUARANTINE", old.id, evidence=(said,)) for old in found]


def _known(session: Session, content: str) -> tuple[Bullet, Relation] | tuple[None, None]:
    """The strategy that speaks of the same, and how they stand to each other."""
    bullets = session.playbook.bullets.values()
    same = next((b for b in bullets if b.state != "deleted" and b.content.lower() == content.lower()), None)
    return (same, "same") if same else nearest(content, bullets) or (None, None)


def editing(session: Session, bullet: Bullet, text: str) -> Delta:
    """Put a strategy differently."""
    content = content_of(text)
    fields = {"content": content, "trust": "user", "anchors": anchors(content)}
    said = _said(session, content)
    op = Op("UPDATE", bullet.id, fields=fields, evidence=(said,))
    return _delta(session, op, "edited by the user", *_overtaken(session, content, said, but=bullet.id))


def anchors(content: str) -> list[str]:
    """What a strategy's words name, as a field of an operation: other words name other things."""
    return list(anchors_of(content))


def removing(session: Session, bullet: Bullet) -> Delta:
    """Take a strategy out."""
    op = Op("REMOVE", bullet.id, evidence=(_said(session, f"remove {bullet.id}"),))
    return _delta(session, op, "removed by the user")


def setting(session: Session, bullet: Bullet, doing: OpName, words: str) -> Delta:
    """Pin a strategy, bring it back among the active ones, or set it aside until it is reviewed.

    What waited because a pinned one speaks against it takes that one's place when it is brought back.
    """
    aside = _overruled(session, bullet) if doing == "RESTORE" and bullet.state == "quarantined" else []
    return _delta(session, Op(doing, bullet.id, evidence=(_said(session, words),)), words, *aside)


def _overruled(session: Session, bullet: Bullet) -> list[Op]:
    """Setting aside the strategies that would keep this one, the user's own, out of prompts."""
    if bullet.trust != "user":
        return []
    pinned = [other for other in session.playbook.bullets.values() if other.state == "pinned"]
    against = [other for other in pinned if nearest(bullet.content, [other]) and other.id != bullet.id]
    said = _said(session, f"you chose {bullet.id} instead")
    aside = [Op("QUARANTINE", other.id, evidence=(said,)) for other in against]
    return aside + _overtaken(session, bullet.content, said, but=bullet.id)


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


def _delta(session: Session, op: Op, reason: str, *more: Op) -> Delta:
    return Delta(uuid7(), (op, *more), "user", session.id, session.interactions or None, reason)
