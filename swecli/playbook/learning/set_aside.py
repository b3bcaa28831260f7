"""Bullets that seem to harm are put into quarantine until the user has looked at them."""

from __future__ import annotations

from swecli.models.playbook import AppliedDelta, Delta, Evidence, Op
from swecli.models.session import Session
from swecli.playbook.scoring.score import LEAST_TURNS, LEAST_VERDICTS, probably_harms
from swecli.store.records import TurnLessons
from swecli.store.session_manager import SessionManager

_MOST = 3  # at once
SCORE = "score"  # the reason of such a change


def quarantine_harmful(sessions: SessionManager, session: Session, lessons: TurnLessons) -> AppliedDelta | None:
    """Quarantine those of the bullets just judged that are held to be harmful on enough evidence; None when none is.

    What the user pinned or wrote is left alone, and what the user took back out of quarantine so.
    """
    store, names = sessions.playbook, dict.fromkeys(verdict.bullet_id for verdict in lessons.verdicts)
    bullets = (session.playbook.bullets[name] for name in names if name in session.playbook.bullets)
    harmful = [b for b in bullets if b.state == "active" and b.trust != "user" and probably_harms(b)]
    if not harmful:
        return None
    taken_back = store.history.taken_back(session, SCORE)
    ops = []
    for bullet in harmful:
        verdicts, turns = store.judged_by(bullet.id)
        if verdicts >= LEAST_VERDICTS and turns >= LEAST_TURNS and bullet.id not in taken_back:
            why = f"it seems to harm: {bullet.odds[0]:.0%}, by {verdicts} observations of {turns} turns"
            ops.append(Op("QUARANTINE", bullet.id, evidence=(Evidence(SCORE, why, session.id, lessons.interaction),)))
    if not ops:
        return None
    name = f"quarantine-{session.id}-{lessons.interaction}-{'-'.join(op.bullet_id for op in ops[:_MOST])}"
    applied = store.apply(Delta(name, tuple(ops[:_MOST]), "rules", session.id, lessons.interaction, SCORE), session)
    return None if applied.undone else applied
