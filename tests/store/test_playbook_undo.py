"""What is taken back can be brought back, exactly as it was, unless something came in between."""

from __future__ import annotations

import random

import pytest

from swecli.models.errors import BadInput
from swecli.models.playbook import Delta, Evidence, Op
from swecli.models.session import Session
from swecli.store.session_manager import SessionManager
from tests.store.test_playbook_history import random_delta
from tests.store.test_playbook_store import snapshot

SAID = (Evidence("user", "so", trust="user"),)


@pytest.fixture
def session(manager: SessionManager) -> Session:
    return manager.start("/p", "scripted/test")


def apply(manager: SessionManager, name: str, *ops: Op, session: Session | None = None) -> None:
    session = session or manager.current_session
    assert session
    manager.playbook.apply(Delta(name, ops, "user"), session)


def add(content: str, scope: str = "project") -> Op:
    return Op("ADD", fields={"content": content, "scope": scope}, evidence=SAID)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 12))])
def test_so_many_undos_and_so_many_redos_leave_the_store_as_it_was(
    manager: SessionManager, session: Session, seed: int
) -> None:
    dice = random.Random(seed)
    apply(manager, "start", *(add(f"n{n}") for n in range(6)))
    depth = redone = 0
    for step in range(60):
        try:
            apply(manager, f"d{step}", *random_delta(dice, 6))
        except BadInput:
            continue
        depth += 1
        states = [snapshot(manager.playbook, session)]
        for _ in range(dice.randint(0, min(4, depth))):
            manager.playbook.undo(session, every=True)
            states.append(snapshot(manager.playbook, session))
        staying = dice.choice([0, 0, 1]) if len(states) > 1 else 0  # the next change comes on top of fewer
        versions = [session.playbook.version]
        while len(states) > 1 + staying:
            assert snapshot(manager.playbook, session) == states.pop()
            manager.playbook.redo(session, every=True)
            redone += 1
            assert session.playbook == manager.playbook.load(session)
            versions.append(session.playbook.version)
        assert snapshot(manager.playbook, session) == states[-1]
        assert versions == sorted(set(versions))
        depth -= staying
    assert redone > 5


def test_a_redo_brings_back_the_last_undo_with_the_counts_that_went_along(
    manager: SessionManager, session: Session
) -> None:
    apply(manager, "d1", add("one"))
    apply(manager, "d2", add("two"))
    for number in range(3):
        apply(manager, f"n{number}", Op("TAG", "P-2", tag="neutral"))
    before = snapshot(manager.playbook, session)
    manager.playbook.undo(session)
    manager.playbook.undo(session)
    assert [row.summary() for row in manager.playbook.redo(session)] == ["add P-1"]
    assert [row.summary() for row in manager.playbook.redo(session, 9)] == ["add P-2"]
    assert snapshot(manager.playbook, session) == before
    with pytest.raises(BadInput, match="no undo"):
        manager.playbook.redo(session)


def test_what_was_seen_of_a_strategy_comes_back_with_it(manager: SessionManager, session: Session) -> None:
    apply(manager, "d1", add("one"))
    manager.begin_interaction("q")
    manager.finish_interaction("done", cited=["P-1"])
    used = session.playbook.bullets["P-1"].last_used
    manager.playbook.undo(session)
    manager.playbook.redo(session)
    assert used
    assert session.playbook.bullets["P-1"].last_used == used


def test_a_redo_is_refused_where_the_strategy_was_changed_since_and_not_where_another_was(
    manager: SessionManager, session: Session
) -> None:
    apply(manager, "d1", add("one"), add("two"))
    apply(manager, "d2", Op("UPDATE", "P-1", fields={"content": "one and a half"}))
    manager.playbook.undo(session)
    other = manager.start("/p", "scripted/test")
    apply(manager, "d3", Op("PIN", "P-1"), session=other)
    before = snapshot(manager.playbook, session)
    with pytest.raises(BadInput, match=f"P-1 has been changed since it was taken back, in session {other.id}"):
        manager.playbook.redo(session)
    assert snapshot(manager.playbook, session) == before
    apply(manager, "d4", Op("RESTORE", "P-1"), session=other)
    manager.playbook.undo(other, 2)
    apply(manager, "d5", Op("PIN", "P-2"), session=other)
    assert [row.delta.id for row in manager.playbook.redo(session, 2)] == ["d3", "d4"]
    assert manager.playbook.load(session).bullets["P-2"].state == "pinned"


def test_what_another_project_took_back_is_not_brought_back_here(manager: SessionManager, session: Session) -> None:
    apply(manager, "d1", add("one", "user"))
    manager.playbook.undo(session)
    with pytest.raises(BadInput, match="no undo"):
        manager.playbook.redo(manager.start("/q", "scripted/test"))
    with pytest.raises(BadInput, match="0 changes"):
        manager.playbook.redo(session, 0)
