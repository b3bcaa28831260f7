"""Test listing and searching the sessions of a database, and resuming one by its id or title."""

from __future__ import annotations

import pytest

from swecli.models.errors import BadInput
from swecli.models.message import ChatMessage, Role
from swecli.store.session_manager import SessionManager


def store_session(manager: SessionManager, directory: str, *queries: str, title: str = "") -> str:
    session = manager.start(directory, "scripted/test", title=title)
    for query in queries:
        manager.begin_interaction(query)
        manager.append(ChatMessage(Role.ASSISTANT, f"about {query}"))
    return session.id


def test_resume_without_a_reference_loads_the_newest_session_of_the_directory(
    manager: SessionManager,
) -> None:
    store_session(manager, "/p", "one")
    second = store_session(manager, "/p", "two")
    store_session(manager, "/q", "three")
    for ref in (None, ""):
        assert manager.resume(ref, "/p").id == second
    with pytest.raises(BadInput, match="no session in this directory"):
        manager.resume(None, "/nowhere")


def test_a_session_is_found_by_id_title_or_unique_prefix(manager: SessionManager) -> None:
    session = store_session(manager, "/p", "one", title="Login bug")
    for ref in (session, session.upper(), session[:10], session[:-1], "Login bug", " login BUG "):
        assert manager.resume(ref, "/elsewhere").id == session


def test_an_ambiguous_or_unknown_session_is_refused_with_the_candidates(
    manager: SessionManager,
) -> None:
    first = store_session(manager, "/p", "one", title="same")
    second = store_session(manager, "/p", "two", title="same")
    with pytest.raises(BadInput, match="more than one session") as caught:
        manager.resume("same", "/p")
    assert first in caught.value.hint
    assert second in caught.value.hint
    with pytest.raises(BadInput, match="more than one session"):
        manager.resume(first[:4], "/p")
    for ref in ("nope", "%", "_", "' OR 1=1 --", "\0"):
        with pytest.raises(BadInput, match="There is no session"):
            manager.resume(ref, "/p")
    assert manager.current_session


def test_sessions_are_listed_by_last_use(manager: SessionManager) -> None:
    first = store_session(manager, "/p", "one")
    second = store_session(manager, "/q", "two", "three", title="named")
    assert [info.id for info in manager.catalog.list_sessions()] == [second, first]
    manager.resume(first, "/p")
    manager.begin_interaction("again")
    assert [info.id for info in manager.catalog.list_sessions()] == [first, second]
    assert [info.id for info in manager.catalog.list_sessions("/q")] == [second]
    assert manager.catalog.list_sessions("/nowhere") == []
    assert len(manager.catalog.list_sessions(limit=1)) == 1
    info = manager.catalog.list_sessions("/q")[0]
    assert (info.title, info.interactions, info.messages, info.cost, info.first_query) == (
        "named",
        2,
        4,
        0.0,
        "two",
    )


def test_search_finds_messages_with_all_words_newest_first(manager: SessionManager) -> None:
    store_session(manager, "/p", "the parser fails on tabs", "nothing here")
    store_session(manager, "/q", "make the parser faster", title="speed")
    hits = manager.catalog.search("parser")
    assert [(hit.role, hit.interaction, hit.title) for hit in hits] == [
        ("assistant", 1, "speed"),
        ("user", 1, "speed"),
        ("assistant", 1, ""),
        ("user", 1, ""),
    ]
    assert [hit.snippet for hit in manager.catalog.search("PARSER tabs")] == [
        "about the parser fails on tabs",
        "the parser fails on tabs",
    ]
    assert len(manager.catalog.search("pars*")) == 4
    assert manager.catalog.search("pars") == []
    assert len(manager.catalog.search("parser", limit=1)) == 1


def test_search_finds_titles(manager: SessionManager) -> None:
    session = store_session(manager, "/p", "one", title="Login bug")
    [hit] = manager.catalog.search("login")
    assert (hit.session_id, hit.role, hit.interaction, hit.snippet) == (
        session,
        "title",
        0,
        "Login bug",
    )
    manager.rename("Logout")
    assert manager.catalog.search("login") == []
    assert len(manager.catalog.search("logout")) == 1


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("请修复这个错误", "修复"),
        ("use x == y here", "=="),
        ("100% sure", "%"),
        ("path/to_file.py", "to_file.py"),
        ("foo AND bar", "AND"),
        ('say "hi" now', '"hi"'),
        ("NEAR(x, y)", "NEAR(x"),
        ("emoji 😀 text", "😀"),
    ],
)
def test_search_treats_special_characters_literally(
    manager: SessionManager, query: str, words: str
) -> None:
    store_session(manager, "/p", query)
    assert query in [hit.snippet for hit in manager.catalog.search(words)]


def test_a_search_without_words_is_refused(manager: SessionManager) -> None:
    with pytest.raises(BadInput, match="at least one word"):
        manager.catalog.search("  ")
    assert manager.catalog.search("unheard") == []
    assert manager.catalog.search("\0 \ud800") == []


def test_the_snippet_of_a_long_text_contains_the_word(manager: SessionManager) -> None:
    store_session(manager, "/p", "x " * 500 + "needle" + " y" * 500, "字" * 500 + "针" + "字" * 500)
    for word in ("needle", "针"):
        hit = manager.catalog.search(word)[0]
        assert word in hit.snippet
        assert len(hit.snippet) < 200
        assert hit.snippet.startswith("…")
        assert hit.snippet.endswith("…")
