"""Test the facts that are extracted from messages, and the system message that repeats them."""

from __future__ import annotations

import pytest

from swecli.context.facts import extract_facts
from swecli.models.context import ContextState
from swecli.models.message import STEER, CallStatus, ChatMessage, Effects, Role, ToolCall


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
    call = ToolCall("call_1", "todo", status=CallStatus.FINISHED, effects=Effects(todo=steps))
    context = ContextState()
    for message, kept in (
        (ChatMessage(Role.ASSISTANT, "", [call], interaction=1), ["write"]),
        (ChatMessage(Role.ASSISTANT, "I wr", interaction=1, status="partial"), ["write"]),
        (ChatMessage(Role.ASSISTANT, "I wrote it.", interaction=1), []),
    ):
        context.keep(extract_facts(message))
        assert [fact.text for fact in context.facts.values()] == kept


@pytest.mark.parametrize("status", [one for one in CallStatus if one != "finished"])
def test_a_call_that_did_not_finish_changed_no_file(status: CallStatus) -> None:
    call = ToolCall("c", "edit_file", result="", status=status, effects=Effects(changed=("a.py",)))
    assert [*extract_facts(ChatMessage(Role.ASSISTANT, "", [call], interaction=1))] == []
