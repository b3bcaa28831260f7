"""What waits for its reflection, and what a reflection came to, over restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.models.errors import BadInput
from swecli.models.message import RequestRecord, Usage
from swecli.models.playbook import Delta, Evidence, Op
from swecli.models.session import Session
from swecli.store.records import Draft
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database


@pytest.fixture
def session(manager: SessionManager) -> Session:
    return manager.start("/p", "scripted/test")


def reflect(manager: SessionManager, interaction: int, status: str) -> None:
    assert manager.current_session
    manager.playbook.record_reflection(
        manager.current_session.id, interaction, status=status, author="rules", usage=Usage(1), cost=None, detail="why"
    )


def test_a_finished_interaction_is_pending_until_its_reflection_is_stored(
    manager: SessionManager, session: Session
) -> None:
    for outcome in ("done", "failed", "cancelled"):
        manager.begin_interaction("q")
        manager.finish_interaction(outcome)
    manager.begin_interaction("still running")
    store = manager.playbook
    assert [p.interaction for p in store.pending()] == [1, 2, 3]
    reflect(manager, 2, "done")
    assert [p.interaction for p in store.pending(session.id)] == [1, 3]
    assert (store.reflected(session.id, 1), store.reflected(session.id, 2)) == (False, True)
    assert store.pending("another") == []


def test_a_request_that_used_no_token_costs_nothing_and_an_unknown_price_stays_unknown(
    manager: SessionManager, session: Session
) -> None:
    manager.begin_interaction("q")
    for usage, cost in ((Usage(), None), (Usage(100), 0.5)):
        manager.record_request(RequestRecord("m", "reflect", 1, 0, usage, cost, 0))
    assert manager.playbook.spent().cost == 0.5
    manager.record_request(RequestRecord("m", "reflect", 1, 0, Usage(100), None, 0))
    assert manager.playbook.spent().cost is None


def test_a_failing_reflection_is_tried_three_times(manager: SessionManager, session: Session) -> None:
    manager.begin_interaction("q")
    manager.finish_interaction("done")
    for status in ("started", "failed", "cancelled", "failed"):
        reflect(manager, 1, status)
        assert manager.playbook.pending()
    reflect(manager, 1, "failed")
    assert manager.playbook.pending() == []
    assert manager.playbook.reflected(session.id, 1)


def test_a_reflection_of_nothing_is_bad_input(manager: SessionManager, session: Session) -> None:
    with pytest.raises(BadInput, match="no interaction 1"):
        reflect(manager, 1, "done")


def test_a_draft_is_there_again_after_a_restart(manager: SessionManager, session: Session, path: Path) -> None:
    manager.begin_interaction("q")
    manager.finish_interaction("done")
    op = Op("ADD", fields={"content": "x", "anchors": ("a.py",)}, evidence=(Evidence("model", "why"),))
    delta = Delta("d1", (op,), "some/model", session.id, 1, refused=("too long",))
    draft = Draft(session.id, 1, delta, ("+ x",), ("too long",), "some/model", None, Usage(5, output=2), 0.1, 1, 2)
    manager.playbook.keep_draft(Draft(session.id, 1))
    manager.playbook.keep_draft(draft)
    manager.database.close()
    again = SessionManager(open_database(path))
    assert again.playbook.draft(session.id, 1) == draft
    assert again.playbook.draft(session.id, 2) is None
    again.database.close()


def test_a_conclusion_applies_and_notes_and_forgets_the_draft_in_one(manager: SessionManager, session: Session) -> None:
    manager.begin_interaction("q")
    manager.finish_interaction("done")
    draft = Draft(
        session.id,
        1,
        Delta("d1", (Op("ADD", fields={"content": "x"}, evidence=(Evidence("model", "why"),)),), "m", session.id, 1),
        errors=2,
    )
    manager.playbook.keep_draft(draft)
    applied = manager.playbook.conclude(session, draft)
    assert applied is not None
    assert applied.added == ("P-1",)
    assert manager.playbook.pending() == []
    assert manager.playbook.draft(session.id, 1) is None
    record = manager.playbook.turns.of(session.id, 1)
    assert record is not None
    assert record.errors == 2


def test_a_conclusion_that_cannot_be_applied_notes_nothing(manager: SessionManager, session: Session) -> None:
    manager.begin_interaction("q")
    manager.finish_interaction("done")
    draft = Draft(session.id, 1, Delta("d1", (Op("TAG", "P-9", "helpful"),), "m", session.id, 1))
    manager.playbook.keep_draft(draft)
    with pytest.raises(BadInput, match="no P-9"):
        manager.playbook.conclude(session, draft)
    assert [p.interaction for p in manager.playbook.pending()] == [1]
    assert manager.playbook.draft(session.id, 1) == draft


def test_what_the_user_took_back_stays_taken_back(manager: SessionManager, session: Session) -> None:
    manager.begin_interaction("q")
    manager.finish_interaction("done")
    draft = Draft(
        session.id,
        1,
        Delta("d1", (Op("ADD", fields={"content": "x"}, evidence=(Evidence("model", "why"),)),), "m", session.id, 1),
    )
    manager.playbook.conclude(session, draft)
    manager.playbook.undo(session)
    assert manager.playbook.conclude(session, draft) is None
    assert session.playbook.bullets == {}
