"""Test removing duplicate findings."""

from __future__ import annotations

from swecli.context import dedupe_findings
from swecli.context.system_message import extract_facts
from swecli.models.context import ContextState
from swecli.models.finding import Finding
from swecli.models.message import STEER, ChatMessage, Effects, Role, ToolCall


def test_the_first_of_duplicate_findings_is_kept() -> None:
    first = Finding("a.py", 3, "MAGIC_NUMBERS", "first")
    others = [
        Finding("a.py", 3, "MAGIC_NUMBERS", "second"),
        Finding("a.py", 4, "MAGIC_NUMBERS", "other line"),
    ]
    assert dedupe_findings([first, *others]) == [first, others[1]]


def test_findings_as_dicts_are_duplicates_in_snake_case_and_camel_case() -> None:
    rows = [
        {"path": "a", "line": 1, "code_smell_type": "X", "n": 1},
        {"path": "a", "line": 1, "codeSmellType": "X", "n": 2},
        {"path": "a", "line": 1, "code_smell_type": "Y", "n": 3},
        {"path": "b", "n": 4},
        {"n": 5, "path": "b"},
    ]
    assert [row["n"] for row in dedupe_findings(rows)] == [1, 3, 4]


def test_duplicate_findings_with_an_unhashable_key_are_removed() -> None:
    rows = [
        {"path": "a", "line": [1, 2]},
        {"path": "a", "line": [1, 2]},
        {"path": "a", "line": [3]},
    ]
    assert len(dedupe_findings(rows)) == 2


def test_an_empty_list_of_findings_stays_empty() -> None:
    assert dedupe_findings([]) == []


def test_of_the_users_words_only_the_first_request_is_a_fact() -> None:
    query = ChatMessage(Role.USER, "Fix the parser. Never touch the lexer.", interaction=1)
    line = ChatMessage(Role.USER, "Always run the tests.", interaction=1, status=STEER)
    later = ChatMessage(Role.USER, "Remember that main is frozen.", interaction=2)
    facts = [
        (fact.kind, fact.text)
        for message in (query, line, later)
        for fact in extract_facts(message)
    ]
    assert facts == [("request", "Fix the parser. Never touch the lexer.")]


def test_a_complete_answer_ends_the_to_do_list() -> None:
    steps = ({"text": "read", "status": "done"}, {"text": "write", "status": "pending"})
    call = ToolCall("call_1", "todo", result="[x] read", effects=Effects(todo=steps))
    context = ContextState()
    for message, kept in (
        (ChatMessage(Role.ASSISTANT, "", [call], interaction=1), ["write"]),
        (ChatMessage(Role.ASSISTANT, "I wr", interaction=1, status="partial"), ["write"]),
        (ChatMessage(Role.ASSISTANT, "I wrote it.", interaction=1), []),
    ):
        context.keep(extract_facts(message))
        assert [fact.text for fact in context.facts.values()] == kept
