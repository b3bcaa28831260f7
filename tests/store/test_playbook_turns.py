"""What is known of a turn, and the switch that keeps the playbook out of prompts."""

from __future__ import annotations

import pytest

from swecli.models.playbook import Delta, Op
from swecli.models.session import Session
from swecli.store.session_manager import SessionManager


@pytest.fixture
def session(manager: SessionManager) -> Session:
    return manager.start("/p", "scripted/test")


def test_a_record_grows_as_more_becomes_known(manager: SessionManager, session: Session) -> None:
    turns = manager.playbook.turns
    assert turns.of(session.id, 1) is None
    manager.begin_interaction("q")
    turns.note(session.id, 1, ablation="withheld", withheld=("P-2",), seed=7)
    manager.finish_interaction("done", shown=["P-1"], cited=["P-1"])
    turns.note(session.id, 1, good=True, weight=1.0, signal="mark", unknown=("P-9",))
    record = turns.of(session.id, 1)
    assert record is not None
    assert (record.shown, record.withheld, record.seed, record.good, record.unknown) == (
        ("P-1",), ("P-2",), 7, True, ("P-9",),
    )  # fmt: skip


def test_the_records_of_a_project_are_those_of_all_its_sessions(manager: SessionManager, session: Session) -> None:
    for place in ("/p", "/q", "/p"):
        here = manager.start(place, "scripted/test")
        manager.begin_interaction("q")
        manager.finish_interaction("done")
        manager.playbook.turns.note(here.id, 1, good=False)
    assert len(manager.playbook.turns.here(session)) == 2


def test_a_playbook_that_is_off_is_in_no_prompt_of_its_project(manager: SessionManager, session: Session) -> None:
    manager.playbook.apply(Delta("d", (Op("ADD", fields={"content": "x", "scope": "user"}),), "user"), session)
    manager.playbook.turns.switch(session, off=True)
    assert session.playbook.as_context() == ""
    assert manager.start("/p", "scripted/test").playbook.chosen() == []
    assert manager.start("/q", "scripted/test").playbook.chosen() != []
    manager.playbook.turns.switch(session, off=False)
    assert "x" in manager.start("/p", "scripted/test").playbook.as_context()
