"""An export brought in: here again, on another machine, edited, and next to strangers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from swecli.models.playbook import Delta, Evidence, Op
from swecli.models.session import Session
from swecli.playbook.carry import Plan, plan_import
from swecli.playbook.markdown import to_markdown
from swecli.playbook.markdown_read import read_markdown
from swecli.store.database import open_database
from swecli.store.session_manager import SessionManager


@pytest.fixture
def here() -> Iterator[SessionManager]:
    manager = SessionManager(open_database(":memory:"))
    manager.start("/p", "demo")
    yield manager
    manager.database.close()


@pytest.fixture
def there() -> Iterator[SessionManager]:
    manager = SessionManager(open_database(":memory:"))
    manager.start("/p", "demo")
    yield manager
    manager.database.close()


def session_of(manager: SessionManager) -> Session:
    assert manager.current_session
    return manager.current_session


def teach(manager: SessionManager, *contents: str, **fields: Any) -> None:
    ops = [
        Op("ADD", fields={"content": c, "scope": "project"} | fields, evidence=(Evidence("user", c, trust="user"),))
        for c in contents
    ]
    manager.playbook.apply(Delta(f"d-{contents}", tuple(ops), "user"), session_of(manager))


def exported(manager: SessionManager) -> str:
    bullets = session_of(manager).playbook.bullets
    return to_markdown(bullets.values(), {name: manager.playbook.evidence(name) for name in bullets})


def bring(manager: SessionManager, text: str) -> Plan:
    session = session_of(manager)
    carried = read_markdown(text)
    known = {c.bullet.id: b for c in carried if (b := manager.playbook.get(c.bullet.id))}
    plan = plan_import(carried, session, session.playbook.bullets | known, manager.playbook.last_number())
    if delta := plan.delta(session, "a file"):
        manager.playbook.apply(delta, session)
    return plan


def test_a_round_trip_into_an_empty_playbook_keeps_everything(here: SessionManager, there: SessionManager) -> None:
    teach(here, "one", "two", "three", section="tests")
    here.playbook.apply(Delta("r", (Op("REMOVE", "P-2"), Op("TAG", "P-3", "helpful")), "user"), session_of(here))
    assert bring(there, exported(here)).kept == ["P-1", "P-3"]
    assert session_of(there).playbook.bullets == session_of(here).playbook.bullets
    assert there.playbook.evidence("P-3") == here.playbook.evidence("P-3")
    teach(there, "next")
    assert "P-4" in session_of(there).playbook.bullets


def test_what_is_the_same_here_is_left_alone_and_what_was_edited_is_updated(here: SessionManager) -> None:
    teach(here, "run tox", "use tabs")
    text = exported(here)
    assert bring(here, text).same == ["P-1", "P-2"]
    here.playbook.apply(Delta("t", (Op("TAG", "P-1", "helpful"),), "rules"), session_of(here))
    plan = bring(here, text.replace("run tox", "run nox"))
    assert (plan.changed, plan.same) == (["P-1"], ["P-2"])
    bullet = session_of(here).playbook.bullets["P-1"]
    assert (bullet.content, bullet.helpful) == ("run nox", 1)
    here.playbook.undo(session_of(here))
    assert session_of(here).playbook.bullets["P-1"].content == "run tox"


def test_foreign_ids_are_given_new_ones(here: SessionManager, there: SessionManager) -> None:
    teach(here, "from here")
    teach(there, "of there")
    plan = bring(there, exported(here))
    assert plan.renamed == ["P-1"]
    contents = {name: b.content for name, b in session_of(there).playbook.bullets.items()}
    assert contents == {"P-1": "of there", "P-2": "from here"}


def test_an_id_that_was_given_once_is_not_given_again(here: SessionManager, there: SessionManager) -> None:
    teach(here, "from here")
    teach(there, "of there")
    there.playbook.undo(session_of(there))
    assert bring(there, exported(here)).renamed == ["P-1"]
    assert list(session_of(there).playbook.bullets) == ["P-2"]


def test_an_import_is_taken_back_like_any_change(here: SessionManager, there: SessionManager) -> None:
    teach(here, "one", "two")
    bring(there, exported(here))
    there.playbook.undo(session_of(there))
    assert session_of(there).playbook.bullets == {}


def test_a_removed_one_is_brought_back(here: SessionManager) -> None:
    teach(here, "one")
    text = exported(here)
    here.playbook.apply(Delta("r", (Op("REMOVE", "P-1"),), "user"), session_of(here))
    assert bring(here, text).changed == ["P-1"]
    assert session_of(here).playbook.bullets["P-1"].state == "active"


def test_secrets_and_repetitions_stay_out_and_are_said(here: SessionManager) -> None:
    teach(here, "use uv")
    head = "<!-- swecli playbook 1 -->\n"
    plan = bring(here, f"{head}- [P-8] Use  uv\n- [P-9] log in with password: hunter2222x\n")
    assert plan.left_out == ["P-8 says what P-1 says here", "P-9 (line 3) holds a secret"]
    assert list(session_of(here).playbook.bullets) == ["P-1"]


def test_what_an_imported_strategy_names_follows_its_words(here: SessionManager) -> None:
    teach(here, "prices are in `src/prices.py`", anchors=["path:src/prices.py"])
    bring(here, exported(here).replace("[P-1] prices are in `src/prices.py`", "[P-1] prices are in `src/costs.py`"))
    assert session_of(here).playbook.bullets["P-1"].anchors == ("path:src/costs.py",)
    bring(here, exported(here).split("- [P-1]")[0] + "- [P-2] taxes are in `src/taxes.py`\n")
    assert session_of(here).playbook.bullets["P-2"].anchors == ("path:src/taxes.py",)
