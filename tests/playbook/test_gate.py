"""The gate: what may become a bullet, and how a text stands to the bullets there are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.playbook import SessionPlaybook
from swecli.playbook.gate import clean, is_generic, nearest, objection

GENERIC = [
    "Be careful when editing code",
    "Always double-check your work before finishing",
    "Write clean and readable code",
    "Follow best practices",
    "Make sure to handle errors properly",
    "Think step by step before answering",
    "Read the file before making changes",
    "Test your changes thoroughly",
    "Always validate user input",
    "Understand the problem before writing code",
    "Ask the user when the task is not clear",
    "Provide clear and concise answers",
    "Consider edge cases",
    "Keep functions simple",
]
CONCRETE = [
    "Run the tests with pytest -q",
    "Use tabs for indentation",
    "Read `config.toml` before editing settings",
    "Migrations are append-only",
    "Tests need Redis",
    "Never commit to main",
    "Use pnpm",
    "The API lives in src/api",
    "Run make check before committing",
    "Call db.close() in fixtures",
]
PASSING = [
    "The server runs as pid 4711",
    "Kill process 1234 first",
    "Output is in /tmp/build-x/out.log",
    "Logs go to /var/folders/ab/c.log",
    "The release was on 2025-10-23",
    "The build broke yesterday",
    "The deploy finished at 14:05",
    "The bug is in line 42 of parser.py",
    "Commit 3f2a9bc1d fixed parser.py",
    "The suite gives 12 passed",
    "The object is at 0x7f3a2b1c",
    "pytest takes 3.2 seconds",
]


@pytest.mark.parametrize("content", GENERIC)
def test_general_advice_is_refused(content: str) -> None:
    assert objection(content, "reasoning") == "it is general advice"


@pytest.mark.parametrize("content", CONCRETE)
def test_concrete_strategies_pass(content: str) -> None:
    assert objection(content, "reasoning") == ""
    assert not is_generic(content)


@pytest.mark.parametrize("content", PASSING)
def test_passing_facts_are_refused(content: str) -> None:
    assert objection(content, "reasoning").startswith("it will not last")


def test_users_may_teach_what_reflectors_may_not() -> None:
    for content in ("Be careful when editing code", "The API version is 2024-02-15", "Stand-up is at 09:30"):
        assert objection(content, "user") == ""


def test_even_users_may_not_teach_secrets_or_what_cannot_last() -> None:
    assert "secret" in objection("The password is hunter2!", "user")
    assert "secret" in objection("The key is [redacted]", "user")
    assert "process id" in objection("The server has pid 4711", "user")
    assert "temporary path" in objection("Write to /tmp/x/y", "user")


def test_size_is_limited_for_everyone() -> None:
    assert objection("", "user") == "it is empty"
    assert objection("…!", "user") == "it is empty"
    assert "61 words" in objection("word " * 61, "user")
    assert objection("Use tabs " * 30, "user") == ""
    assert "characters" in objection("a" * 700, "user")


def test_what_the_instructions_say_is_not_learned_again() -> None:
    instructions = "# Rules\n- Use tabs for indentation in Python files.\n"
    assert objection("Use tabs for indentation", "reasoning", instructions) == "the instructions say so already"
    assert objection("Use spaces for Makefiles", "reasoning", instructions) == ""
    assert objection("Use tabs for indentation", "user", instructions) == ""


def test_a_content_is_one_visible_line_that_cites_nothing() -> None:
    assert clean("  Use\n tabs\u202e\x1b[31m  see [P-7] ") == "Use tabs[31m see P-7"


@given(st.text(max_size=300))
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    assert "\n" not in clean(text)


@pytest.mark.parametrize(
    ("content", "relation"),
    [
        ("Always use tabs for indentation", "same"),
        ("tabs for indentation", "same"),
        ("Use tabs for indentation in Python", "narrower"),
        ("Use spaces for indentation", "variant"),
        ("Never use tabs for indentation", "opposite"),
        ("Run the tests with pytest", None),
        ("Use pnpm", None),
    ],
)
def test_a_text_stands_in_one_relation_to_the_nearest_bullet(content: str, relation: str | None) -> None:
    book = SessionPlaybook()
    book.add("Use tabs for indentation")
    book.add("Commit messages are in English")
    found = nearest(content, book.bullets.values())
    assert (found[1] if found else None) == relation


def test_deleted_bullets_are_no_neighbours_and_disabled_ones_are() -> None:
    book = SessionPlaybook()
    bullet = book.add("Use tabs")
    book.remove(bullet.id)
    assert nearest("Use tabs", book.bullets.values()) is None
    disabled = book.add("Use pnpm", state="disabled")
    assert nearest("Use pnpm", book.bullets.values()) == (disabled, "same")
