"""Strategies that seem to harm are set aside until the user has looked at them; the user's own decision stands."""

from __future__ import annotations

from swecli.models.playbook import AppliedDelta, Delta, Evidence, Op
from swecli.models.session import Session
from swecli.playbook.by_hand import KEPT
from swecli.playbook.standing import believed, in_words
from swecli.store.playbook_limits import FREE
from swecli.store.session_manager import SessionManager

MOST = 3  # at once
REASON = "score"  # of such a change


def set_aside(sessions: SessionManager, session: Session, interaction: int) -> AppliedDelta | None:
    """Quarantine what is held to be harmful (see `score.Belief.standing`) after a turn; None when nothing is.

    Pinned ones, and those whose state the user decided once, are left alone. Raises StoreError.
    """
    store = sessions.playbook
    standings = believed(store, session)
    active = (bullet.id for bullet in session.playbook.bullets.values() if bullet.state == "active")
    harmful = [name for name in active if standings.of(name).standing in ("quarantined", "proposed for deletion")]
    taken_back = store.history.taken_back(session, REASON) if harmful else set()
    wanted = [name for name in harmful if name not in taken_back and not _decided(sessions, name)][:MOST]
    if not wanted:
        return None
    found = {name: Evidence("score", in_words(standings.of(name)), session.id, interaction) for name in wanted}
    ops = [Op("QUARANTINE", name, evidence=(found[name],)) for name in wanted]
    name = f"aside-{session.id}-{interaction}-{'-'.join(op.bullet_id for op in ops)}"
    applied = store.apply(Delta(name, tuple(ops), "rules", session.id, interaction, REASON), session)
    return None if applied.undone else applied


def _decided(sessions: SessionManager, bullet_id: str) -> bool:
    """Whether the user ever changed its state, or kept it when its removal was proposed."""
    changes = sessions.playbook.history.of(bullet_id)
    return any(
        c.applied.delta.author in FREE
        and c.before is not None
        and c.after is not None
        and (c.before.state != c.after.state or c.applied.delta.reason.startswith(KEPT))
        for c in changes
    )
