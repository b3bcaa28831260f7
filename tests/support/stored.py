"""Read stored rows as a new process would."""

from __future__ import annotations

from swecli.models.message import ToolCall
from swecli.store.session_manager import SessionManager


def stored_calls(manager: SessionManager, interaction: int) -> list[ToolCall]:
    """Return the calls of one interaction of the current session, in order."""
    session = manager.current_session
    assert session is not None
    other = SessionManager(manager.database)
    other.resume(session.id, "")
    other.load_back_to(interaction)
    assert other.current_session is not None
    found = other.current_session.messages
    return [
        call
        for message in found
        if message.interaction == interaction
        for call in message.tool_calls
    ]
