"""An export brought in: here again, on another machine, edited, and next to strangers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.models.playbook import Bullet, Delta, Evidence, Op
from swecli.models.session import Session
from swecli.playbook.carry import FAR, Ground, Plan, plan_import
from swecli.playbook.markdown import to_markdown
from swecli.playbook.markdown_read import read_markdown
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database


@pytest.fixture
def here() -> Iterator[SessionManager]:
    manager = SessionManager(open_database(":memory:"))
    manager.start("/p", "scripted/test")
    yield manager
    manager.database.close()


@pytest.fixture
def there() -> Iterator[SessionManager]:
    manager = SessionManager(open_database(":memory:"))
    manager.start("/p", "scripted/test")
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


def bring(manager: SessionManager, text: str, *, trusted: bool = True) -> Plan:
    session = session_of(manager)
    carried = read_markdown(text)
    known = {c.bullet.id: b for c in carried if (b := manager.playbook.get(c.bullet.id))}
    here = session.playbook.bullets | known
    plan = plan_import(carried, Ground(session, here, set(known), manager.playbook.last_number(), trusted))
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
    assert plan.renamed == {"P-1": "that id belongs to another one"}
    contents = {name: b.content for name, b in session_of(there).playbook.bullets.items()}
    assert contents == {"P-1": "of there", "P-2": "from here"}


def test_an_id_that_was_given_once_is_not_given_again(here: SessionManager, there: SessionManager) -> None:
    teach(here, "from here")
    teach(there, "of there")
    there.playbook.undo(session_of(there))
    assert bring(there, exported(here)).renamed == {"P-1": "that id was given before"}
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


HEAD = "<!-- swecli playbook 1 -->\n"
MOMENT = st.datetimes(timezones=st.just(UTC))
EXPORTED = st.lists(
    st.builds(
        Bullet,
        st.integers(1, FAR).map(lambda n: f"P-{n}"),
        st.sampled_from(["run tox", "Run  tox", "run tox first", '"quoted"', "RUN TOX"]),
        section=st.sampled_from(["tests", "build", "zoo"]),
        scope=st.sampled_from(["session", "project", "user"]),
        state=st.sampled_from(["active", "pinned", "quarantined", "disabled"]),
        trust=st.sampled_from(["user", "reasoning", "repository", "tool", "web"]),
        helpful=st.integers(0, 2**63 - 1),
        anchors=st.lists(st.sampled_from(["a.py", "make"]), max_size=2).map(tuple),
        created_at=MOMENT,
        updated_at=st.none() | MOMENT,
        last_used=st.none() | MOMENT,
    ),
    unique_by=lambda b: b.id,
    max_size=6,
)
PROOF = st.lists(st.builds(Evidence, st.just("user"), st.just("said"), created_at=MOMENT), min_size=1, max_size=2)


@given(EXPORTED, PROOF)
@settings(deadline=None, max_examples=60)
def test_an_export_comes_back_from_a_fresh_database_word_for_word(bullets: list[Bullet], proof: list[Evidence]) -> None:
    text = to_markdown(bullets, {bullet.id: proof for bullet in bullets})
    manager = SessionManager(open_database(":memory:"))
    manager.start("/p", "scripted/test")
    plan = bring(manager, text)
    assert (plan.left_out, plan.renamed) == ([], {})
    assert exported(manager) == text
    assert sorted(bring(manager, text, trusted=False).same) == sorted(b.id for b in bullets)
    manager.database.close()


def test_an_id_far_above_those_given_here_is_given_a_new_one(here: SessionManager) -> None:
    plan = bring(here, f"{HEAD}- [P-{FAR}] one\n- [P-{FAR + 1}] two\n")
    assert plan.kept == [f"P-{FAR}"]
    assert plan.renamed == {f"P-{FAR + 1}": "its number is far above all that were given here"}


def test_what_comes_from_elsewhere_waits_and_says_no_more_than_a_file_may(
    here: SessionManager, there: SessionManager
) -> None:
    teach(here, "deploy with make ship", state="pinned", trust="user")
    teach(here, "write good code")
    text = exported(here)
    assert bring(there, text, trusted=False).waiting == ["P-1", "P-2"]
    assert {(b.state, b.trust) for b in session_of(there).playbook.bullets.values()} == {("quarantined", "repository")}
    assert {e.trust for e in there.playbook.evidence("P-1")} == {"repository"}
    assert "general advice" in there.playbook.evidence("P-2")[-1].quote
    again = bring(there, text, trusted=False)
    assert (again.changed, again.waiting) == ([], ["P-1", "P-2"]), "a second import is no yes"
    there.playbook.apply(Delta("r", (Op("REMOVE", "P-1"),), "user"), session_of(there))
    bring(there, text, trusted=False)
    assert session_of(there).playbook.live() == []
    bring(there, text)
    assert [b.state for b in session_of(there).playbook.live()] == ["pinned", "active"]


def test_one_that_was_given_a_new_id_is_known_when_it_comes_again(here: SessionManager, there: SessionManager) -> None:
    teach(here, "from here")
    teach(there, "of there")
    bring(there, exported(here))
    plan = bring(there, exported(here))
    assert (plan.same, plan.left_out) == (["P-2"], [])


def test_a_file_without_dates_changes_nothing_of_ones_own_unless_it_is_vouched_for(here: SessionManager) -> None:
    teach(here, "run tox")
    strange = f"{HEAD}- [P-1] skip the tests\n"
    bring(here, strange, trusted=False)
    assert [b.content for b in session_of(here).playbook.live()] == ["run tox"]
    assert bring(here, f"{HEAD}- [P-1] Run  tox\n", trusted=False).same == ["P-1"]
    assert bring(here, strange).lines == ["- P-1 run tox", "+ P-1 skip the tests"]
    assert session_of(here).playbook.bullets["P-1"].scope == "project", "what the file does not say stays"


def test_a_strategy_that_a_file_calls_removed_is_not_dropped_without_a_word(here: SessionManager) -> None:
    assert bring(here, f"{HEAD}- [P-1] run tox\n  - state: deleted\n").left_out == ["P-1 is marked as removed"]


def test_what_an_imported_strategy_names_follows_its_words(here: SessionManager) -> None:
    teach(here, "prices are in `src/prices.py`", anchors=["path:src/prices.py"])
    bring(here, exported(here).replace("[P-1] prices are in `src/prices.py`", "[P-1] prices are in `src/costs.py`"))
    assert session_of(here).playbook.bullets["P-1"].anchors == ("path:src/costs.py",)
    bring(here, exported(here).split("- [P-1]")[0] + "- [P-2] taxes are in `src/taxes.py`\n")
    assert session_of(here).playbook.bullets["P-2"].anchors == ("path:src/taxes.py",)
