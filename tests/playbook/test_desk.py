"""The actions behind both faces, without a face."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from swecli.models.errors import BadInput, UsageError
from swecli.models.playbook import Delta, Evidence, Op
from swecli.playbook.actions import ACTIONS
from swecli.playbook.desk import PlaybookDesk, Said
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database


@pytest.fixture
def desk() -> Iterator[PlaybookDesk]:
    manager = SessionManager(open_database(":memory:"))
    yield PlaybookDesk(manager, manager.start("/p", "scripted/test"))
    manager.database.close()


def do(desk: PlaybookDesk, line: str) -> Said:
    name, *args = line.split()
    return ACTIONS[name].perform(desk, args)


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
    assert f"in the prompt of T3, T2, T1 of {desk.session.id[:13]}" in shown.lines
    assert "never cited" not in shown.lines[1]
    assert shown.value["prompts_cut"] is False
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


def test_the_opposite_of_a_pinned_strategy_waits_and_that_is_told(desk: PlaybookDesk) -> None:
    do(desk, "add use tabs for indentation")
    do(desk, "pin P-1")
    assert do(desk, "add never use tabs for indentation").lines == (
        "Added as P-2.",
        "It waits for your word, since it contradicts P-1, which you pinned: `/playbook review`.",
    )
    assert [b.state for b in desk.bullets()] == ["pinned", "quarantined"]
    do(desk, "disable P-1")
    assert do(desk, "add never ever use tabs for the indentation").lines == (
        "P-2 says so already; your words are noted with it. It is active again.",
    )


def test_what_a_strategy_names_follows_its_words(desk: PlaybookDesk) -> None:
    do(desk, "add prices are in `src/prices.py`")
    assert desk.bullets()[0].anchors == ("path:src/prices.py",)
    desk.sessions.playbook.verify(desk.session, {"P-1": "src/prices.py is gone"}, [])
    do(desk, "edit P-1 prices are in `src/costs.py`")
    [bullet] = desk.bullets()
    assert (bullet.anchors, bullet.stale) == (("path:src/costs.py",), "")
    do(desk, "edit P-1 prices have two digits")
    assert desk.bullets()[0].anchors == ()
    do(desk, "undo 2")
    [bullet] = desk.bullets()
    assert (bullet.anchors, bullet.stale) == (("path:src/prices.py",), "src/prices.py is gone")


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


def test_what_stood_in_a_prompt_and_was_not_named_there_is_said_so_with_the_session(desk: PlaybookDesk) -> None:
    do(desk, "add run make check")
    for _ in range(21):
        desk.sessions.begin_interaction("q")
        desk.sessions.finish_interaction("done", shown=["P-1"])
    first = desk.session
    other = PlaybookDesk(desk.sessions, desk.sessions.start("/p", "scripted/test"))
    desk.sessions.begin_interaction("q")
    desk.sessions.finish_interaction("done", shown=["P-1"])
    shown = do(other, "show P-1")
    assert shown.lines[1].endswith("never cited")
    assert f"in the prompt of T1 of {other.session.id[:13]}; T21, " in shown.lines[-1]
    assert shown.lines[-1].endswith(f"T3 of {first.id[:13]} and more")
    assert (shown.value["prompts_cut"], len(shown.value["prompts"])) == (True, 20)


def seen(desk: PlaybookDesk) -> None:
    """A change that only counts P-1 as shown."""
    number = len(desk.sessions.playbook.log(desk.session, 999))
    delta = Delta(f"seen-{number}", (Op("TAG", "P-1", "neutral"),), "rules", desk.session.id)
    desk.sessions.playbook.apply(delta, desk.session)


def test_the_log_says_what_was_learned_and_what_was_not_taken(desk: PlaybookDesk) -> None:
    do(desk, "add run make check")
    add = Op("ADD", fields={"content": "use uv", "scope": "project"}, evidence=(Evidence("command", "pip is gone"),))
    refused = ("write good code: it is general advice",)
    desk.sessions.playbook.apply(Delta("d", (add,), "rules", desk.session.id, 1, refused=refused), desk.session)
    for _ in range(40):
        seen(desk)
    do(desk, "disable P-1")
    rows = do(desk, "log").rows
    assert [row[3] for row in rows] == [
        "P-1 state → disabled",
        "+ P-2 use uv (pip is gone); not taken: write good code: it is general advice",
        "+ P-1 run make check (you said so)",
    ]
    assert [row[3] for row in do(desk, "log 2 --all").rows] == ["P-1 state → disabled", "shown: P-1"]
    assert do(desk, "log").value[1]["lines"][0] == "+ P-2 use uv (pip is gone)"


def test_a_large_import_is_one_short_line(desk: PlaybookDesk) -> None:
    ops = tuple(Op("ADD", fields={"content": f"rule {n}", "scope": "project"}) for n in range(50))
    desk.sessions.playbook.apply(Delta("d", ops, "import", reason="import of own.md"), desk.session)
    [row] = do(desk, "log").rows
    assert row[3] == "import of own.md: 50 taken in, 0 changed"
    assert do(desk, "undo").lines == ("taken back: add 50",)


def test_the_difference_is_what_undo_takes_back(desk: PlaybookDesk) -> None:
    do(desk, "add run make check")
    do(desk, "edit P-1 run make test")
    seen(desk)
    assert do(desk, "diff").lines == (
        "- P-1 run make check",
        "+ P-1 run make test",
        "~ P-1 neutral 0 → 1",
    )
    do(desk, "undo")
    assert desk.session.playbook.bullets["P-1"].content == "run make check"
    assert desk.session.playbook.bullets["P-1"].neutral == 0


def test_blame_gives_each_strategy_its_own_reason(desk: PlaybookDesk) -> None:
    ops = tuple(
        Op("ADD", fields={"content": c, "scope": "project"}, evidence=(Evidence("command", f"for {c}"),))
        for c in ("one", "two")
    )
    desk.sessions.playbook.apply(Delta("d", ops, "rules"), desk.session)
    assert {row[4] for row in do(desk, "blame P-2").rows} == {"for two"}
    assert "for one" not in " ".join(do(desk, "show P-2").lines)


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
    other = PlaybookDesk(desk.sessions, desk.sessions.start("/q", "scripted/test"))
    assert [row[0] for row in do(other, "list").rows] == ["P-1"]


def test_stats_add_up(desk: PlaybookDesk) -> None:
    do(desk, "add run make check")
    turns(desk, "helpful", 2)
    turns(desk, "harmful", 1)
    value = do(desk, "stats").value
    assert (value["strategies"], value["turns_with_outcome"], value["turns_good"]) == (1, 3, 2)
    assert value["states"] == {"active": 1}
    desk.sessions.playbook.verify(desk.session, {"P-1": "`make` is not there"}, [])
    do(desk, "off")
    lines = do(desk, "stats").lines
    assert "1 of them stale: what they name is gone" in lines
    assert "the playbook is off here: none of it goes into prompts" in lines
    assert do(desk, "list").value[0]["off"] is True


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
    assert {name: row["chosen"] for name, row in rows.items()} == {"P-1": True, "P-2": False, "P-3": False}
    assert "withheld" in rows["P-2"]["reason"]
    assert not value["recorded"]
    for row in rows.values():
        assert row["score"] == pytest.approx((row["base"] + (1 - row["base"]) * row["match"]) * row["value"])
        assert row["reason"]
    assert rows["P-1"]["score"] > rows["P-2"]["score"]
    assert (rows["P-3"]["chosen"], rows["P-3"]["reason"]) == (False, "it is disabled")
    assert sum(row["tokens"] for row in rows.values() if row["chosen"]) <= value["tokens"] <= value["budget"]
    assert do(desk, "why").value["query"] == do(desk, "why 1").value["query"] == "run the tests"
    assert do(desk, "why commit it").rows[0][0] == "P-2"
    with pytest.raises(BadInput, match="no turn T9"):
        do(desk, "why T9")
