"""What goes with its session when that is deleted."""

from __future__ import annotations

from sqlmodel import select

from swecli.store.playbook_tables import DraftRow, TurnRow
from swecli.store.records import Draft
from swecli.store.session_manager import SessionManager


def test_turn_records_and_drafts_go_with_their_session(manager: SessionManager) -> None:
    session = manager.start("/p", "scripted/test")
    manager.begin_interaction("q")
    manager.playbook.turns.note(session.id, 1, good=True)
    manager.playbook.keep_draft(Draft(session.id, 1))
    manager.start("/p", "scripted/test")
    manager.delete(session.id)
    with manager.database.reading() as db:
        assert db.exec(select(TurnRow)).all() == []
        assert db.exec(select(DraftRow)).all() == []
