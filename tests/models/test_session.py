"""Test a session's messages and its window."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.models.api_message import calls_of
from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.models.session import Session, SessionInfo
from tests.support.playbooks import add_bullet

ROOT = Path(__file__).parents[2]

# The check that was published with the description of the reflection window, unchanged.
PUBLISHED = """
import sys
sys.path.insert(0, '.')

from swecli.models.session import Session
from swecli.models.message import ChatMessage, Role, ToolCall
from datetime import datetime

# Create session with 10 interactions
session = Session(id='test', working_directory='/tmp', created_at=datetime.now(), updated_at=datetime.now())

for i in range(10):
    session.messages.append(ChatMessage(role=Role.USER, content=f"Query {i+1}"))
    tc = ToolCall(id=f"c{i}", name="read", parameters={}, result="ok", approved=True)
    session.messages.append(ChatMessage(role=Role.ASSISTANT, content=f"Resp {i+1}", tool_calls=[tc]))

# Test window sizes
full = session.to_api_messages()
w5 = session.to_api_messages(window_size=5)
w3 = session.to_api_messages(window_size=3)

print(f"Full history: {len(full)} messages")
print(f"Window (5):   {len(w5)} messages ({len(w5)/len(full)*100:.1f}%)")
print(f"Window (3):   {len(w3)} messages ({len(w3)/len(full)*100:.1f}%)")

# Verify correctness
queries_w5 = [m["content"] for m in w5 if m.get("role") == "user"]
assert queries_w5 == ["Query 6", "Query 7", "Query 8", "Query 9", "Query 10"]
print("✅ Reflection window working correctly!")
"""


def make_session(count: int) -> Session:
    session = Session(id="s")
    for n in range(1, count + 1):
        session.add_message(ChatMessage(Role.USER, f"Query {n}"))
        session.add_message(
            ChatMessage(Role.ASSISTANT, f"Resp {n}", [ToolCall(f"c{n}", "read", result="ok")])
        )
    return session


def test_the_published_check_of_the_window_prints_the_expected_lines() -> None:
    done = subprocess.run(
        [sys.executable, "-"],
        input=PUBLISHED,
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.splitlines() == [
        "Full history: 30 messages",
        "Window (5):   15 messages (50.0%)",
        "Window (3):   9 messages (30.0%)",
        "✅ Reflection window working correctly!",
    ]


@pytest.mark.parametrize(
    ("size", "count"), [(None, 30), (10, 30), (99, 30), (5, 15), (3, 9), (1, 3), (0, 0)]
)
def test_api_messages_have_exactly_window_size_interactions(size: int | None, count: int) -> None:
    assert len(make_session(10).to_api_messages(window_size=size)) == count


def test_a_negative_window_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        make_session(1).to_api_messages(window_size=-1)


@given(st.integers(0, 12), st.integers(0, 15))
@settings(deadline=None)
def test_a_window_begins_with_a_user_message_and_keeps_calls_with_their_results(
    count: int, size: int
) -> None:
    out = make_session(count).to_api_messages(window_size=size)
    asked = [call["id"] for m in out for call in calls_of(m)]
    assert asked == [m["tool_call_id"] for m in out if m["role"] == "tool"]
    assert [m["role"] for m in out[:1]] in ([], ["user"])
    assert len(asked) == min(count, size)


def test_a_user_message_begins_an_interaction() -> None:
    session = make_session(3)
    assert [m.interaction for m in session.messages] == [1, 1, 2, 2, 3, 3]
    assert session.interactions == 3


def test_a_resumed_session_continues_the_interaction_numbers() -> None:
    session = Session(id="s", interactions=40)
    session.add_message(ChatMessage(Role.USER, "next"))
    assert session.messages[0].interaction == 41


def test_messages_before_the_first_user_message_are_in_no_interaction() -> None:
    session = Session(
        id="s", messages=[ChatMessage(Role.ASSISTANT, "lost"), *make_session(2).messages]
    )
    assert [group[0].content for group in session.group_by_interaction()] == ["Query 1", "Query 2"]
    assert len(session.to_api_messages(window_size=9)) == 6
    assert len(session.to_api_messages()) == 7


def test_the_playbook_can_be_replaced() -> None:
    session, other = Session(id="s"), Session(id="t")
    add_bullet(other.playbook, "Use tabs.")
    session.update_playbook(other.get_playbook())
    assert session.get_playbook() is other.playbook


def test_two_sessions_do_not_share_messages_or_playbook() -> None:
    first, second = Session(id="a"), Session(id="b")
    first.add_message(ChatMessage(Role.USER, "x"))
    add_bullet(first.playbook, "y")
    assert (second.messages, second.playbook.bullets) == ([], {})


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("Fix it", "Fix it"),
        ("\n\n  Fix the parser.  It fails on\ntabs", "Fix the parser"),
        ("what is in app.py?", "what is in app.py?"),
        ("", ""),
        ("word " * 40, "word word word word word word word word word word word…"),
        ("x" * 200, "x" * 59 + "…"),
    ],
)
def test_the_title_of_an_untitled_session_is_the_first_sentence_of_its_query(
    query: str, title: str
) -> None:
    now = datetime.now(UTC)
    assert SessionInfo("s", "", "/w", "m", now, now, 1, 2, 0.0, query).shown_title == title
    assert len(title) <= 60
