"""Strategies that seem to harm are set aside until the user has looked at them; then only new evidence counts."""

from __future__ import annotations

from swecli.models.playbook import AppliedDelta, Delta, Evidence, Op
from swecli.models.session import Session
from swecli.playbook.standing import believed, held_to_harm, in_words
from swecli.store.session_manager import SessionManager

MOST = 3  # at once
REASON = "score"  # of such a change


def set_aside(sessions: SessionManager, session: Session, interaction: int) -> AppliedDelta | None:
    """Quarantine what is held to be harmful (see `score.Belief.standing`) after a turn; None when nothing is.

    Pinned ones are left alone, and those that the user took in again until turns after that speak against them (see
    `score.vouched_for`); also where the user took the setting aside back. Raises StoreError.
    """
    store = sessions.playbook
    standings = believed(store, session)
    active = (bullet.id for bullet in session.playbook.bullets.values() if bullet.state == "active")
    harmful = [name for name in active if held_to_harm(standings.of(name))]
    taken_back = store.history.taken_back(session, REASON) if harmful else set()
    wanted = [name for name in harmful if name not in taken_back][:MOST]
    if not wanted:
        return None
    found = {name: Evidence("score", in_words(standings.of(name)), session.id, interaction) for name in wanted}
    ops = [Op("QUARANTINE", name, evidence=(found[name],)) for name in wanted]
    name = f"aside-{session.id}-{interaction}-{'-'.join(op.bullet_id for op in ops)}"
    applied = store.apply(Delta(name, tuple(ops), "rules", session.id, interaction, REASON), session)
    return None if applied.undone else applied
