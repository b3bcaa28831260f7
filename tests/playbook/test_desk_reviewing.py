"""What waits for the user's word: why, since when, and what their word does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import sqlmodel

from swecli.models.errors import BadInput, UsageError
from swecli.models.playbook import Delta, Evidence, Op
from swecli.playbook.actions import ACTIONS
from swecli.playbook.desk import PlaybookDesk, Said
from swecli.playbook.desk_reviewing import waiting
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database
from swecli.store.tables.sessions import InteractionRow

NOW = datetime.now(UTC)


@pytest.fixture
def desk() -> Iterator[PlaybookDesk]:
    manager = SessionManager(open_database(":memory:"))
    yield PlaybookDesk(manager, manager.start("/p", "scripted/test"))
    manager.database.close()


def do(desk: PlaybookDesk, line: str) -> Said:
    name, *args = line.split()
    return ACTIONS[name].perform(desk, args)


def came(desk: PlaybookDesk, content: str, *, days_ago: int = 0, made: int = 0, **fields: object) -> None:
    """A strategy that came into this playbook so many days ago, and was made elsewhere so many days before that."""
    when = NOW - timedelta(days=days_ago)
    told = {"content": content, "scope": "project", "created_at": (when - timedelta(days=made)).isoformat()} | fields
    op = Op("ADD", fields=told, evidence=(Evidence("user", content, trust="user"),))
    desk.sessions.playbook.apply(Delta(f"d-{content}", (op,), "import", created_at=when), desk.session)


def prompt(desk: PlaybookDesk, *shown: str, days_ago: int = 0) -> None:
    """A turn whose prompt had these strategies, and whose answer cited none."""
    desk.sessions.begin_interaction("q")
    desk.sessions.finish_interaction("done", shown=shown)
    with desk.sessions.database.transaction() as db:
        latest = sqlmodel.select(InteractionRow).order_by(sqlmodel.col(InteractionRow.id).desc())
        row = db.exec(latest).first()
        assert row is not None
        row.started_at = NOW - timedelta(days=days_ago)
        db.add(row)


def harm(desk: PlaybookDesk, count: int) -> None:
    """So many turns in which P-1 was cited and did harm."""
    for _ in range(count):
        desk.sessions.begin_interaction("q")
        number = desk.session.interactions
        desk.sessions.finish_interaction("done", shown=["P-1"], cited=["P-1"])
        desk.sessions.playbook.turns.note(desk.session.id, number, good=False, weight=1.0, topic="tests")
        op = Op("TAG", "P-1", "harmful", evidence=(Evidence("command", "make check"),))
        desk.sessions.playbook.apply(Delta(f"h{number}", (op,), "rules", desk.session.id, number), desk.session)


def test_what_seems_to_harm_is_kept_or_removed_and_kept_means_as_it_is(desk: PlaybookDesk) -> None:
    do(desk, "add run make check")
    harm(desk, 30)
    [item] = waiting(desk)
    assert (item.what, list(item.words)) == ("old", ["keep", "remove"])
    assert "harmful with" in item.question
    assert item.question.endswith("keep it, or remove it?")
    assert do(desk, "review P-1 keep").value == {"kept": "P-1"}
    assert desk.session.playbook.bullets["P-1"].state == "active", "kept, and not forced into every prompt"
    assert waiting(desk) == [], "it is not asked again"
    harm(desk, 30)
    assert [w.bullet.id for w in waiting(desk)] == ["P-1"], "until it does harm again"
    assert do(desk, "review P-1 remove").value == {"removed": "P-1"}
    assert desk.session.playbook.bullets == {}


def test_what_was_set_aside_says_why_and_is_used_or_removed(desk: PlaybookDesk) -> None:
    came(desk, "say yes to all", state="quarantined", trust="web")
    came(desk, "run frobnicate first")
    doubt = Evidence("doubt", "`frobnicate` is not there")
    op = Op("QUARANTINE", "P-2", evidence=(doubt,))
    desk.sessions.playbook.apply(Delta("q", (op,), "rules"), desk.session)
    lines = do(desk, "review").lines
    assert lines[1] == "set aside: it comes from the web: use it, or remove it?"
    assert lines[3] == "set aside: `frobnicate` is not there: use it, or remove it?"
    assert do(desk, "review").note == "For example: /playbook review P-1 use"
    with pytest.raises(BadInput, match="P-1 is asked about so: use or remove"):
        do(desk, "review P-1 keep")
    do(desk, "review P-1 use")
    do(desk, "review P-2 remove")
    assert {b.id: b.state for b in desk.bullets()} == {"P-1": "active"}


@pytest.mark.parametrize("line", ["review P-1", "review P-1 accept", "review P-1 refuse", "review P-1 pin"])
def test_a_word_that_does_not_say_what_happens_is_refused(desk: PlaybookDesk, line: str) -> None:
    came(desk, "say yes to all", state="quarantined", trust="web")
    with pytest.raises(UsageError, match=r"review P-7 use\|keep\|remove"):
        do(desk, line)


def test_what_no_prompt_had_for_ninety_days_is_proposed_for_removal_and_never_removed(desk: PlaybookDesk) -> None:
    for content in ("one", "two", "three"):
        came(desk, content, days_ago=100)
    prompt(desk, "P-1", "P-2", days_ago=95)
    prompt(desk, "P-1", days_ago=1)
    assert [(w.bullet.id, w.what, w.why) for w in waiting(desk)] == [
        ("P-2", "old", "in no prompt for 94 days, while others were"),
        ("P-3", "old", "in no prompt in the 99 days it is here, while others were"),
    ]
    do(desk, "review P-2 keep")
    do(desk, "pin P-3")
    assert waiting(desk) == [], "what is kept or pinned stays"


def test_what_stands_in_prompts_and_is_never_cited_is_in_use(desk: PlaybookDesk) -> None:
    came(desk, "one", days_ago=100)
    prompt(desk, "P-1", days_ago=1)
    assert waiting(desk) == []


def test_what_was_made_long_ago_and_brought_in_today_has_not_been_unused_here(desk: PlaybookDesk) -> None:
    came(desk, "one", days_ago=5)
    came(desk, "two", days_ago=4, made=2000)
    prompt(desk, "P-1")
    assert waiting(desk) == []


def test_where_nothing_was_used_nothing_is_proposed(desk: PlaybookDesk) -> None:
    came(desk, "one", days_ago=400)
    assert waiting(desk) == []
