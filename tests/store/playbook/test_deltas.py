"""Test that a project neither sees nor undoes the deltas of another project, with or without a session."""

from __future__ import annotations

import pytest

from swecli.models.errors import BadInput
from swecli.models.playbook import Delta, Evidence, Op
from swecli.models.session import Session
from swecli.store.session_manager import SessionManager
from tests.support.playbooks import operations

USER_EVIDENCE = (Evidence("user", "so", trust="user"),)


def add_ops(*scopes: str) -> tuple[Op, ...]:
    return tuple(
        Op("ADD", fields={"content": f"for the {scope}", "scope": scope}, evidence=USER_EVIDENCE)
        for scope in scopes
    )


@pytest.fixture(params=["before a session", "in a session"])
def project_sessions(
    request: pytest.FixtureRequest, manager: SessionManager
) -> tuple[Session, Session]:
    """Return the sessions of two projects."""
    if request.param == "in a session":
        return manager.start("/a", "m"), manager.start("/b", "m")
    return Session(id="", working_directory="/a"), Session(id="", working_directory="/b")


def test_changes_of_a_project_can_be_neither_seen_nor_undone_in_another(
    manager: SessionManager, project_sessions: tuple[Session, Session]
) -> None:
    a, b = project_sessions
    manager.playbook.apply(Delta("d1", add_ops("project"), "user"), a)
    assert manager.playbook.log(b) == []
    with pytest.raises(BadInput, match="Nothing to undo"):
        manager.playbook.undo(b)
    assert "P-1" in manager.playbook.load(a).bullets
    assert [operations(row) for row in manager.playbook.undo(a)] == ["add P-1"]


def test_a_change_of_a_strategy_for_all_projects_is_undone_in_the_project_that_made_it(
    manager: SessionManager, project_sessions: tuple[Session, Session]
) -> None:
    a, b = project_sessions
    manager.playbook.apply(Delta("d1", add_ops("project", "user"), "user"), a)
    manager.playbook.apply(Delta("d2", (Op("QUARANTINE", "P-2"),), "user"), b)
    assert [operations(row) for row in manager.playbook.log(a)] == ["add P-1, add P-2"]
    assert [operations(row) for row in manager.playbook.log(b)] == ["quarantine P-2"]
    assert [change.delta.id for change in manager.playbook.changes("P-2")] == ["d1", "d2"]
    with pytest.raises(BadInput, match="P-2 was changed later"):
        manager.playbook.undo(a)


def test_deltas_without_a_session_belong_to_no_turn(manager: SessionManager) -> None:
    nowhere = Session(id="", working_directory="/a")
    other = Session(id="", working_directory="/b")
    delta = Delta("d1", add_ops("project", "project", "project"), "rules", interaction=1)
    manager.playbook.apply(delta, nowhere)
    assert (
        manager.playbook.deltas_of_turns(nowhere, 0, 9)
        == manager.playbook.deltas_of_turns(other, 0, 9)
        == []
    )
    manager.playbook.apply(Delta("d2", add_ops("project"), "rules", interaction=1), other)


def test_a_later_change_without_a_session_is_named_by_its_directory(
    manager: SessionManager,
) -> None:
    a = Session(id="", working_directory="/a")
    b = Session(id="", working_directory="/b")
    manager.playbook.apply(Delta("d1", add_ops("user"), "user"), a)
    manager.playbook.apply(Delta("d2", (Op("PIN", "P-1"),), "user"), b)
    with pytest.raises(BadInput, match="P-1 was changed later, outside of a session, in /b"):
        manager.playbook.undo(a)
