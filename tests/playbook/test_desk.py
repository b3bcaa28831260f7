"""The actions behind both faces, without a face."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from swecli.models.errors import BadInput, UsageError
from swecli.models.playbook import Delta, Evidence, Op
from swecli.playbook.actions import ACTIONS
from swecli.playbook.desk import PlaybookDesk, Said
from swecli.store.database import open_database
from swecli.store.session_manager import SessionManager


@pytest.fixture
def desk() -> Iterator[PlaybookDesk]:
    manager = SessionManager(open_database(":memory:"))
    yield PlaybookDesk(manager, manager.start("/p", "demo"))
    manager.database.close()


def do(desk: PlaybookDesk, line: str) -> Said:
    name, *args = line.split()
    return ACTIONS[name].run(desk, args)


def turns(desk: PlaybookDesk, tag: str, count: int) -> None:
    """So many turns in which P-1 was cited and judged."""
    good = tag == "helpful"
    for _ in range(count):
        desk.sessions.begin_interaction("q")
        number = desk.session.interactions
        desk.sessions.finish_interaction("done", shown=["P-1"], cited=["P-1"])
        desk.sessions.playbook.turns.note(desk.session.id, number, good=good, weight=1.0, topic="tests")
        op = Op("TAG", "P-1", tag, evidence=(Evidence("command", "make check"),))  # type: ignore[arg-type]
        delta = Delta(f"d{number}", (op,), "rules", desk.session.id, number)
        desk.sessions.playbook.apply(delta, desk.session)


def test_the_list_shows_counts_and_score(desk: PlaybookDesk) -> None:
    do(desk, "add run make check")
    turns(desk, "helpful", 3)
    [row] = do(desk, "list").rows
    assert row[:6] == ("P-1", "3", "0", "0", "active", "project")
    assert float(row[6]) > 0
    shown = do(desk, "show P-1")
    assert "in the prompt of T3, T2, T1" in shown.lines
    assert any("score +" in line for line in shown.lines)
    assert shown.value["prompts"][0] == {"session": desk.session.id, "turn": 3}


def test_effect_says_when_it_is_not_enough(desk: PlaybookDesk) -> None:
    do(desk, "add run make check")
    turns(desk, "helpful", 2)
    assert "2 of 2, not enough data" in do(desk, "effect").rows[0]
    assert "not enough data" in do(desk, "effect").note
    turns(desk, "helpful", 10)
    assert "12 of 12, 76 to 100 %" in do(desk, "effect P-1").rows[0]


def test_reading_a_strategy_verifies_nothing(desk: PlaybookDesk) -> None:
    do(desk, "add prices are in `prices.py`")
    for line in ("show P-1", "list", "why prices", "blame P-1", "export", "effect"):
        do(desk, line)
    desk.sessions.begin_interaction("where are prices?")
    desk.sessions.finish_interaction("done", shown=["P-1"], cited=["P-1"])
    bullet = desk.sessions.playbook.get("P-1")
    assert bullet is not None
    assert bullet.last_used is not None
    assert bullet.verified_at is None


def test_states_change_by_hand_and_back(desk: PlaybookDesk) -> None:
    do(desk, "add run make check")
    for line, state in (("pin P-1", "pinned"), ("disable 1", "disabled"), ("restore p1", "active")):
        do(desk, line)
        assert desk.session.playbook.bullets["P-1"].state == state
    with pytest.raises(BadInput, match="active already"):
        do(desk, "restore P-1")
    do(desk, "remove P-1")
    with pytest.raises(BadInput, match="P-1 was removed"):
        do(desk, "pin P-1")
    do(desk, "restore P-1")
    assert desk.session.playbook.live()


def test_blame_names_the_change_and_diff_what_became_of_it(desk: PlaybookDesk) -> None:
    do(desk, "add run make check")
    turns(desk, "helpful", 2)
    do(desk, "edit P-1 run make test")
    rows = {row[0]: row for row in do(desk, "blame P-1").rows}
    assert (rows["content"][1], rows["content"][2]) == ("run make test", "user")
    assert (rows["helpful"][1], rows["helpful"][2], rows["helpful"][4]) == ("2", "rules", "make check")
    assert rows["helpful"][3].endswith(" T2")
    assert do(desk, "diff 2").lines == ("- P-1 run make check", "+ P-1 run make test", "~ P-1 helpful 1 → 2")


def test_a_wider_scope_is_asked_for_in_so_many_words(desk: PlaybookDesk) -> None:
    do(desk, "add run make check")
    with pytest.raises(BadInput, match="applies to the project already"):
        do(desk, "promote P-1 project")
    with pytest.raises(UsageError):
        do(desk, "promote P-1")
    do(desk, "promote P-1 user")
    other = PlaybookDesk(desk.sessions, desk.sessions.start("/q", "demo"))
    assert [row[0] for row in do(other, "list").rows] == ["P-1"]


def test_stats_add_up(desk: PlaybookDesk) -> None:
    do(desk, "add run make check")
    turns(desk, "helpful", 2)
    turns(desk, "harmful", 1)
    value = do(desk, "stats").value
    assert (value["strategies"], value["turns_with_outcome"], value["turns_good"]) == (1, 3, 2)
    assert value["states"] == {"active": 1}


def test_why_adds_up_for_every_candidate_and_knows_what_stood_in_the_prompt(desk: PlaybookDesk) -> None:
    for text in ("run the tests with tox", "write commit messages in English", "keep the parser pure"):
        do(desk, f"add {text}")
    do(desk, "disable P-3")
    desk.sessions.begin_interaction("run the tests")
    desk.sessions.finish_interaction("done", shown=["P-1"])
    desk.sessions.playbook.turns.note(desk.session.id, 1, ablation="withheld", withheld=["P-2"])
    value = do(desk, "why T1").value
    assert value["query"] == "run the tests"
    rows = {row["id"]: row for row in value["candidates"]}
    assert {name: row["was"] for name, row in rows.items()} == {"P-1": "yes", "P-2": "withheld", "P-3": "no"}
    for row in rows.values():
        assert row["score"] == pytest.approx((row["base"] + (1 - row["base"]) * row["match"]) * row["value"])
        assert row["reason"]
    assert rows["P-1"]["score"] > rows["P-2"]["score"]
    assert (rows["P-3"]["chosen"], rows["P-3"]["reason"]) == (False, "it is disabled")
    assert sum(row["tokens"] for row in rows.values() if row["chosen"]) <= value["tokens"] <= value["budget"]
    assert do(desk, "why").value["query"] == "run the tests"
    assert do(desk, "why commit it").rows[0][0] == "P-2"
    with pytest.raises(BadInput, match="no turn T9"):
        do(desk, "why T9")
