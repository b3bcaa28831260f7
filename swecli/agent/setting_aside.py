"""Strategies that seem to harm are set aside until the user has looked at them; the user's own decision stands."""

from __future__ import annotations

from swecli.models.playbook import AppliedDelta, Delta, Evidence, Op
from swecli.models.session import Session
from swecli.playbook.desk import ALL
from swecli.playbook.standing import in_words, standings_of
from swecli.store.playbook_limits import FREE
from swecli.store.session_manager import SessionManager

MOST = 3  # at once
REASON = "score"  # of such a change


def set_aside(sessions: SessionManager, session: Session, interaction: int) -> AppliedDelta | None:
    """Quarantine what is held to be harmful (see `score.Belief.standing`) after a turn; None when nothing is.

    Pinned ones, and those whose state the user decided once, are left alone. Raises StoreError.
    """
    store = sessions.playbook
    changes = store.log(session, ALL)
    standings = standings_of(store.turns.here(session), reversed(changes))
    taken_back = {name for row in changes if row.undone and row.delta.reason == REASON for name in row.before}
    ops: list[Op] = []
    for bullet in session.playbook.bullets.values():
        belief = standings.of(bullet.id)
        harmful = bullet.state == "active" and belief.standing in ("quarantined", "proposed for deletion")
        if harmful and len(ops) < MOST and bullet.id not in taken_back and not _decided(sessions, bullet.id):
            found = Evidence("score", in_words(belief), session.id, interaction)
            ops.append(Op("QUARANTINE", bullet.id, evidence=(found,)))
    if not ops:
        return None
    name = f"aside-{session.id}-{interaction}-{'-'.join(op.bullet_id for op in ops)}"
    applied = store.apply(Delta(name, tuple(ops), "rules", session.id, interaction, REASON), session)
    return None if applied.undone else applied


def _decided(sessions: SessionManager, bullet_id: str) -> bool:
    """Whether the user ever changed its state."""
    changes = sessions.playbook.history.of(bullet_id)
    return any(
        c.applied.delta.author in FREE
        and c.before is not None
        and c.after is not None
        and c.before.state != c.after.state
        for c in changes
    )
