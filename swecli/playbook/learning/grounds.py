"""What a turn's proposals are held against, gathered from the store and the workspace; and stored turns as digests."""

from __future__ import annotations

from swecli.models.errors import BadInput
from swecli.models.session import Session
from swecli.playbook.learning.curator import Ground
from swecli.playbook.turn_digest import TurnDigest, digest_turn
from swecli.playbook.workspace import Workspaces
from swecli.store.session_manager import SessionManager


def digest_of(sessions: SessionManager, session: Session, number: int) -> TurnDigest:
    """A stored turn. Raises BadInput when there is no such turn."""
    sessions.load_back_to(max(1, number - 1))
    info = sessions.interaction_info(number)
    if info is None:
        raise BadInput(f"There is no turn T{number} in this session.")
    own, before = [], []
    for message in reversed(session.messages):
        if message.interaction == number:
            own.append(message)
        elif message.interaction == number - 1:
            before.append(message)
        elif message.interaction < number - 1:
            break
    return digest_turn(own[::-1], info.shown, session_id=session.id, outcome=info.status, before=before[::-1])


def ground_of(sessions: SessionManager, session: Session, digest: TurnDigest, workspaces: Workspaces | None) -> Ground:
    """What there is, what the user does not want, what the prompt says anyway, and where the session works."""
    store = sessions.playbook
    return Ground(
        digest,
        tuple(session.playbook.bullets.values()),
        tuple(store.history.removed(session)),
        workspaces.instructions() if workspaces else "",
        workspaces.lookup(session) if workspaces else None,
        lambda name: [item.session_id for item in store.evidence(name)],
    )
