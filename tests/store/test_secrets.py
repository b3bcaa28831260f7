"""Test that a secret is stored only in its message, not in session lists, search results or titles."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from swecli.models.message import ChatMessage, Role
from swecli.redact import redact_value
from swecli.store.session_files.importing import import_session
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import Database
from tests.support.secrets import secrets

pytestmark = pytest.mark.slow

SAMPLE = sorted(secrets())[::12]


@pytest.fixture(params=SAMPLE)
def typed_secret(request: pytest.FixtureRequest) -> tuple[str, str]:
    return secrets()[request.param]


def store_secret(manager: SessionManager, text: str) -> str:
    session = manager.start("/p", "scripted/test")
    manager.begin_interaction(text)
    manager.append(ChatMessage(Role.ASSISTANT, f"walrus {text} walrus"))
    return session.id


def test_a_message_with_a_secret_is_stored_and_sent_unchanged(
    manager: SessionManager, typed_secret: tuple[str, str]
) -> None:
    text, _ = typed_secret
    session = manager.resume(store_secret(manager, text), "")
    assert [message.content for message in session.messages] == [text, f"walrus {text} walrus"]
    assert session.to_api_messages()[0]["content"] == text


def test_lists_titles_and_snippets_contain_no_secret(
    manager: SessionManager, typed_secret: tuple[str, str]
) -> None:
    text, secret = typed_secret
    store_secret(manager, text)
    assert secret not in str(manager.catalog.list_sessions())
    for words in ("walrus", *text.split()[:2], secret[:8], secret[-8:]):
        assert secret not in str(manager.catalog.search(words))
    manager.rename(f"about {text}")
    assert secret not in str(
        [
            manager.current_session.title if manager.current_session else "",
            manager.catalog.list_sessions(),
        ]
    )
    assert secret not in manager.fork().title
    assert secret not in str(manager.catalog.search("about"))


@pytest.mark.parametrize("name", secrets())
def test_a_snippet_contains_no_part_of_a_secret(manager: SessionManager, name: str) -> None:
    text, secret = secrets()[name]
    store_secret(manager, f"{'word ' * 40} {text} {'word ' * 40} zebra")
    for words in ("walrus", "zebra", secret[:6], secret[-6:], secret[8:14]):
        snippets = str(
            [hit.snippet for hit in manager.catalog.search(words)] if words.strip() else ""
        )
        assert [
            secret[at : at + 10]
            for at in range(len(secret) - 9)
            if secret[at : at + 10] in snippets
        ] == []


def test_rows_of_earlier_versions_are_redacted_on_reading(
    manager: SessionManager, typed_secret: tuple[str, str]
) -> None:
    text, secret = typed_secret
    session = store_secret(manager, "hello")
    with closing(sqlite3.connect(str(manager.database.path))) as db, db:
        db.execute("UPDATE session SET title = ?, first_query = ?", (text, text))
    assert secret not in str(manager.catalog.list_sessions())
    assert secret not in manager.resume(session, "").title
    assert secret not in str(manager.catalog.search(text.split()[0]))


def test_an_export_without_secrets_can_be_imported(
    manager: SessionManager, memory: Database
) -> None:
    sessions = [store_secret(manager, text) for text, _ in secrets().values()]
    for session, (_, secret) in zip(sessions, secrets().values(), strict=True):
        redacted = redact_value(manager.archive.export(session))
        assert secret not in json.dumps(redacted, ensure_ascii=False)
        assert import_session(memory, json.loads(json.dumps(redacted))).session_id == session
