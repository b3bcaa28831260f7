"""The checkpoint of what strategies are worth: whose it is, what it reads, and what a saved database has of it."""

from __future__ import annotations

from swecli.models.playbook import Delta, Op
from swecli.models.session import Session
from swecli.store.session_manager import SessionManager
from tests.store.conftest import Counter


def take_turns(manager: SessionManager, session: Session, count: int) -> None:
    for _ in range(count):
        manager.begin_interaction("q")
        manager.finish_interaction("done", cited=["P-1"])
        manager.playbook.turns.note(session.id, session.interactions, good=True, weight=1.0)


def tag(manager: SessionManager, session: Session, turn: int, name: str = "tag") -> None:
    manager.playbook.apply(Delta(name, (Op("TAG", "P-1", "helpful"),), "rules", session.id, turn), session)


def begin(manager: SessionManager, place: str = "/p") -> Session:
    session = manager.start(place, "scripted/test")
    manager.playbook.apply(Delta(place, (Op("ADD", fields={"content": "x", "scope": "user"}),), "user"), session)
    return session


def checkpoint(manager: SessionManager, session: Session, covered: int) -> None:
    past = manager.playbook.standing.uncounted(session, whole=True)
    assert manager.playbook.standing.keep(session, past.upto(covered, "{}"))


def test_each_project_has_its_own(manager: SessionManager) -> None:
    here = begin(manager)
    take_turns(manager, here, 3)
    there = begin(manager, "/q")
    take_turns(manager, there, 2)
    checkpoint(manager, here, 2)
    standing = manager.playbook.standing
    assert [turn.interaction for turn in standing.uncounted(here).turns] == [3]
    assert len(standing.uncounted(there).turns) == 2
    manager.playbook.turns.note(there.id, 1, good=False)
    assert standing.uncounted(here).since.state == "{}"


def test_a_verdict_that_is_taken_back_is_none(manager: SessionManager) -> None:
    session = begin(manager)
    take_turns(manager, session, 2)
    tag(manager, session, 2)
    assert [delta.id for delta in manager.playbook.standing.uncounted(session).verdicts] == ["tag"]
    checkpoint(manager, session, 2)
    manager.playbook.undo(session)
    past = manager.playbook.standing.uncounted(session)
    assert (past.since.state, past.verdicts) == ("", ())


def test_a_verdict_on_the_turn_before_reaches_back(manager: SessionManager) -> None:
    session = begin(manager)
    take_turns(manager, session, 4)
    checkpoint(manager, session, 2)
    tag(manager, session, 4, "later")
    assert manager.playbook.standing.uncounted(session).since.state == "{}"
    tag(manager, session, 3, "it may look back")
    assert manager.playbook.standing.uncounted(session).since.state == ""


def test_only_the_turns_after_it_are_read(manager: SessionManager, statements: Counter) -> None:
    session = begin(manager)
    take_turns(manager, session, 4)
    checkpoint(manager, session, 3)
    with statements(manager.database) as sent:
        manager.playbook.standing.uncounted(session)
    reads = [statement for statement in sent if statement.startswith("SELECT")]
    assert len(reads) == 3
    with manager.database.reading() as db:
        for statement in reads:
            marks = ("x",) * statement.count("?")
            plan = db.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", marks).all()
            assert not [row for row in plan if str(row[-1]).startswith("SCAN")], statement
