"""The past of a strategy, from the changes that stand."""

from __future__ import annotations

import random

import pytest

from swecli.models.errors import BadInput
from swecli.models.playbook import Delta, Evidence, Op
from swecli.models.session import Session
from swecli.store.session_manager import SessionManager
from tests.store.test_playbook_store import snapshot


@pytest.fixture
def session(manager: SessionManager) -> Session:
    return manager.start("/p", "scripted/test")


def apply(manager: SessionManager, name: str, *ops: Op) -> None:
    assert manager.current_session
    manager.playbook.apply(Delta(name, ops, "user"), manager.current_session)


def test_the_changes_that_stand_are_told_with_before_and_after(manager: SessionManager, session: Session) -> None:
    apply(manager, "d1", Op("ADD", fields={"content": "one"}))
    apply(manager, "d2", Op("TAG", "P-1", "helpful"))
    apply(manager, "d3", Op("PIN", "P-1"))
    manager.playbook.undo(session)
    apply(manager, "d4", Op("UPDATE", "P-1", fields={"content": "two"}))
    first, second, third = manager.playbook.history.of("P-1")
    assert (first.before, first.after) == (None, second.before)
    assert [c.applied.delta.id for c in (first, second, third)] == ["d1", "d2", "d4"]
    assert third.after == session.playbook.bullets["P-1"]
    assert manager.playbook.history.of("P-2") == []
    apply(manager, "d5", Op("ADD", fields={"content": "other"}), Op("TAG", "P-1", "harmful"))
    apply(manager, "d6", Op("MERGE", "P-2", into="P-1"))
    each = manager.playbook.history.of_each(["P-1", "P-2", "P-3"])
    assert each == {name: manager.playbook.history.of(name) for name in ("P-1", "P-2", "P-3")}
    assert {name: len(changes) for name, changes in each.items()} == {"P-1": 5, "P-2": 2, "P-3": 0}


def test_ids_that_begin_alike_are_not_mixed_up(manager: SessionManager, session: Session) -> None:
    apply(manager, "d1", *(Op("ADD", fields={"content": str(n)}) for n in range(11)))
    apply(manager, "d2", Op("TAG", "P-11", "helpful"))
    assert [c.applied.delta.id for c in manager.playbook.history.of("P-1")] == ["d1"]


def test_a_stretch_of_changes_is_one_difference(manager: SessionManager, session: Session) -> None:
    apply(manager, "d1", Op("ADD", fields={"content": "one"}), Op("ADD", fields={"content": "other"}))
    apply(manager, "d2", Op("TAG", "P-1", "helpful"))
    apply(manager, "d3", Op("TAG", "P-1", "helpful"), Op("PIN", "P-2"))
    apply(manager, "d4", Op("RESTORE", "P-2"))
    [(name, before, now)] = manager.playbook.history.since(session, 3)
    assert before is not None
    assert now is not None
    assert (name, before.helpful, now.helpful) == ("P-1", 0, 2)


def test_the_prompts_a_strategy_stood_in_are_known(manager: SessionManager, session: Session) -> None:
    for shown in (["P-1"], ["P-10"], ["P-2", "P-1"]):
        manager.begin_interaction("q")
        manager.finish_interaction("done", shown=shown)
    assert [info.number for info in manager.playbook.history.prompts("P-1")] == [3, 1]
    last = manager.playbook.history.last_shown(["P-1", "P-10", "P-11"])
    assert last.keys() == {"P-1", "P-10"}
    assert last["P-1"] > last["P-10"]


def random_delta(dice: random.Random, known: int) -> list[Op]:
    def bullet() -> str:
        return f"P-{dice.randint(1, known)}"

    def scope() -> str:
        return dice.choice(["session", "project", "user"])

    makers = [
        lambda why: Op("ADD", fields={"content": f"c{dice.random()}", "scope": scope()}),
        lambda why: Op("UPDATE", bullet(), fields={"content": f"u{dice.random()}", "section": "tests"}, evidence=why),
        lambda why: Op("UPDATE", bullet(), fields={"scope": scope()}),
        lambda why: Op("TAG", bullet(), dice.choice(["helpful", "harmful", "neutral"]), evidence=why),
        lambda why: Op("TAG", bullet(), dice.choice(["helpful", "harmful", "neutral"])),
        lambda why: Op("REMOVE", bullet(), evidence=why),
        lambda why: Op("MERGE", bullet(), into=bullet(), evidence=why),
        lambda why: Op("PIN", bullet()),
        lambda why: Op("QUARANTINE", bullet(), evidence=why),
        lambda why: Op("RESTORE", bullet()),
    ]  # fmt: skip
    return [dice.choice(makers)((Evidence("rules", f"q{dice.random()}"),)) for _ in range(dice.randint(1, 4))]


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
def test_fifty_random_deltas_are_undone_one_by_one(manager: SessionManager, session: Session, seed: int) -> None:
    dice = random.Random(seed)
    apply(manager, "start", *(Op("ADD", fields={"content": f"n{n}"}, evidence=(Evidence("u", "q"),)) for n in range(6)))
    states = [snapshot(manager.playbook, session)]
    while len(states) <= 50:
        try:
            apply(manager, f"d{len(states)}-{dice.random()}", *random_delta(dice, 6 + len(states)))
        except BadInput:
            assert snapshot(manager.playbook, session) == states[-1], "what was refused changed nothing"
            continue
        states.append(snapshot(manager.playbook, session))
    while len(states) > 1:
        assert snapshot(manager.playbook, session) == states.pop()
        manager.playbook.undo(session, every=True)
    assert snapshot(manager.playbook, session) == states[0]
