"""Test the verdicts on bullets: they are stored with the turn's record, and undo removes those of a change."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.models.playbook import Delta, Op, Verdict
from swecli.models.session import Session
from swecli.store.records import CheckResult, TurnLessons
from swecli.store.session_manager import SessionManager
from tests.support.databases import open_database


@pytest.fixture
def session(manager: SessionManager) -> Session:
    session = manager.start("/p", "scripted/test")
    ops = tuple(Op("ADD", fields={"content": text, "scope": "project"}) for text in ("one", "two"))
    manager.playbook.apply(Delta("start", ops, "user"), session)
    for query in "ab":
        manager.begin_interaction(query)
        manager.finish_interaction("done", shown_names=["P-1", "P-2"])
    return session


def make_verdict(name: str, good: bool, kind: str = "outcome") -> Verdict:
    tag = "helpful" if good else "harmful"
    return Verdict(name, kind, tag, "check", "pytest passed")  # type: ignore[arg-type]


def record_turn(
    manager: SessionManager, turn: int, *verdicts: Verdict, name: str = "", marked: str = ""
) -> None:
    session = manager.current_session
    assert session is not None
    reason = f"mark {marked}" if marked else "turn"
    delta = Delta(name or f"look-{turn}", (), "rules", session.id, turn, reason)
    lessons = TurnLessons(
        turn, delta, verdicts, shown=("P-1", "P-2"), mark=marked, why="so" if marked else ""
    )
    manager.playbook.record_lessons(session, lessons)


def test_a_verdict_is_counted_and_stored(
    manager: SessionManager, session: Session, path: Path
) -> None:
    record_turn(manager, 1, make_verdict("P-1", True), make_verdict("P-2", False))
    first, second = session.playbook.bullets["P-1"], session.playbook.bullets["P-2"]
    assert (first.helpful, first.harmful, first.uses) == (1, 0, 1)
    assert (second.helpful, second.harmful) == (0, 1)
    manager.database.close()
    again = SessionManager(open_database(path))
    assert again.resume(session.id, "").playbook == session.playbook
    again.database.close()


def test_recording_the_same_turn_twice_counts_once(
    manager: SessionManager, session: Session
) -> None:
    for _ in range(2):
        record_turn(manager, 1, make_verdict("P-1", True))
    assert session.playbook.bullets["P-1"].helpful == 1
    assert session.playbook.bullets["P-1"].uses == 1


def test_undoing_a_mark_keeps_the_verdicts_of_other_turns(
    manager: SessionManager, session: Session
) -> None:
    record_turn(manager, 1, make_verdict("P-1", True))
    record_turn(manager, 2, make_verdict("P-1", True, "tag"), name="tagged")
    record_turn(manager, 2, make_verdict("P-1", False), name="marked", marked="bad")
    assert session.playbook.bullets["P-1"].harmful == 1
    assert [row.delta.id for row in manager.playbook.undo(session)] == ["marked"]
    bullet = session.playbook.bullets["P-1"]
    assert (bullet.helpful, bullet.harmful) == (2, 0)
    info = manager.turns.turn(manager.session.id, 2)
    assert info is not None
    assert info.mark == ""
    manager.playbook.undo(session, redo=True)
    assert session.playbook.bullets["P-1"].harmful == 1
    assert session.playbook == manager.playbook.load(session)


def test_undo_skips_deltas_that_only_record_evidence(
    manager: SessionManager, session: Session
) -> None:
    manager.playbook.apply(Delta("pin", (Op("PIN", "P-1"),), "user"), session)
    record_turn(manager, 1, make_verdict("P-1", False))
    assert [row.delta.id for row in manager.playbook.undo(session)] == ["pin"]
    assert session.playbook.bullets["P-1"].harmful == 1


def test_restoring_a_bullet_resets_its_harmful_count(
    manager: SessionManager, session: Session
) -> None:
    for turn in (1, 2):
        record_turn(manager, turn, make_verdict("P-1", False))
    manager.playbook.apply(Delta("off", (Op("QUARANTINE", "P-1"),), "user"), session)
    manager.playbook.apply(Delta("on", (Op("RESTORE", "P-1"),), "user"), session)
    assert session.playbook.bullets["P-1"].harmful == 0


def test_the_lessons_of_a_turn_store_checks_and_record_together(
    manager: SessionManager, session: Session
) -> None:
    lessons = TurnLessons(
        1,
        known={"topic": "make test", "good": False},
        checks={"make test": CheckResult(False, ("x",))},
    )
    manager.playbook.record_lessons(session, lessons)
    turns = manager.turns
    assert turns.checks(manager.start("/p", "m")) == {"make test": CheckResult(False, ("x",))}
    assert turns.checks(manager.start("/q", "m")) == {}
    record = turns.turn(session.id, 1)
    assert record is not None
    assert (record.good, record.topic, record.shown) == (False, "make test", ("P-1", "P-2"))
