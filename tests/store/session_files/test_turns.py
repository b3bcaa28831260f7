"""Test that each turn's record of its strategies is exported and imported with the session, and counted once."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

import pytest

from swecli.models.errors import BadInput
from swecli.models.playbook import Delta, Op
from swecli.store.session_files.importing import import_session
from swecli.store.session_manager import SessionManager
from swecli.store.tables.turns import TurnRow
from tests.support.databases import open_database


def add(manager: SessionManager, *texts: str, scope: str = "project") -> None:
    session = manager.current_session
    assert session is not None
    ops = tuple(
        Op("ADD", fields={"content": text, "scope": scope, "trust": "user"}) for text in texts
    )
    manager.playbook.apply(Delta(f"d-{session.id}-{scope}", ops, "user"), session)


def store_turns() -> SessionManager:
    """Store a session with two turns: P-1 and the session's P-3 were cited."""
    manager = SessionManager(open_database("from.db"))
    session = manager.start("/a", "m/x", project="/p")
    add(manager, "run make check", "keep it short")
    add(manager, "only here", scope="session")
    for number in (1, 2):
        manager.begin_interaction(f"question {number}")
        manager.finish_interaction("done", shown_names=["P-1", "P-3"], cited=["P-1", "P-3"])
        known: dict[str, Any] = {"weight": 1.0, "signal": "check", "topic": "make check"}
        with manager.database.transaction() as db:
            TurnRow.record(db, session.id, number, good=number == 1, **known)
    return manager


def export_session(manager: SessionManager) -> Any:
    assert manager.current_session is not None
    return json.loads(json.dumps(manager.archive.export(manager.current_session.id), default=str))


def test_the_export_has_the_outcome_of_each_turn() -> None:
    first, second = export_session(store_turns())["interactions"]
    assert (first["playbook"]["good"], second["playbook"]["good"]) == (True, False)


def test_an_imported_turn_cites_the_new_ids_of_its_strategies() -> None:
    whole = export_session(store_turns())
    other = SessionManager(open_database("to.db"))
    mine = other.start("/b", "m/x", project="/p")
    add(other, "something else", "keep it short")
    import_session(other.database, whole)
    record = other.turns.turn(whole["id"], 1)
    assert record is not None
    assert record.cited == ("elsewhere:P-1", "P-3"), "not P-1 of this database"
    assert (record.good, record.weight, record.signal, record.topic) == (
        True,
        1.0,
        "check",
        "make check",
    )
    assert len(other.turns.project_turns(mine)) == 2
    again = other.archive.export(whole["id"])
    assert again["interactions"][0]["playbook"]["good"] is True
    other.database.close()


def test_a_fork_copies_the_turn_records_and_they_count_once() -> None:
    manager = store_turns()
    first = manager.current_session
    assert first is not None
    before = manager.turns.project_turns(first)
    fork = manager.fork(upto=1)
    copied = manager.turns.turn(fork.id, 1)
    assert copied is not None
    assert (copied.good, copied.cited) == (True, ("P-1", "P-3"))
    assert manager.turns.turn(fork.id, 2) is None
    assert manager.turns.project_turns(fork) == before, (
        "the turn of the fork is the turn it was copied from"
    )
    manager.delete(first.id)
    assert [record.session_id for record in manager.turns.project_turns(fork)] == [fork.id]


def test_copied_turns_of_a_fork_are_not_learned_from_again() -> None:
    manager = store_turns()
    first = manager.current_session
    assert first is not None
    manager.turns.skip(first.id, 1)
    fork = manager.fork()
    assert [manager.turns.count_reflections(fork.id, number) for number in (1, 2, 3)] == [
        1,
        1,
        0,
    ]


def test_an_older_export_with_a_withheld_strategy_can_be_imported() -> None:
    whole = export_session(store_turns())
    whole["interactions"][0]["playbook"]["withheld"] = ["P-2"]
    with closing(open_database("to.db")) as database:
        assert import_session(database, whole).interactions == 2


@pytest.mark.parametrize(("name", "value"), [("weight", 2), ("good", "perhaps")])
def test_an_invalid_turn_record_is_named(name: str, value: Any) -> None:
    whole = export_session(store_turns())
    whole["interactions"][1]["playbook"][name] = value
    database = open_database("to.db")
    with pytest.raises(BadInput, match=rf"interactions.1.playbook.{name}"):
        import_session(database, whole)
    database.close()
