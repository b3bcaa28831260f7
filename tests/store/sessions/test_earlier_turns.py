"""Test finding earlier turns by a query that refers to them, and by no other query."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.store.session_manager import SessionManager
from tests.support.databases import open_database

SENT_FROM = 54  # Turns from here on are in the request already.

# Routine work that identifies no turn.
WORK = (
    "run the tests again", "add a docstring to the new function", "rename the variable to something clearer",
    "commit this with a short message", "explain what this module does", "fix the failing test",
    "now do the same for the other file",
    "show me the diff", "make the error message shorter", "why does this test fail?", "add a test for the empty list",
    "update the readme", "format the code", "can you check the types as well?", "what is left to do?",
)  # fmt: skip
ANSWERS = (
    "Done: the tests pass, 14 of them.",
    "I changed the function in src/app.py and ran the tests; all of them pass now.",
    "The module reads the settings, checks them and returns one value.", "Here is the diff; it touches two files.",
    "The test fails because the list is empty; I added a check.",
)  # fmt: skip

FACTS = {
    7: ("let us keep uploads below 48 megabytes, the proxy drops larger ones", "Understood: at most 48 megabytes."),
    12: ("the nightly backup goes to the machine called heron", "Noted, the backup goes to heron."),
    20: ("remember: the zebra port is 7411", "The zebra port is 7411."),
    31: ("which parser did we choose?", "We chose the recursive descent parser, because of the optional commas."),
}  # fmt: skip


@pytest.fixture(scope="module")
def sixty_turns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a database with one session of sixty turns, four of which contain a fact; each has a tool
    result."""
    path = tmp_path_factory.mktemp("search") / "swecli.db"
    database = open_database(path)
    manager = SessionManager(database)
    manager.start("/p", "scripted/test")
    for number in range(1, 61):
        query, answer = FACTS.get(
            number, (WORK[number % len(WORK)], ANSWERS[number % len(ANSWERS)])
        )
        manager.begin_interaction(query)
        call = ToolCall(f"call_{number}", "read_file", {"path": "src/app.py"})
        manager.append(ChatMessage(Role.ASSISTANT, "Looking.", tool_calls=[call]))
        call.result = (
            "def main():\n    return run(settings)\n"
            if number != 40
            else "ERROR flux capacitor timeout at 3:14"
        )
        manager.record_call(call)
        manager.append(ChatMessage(Role.ASSISTANT, answer))
        manager.finish_interaction("complete")
    database.close()
    return path


@pytest.fixture
def session(sixty_turns: Path, tmp_path: Path) -> Iterator[SessionManager]:
    """Yield a manager whose current session is the one of sixty turns, in a copy of its database."""
    database = open_database(Path(shutil.copy(sixty_turns, tmp_path)))
    manager = SessionManager(database)
    manager.resume(manager.catalog.list_sessions()[0].id, "/p")
    yield manager
    database.close()


@pytest.mark.parametrize(
    ("query", "interaction", "word"),
    [
        ("what did I say about the zebra port?", 20, "7411"),
        ("where does the nightly backup go?", 12, "heron"),
        ("how large may uploads be, in megabytes?", 7, "48"),
        ("why did we choose the recursive descent parser?", 31, "commas"),
        ("what was that flux capacitor error?", 40, "timeout"),
        ("the ports of the zebras, which were they?", 20, "7411"),
        ("how large may an upload be, by the proxies?", 7, "48"),
        ("did we choose recursively descending parsers?", 31, "commas"),
    ],
)
@pytest.mark.slow
def test_a_query_finds_the_earlier_turn_it_refers_to(
    session: SessionManager, query: str, interaction: int, word: str
) -> None:
    found = session.search_session(query, before=SENT_FROM)
    assert found[0].interaction == interaction
    assert any(word in place.excerpt for place in found[0].excerpts)
    assert 0.5 <= found[0].score <= 1


@pytest.mark.parametrize(
    "query",
    [
        *WORK, "thanks", "yes, go on", "write a function that sorts the list of users", "delete the old migration",
        "please use tabs instead of spaces", "what does the settings module return?", "is the new code faster?", "",
        "zebra", "open a pull request", "…", "日本語", '"quoted" AND NOT', "the port",
    ],
)  # fmt: skip
def test_a_query_that_refers_to_no_earlier_turn_finds_nothing(
    session: SessionManager, query: str
) -> None:
    assert session.search_session(query, before=SENT_FROM) == []


def test_turns_already_in_the_request_are_not_found(session: SessionManager) -> None:
    assert session.search_session("what did I say about the zebra port?", before=20) == []
    assert session.search_session("what did I say about the zebra port?", before=21)


def test_a_stored_query_does_not_find_itself(session: SessionManager) -> None:
    session.store_query(query := "what did I say about the zebra port?")
    assert [one.interaction for one in session.search_session(query, before=SENT_FROM)] == [20]


def test_without_a_minimum_score_any_word_matches_and_the_best_come_first(
    session: SessionManager,
) -> None:
    [one] = session.search_session("zebra", floor=0)
    assert (one.interaction, one.excerpts[0].place) == (20, "query")
    assert len(session.search_session("heron uploads zebra", floor=0, limit=2)) == 2


@pytest.mark.slow
def test_only_the_current_session_is_searched(session: SessionManager) -> None:
    session.start("/p", "scripted/test")
    session.begin_interaction("hello")
    assert session.search_session("the zebra port", floor=0) == []


def test_an_excerpt_is_short_and_has_no_secrets(session: SessionManager) -> None:
    session.begin_interaction(
        "x " * 3000
        + "the walrus token is ghp_"
        + "a1B2" * 9
        + " of the walrus server "
        + "y " * 3000
    )
    [one] = session.search_session("walrus server token", floor=0)
    assert len(one.excerpts[0].excerpt) < 450
    assert "ghp_" not in one.excerpts[0].excerpt
