"""Test converting messages and calls to the provider's format."""

from __future__ import annotations

from swecli.models.api_message import calls_of
from swecli.models.message import INTERRUPTED_RESULT, ChatMessage, Role, ToolCall


def test_a_plain_message_is_converted_to_role_and_content() -> None:
    assert ChatMessage(Role.USER, "hi").to_api() == [{"role": "user", "content": "hi"}]


def test_the_sent_text_takes_precedence_over_the_typed_text() -> None:
    assert ChatMessage(Role.USER, "hi @a", sent="hi @a ...").to_api()[0]["content"] == "hi @a ..."


def test_tool_calls_are_followed_by_their_results_in_order() -> None:
    calls = [
        ToolCall("a", "read_file", {"path": "x"}, result="1"),
        ToolCall("b", "todo", result="2"),
    ]
    head, first, second = ChatMessage(Role.ASSISTANT, "Reading", calls).to_api()
    assert head["content"] == "Reading"
    assert [call["id"] for call in calls_of(head)] == ["a", "b"]
    assert first == {"role": "tool", "tool_call_id": "a", "content": "1"}
    assert second["content"] == "2"


def test_a_message_with_tool_calls_and_no_text_has_null_content() -> None:
    assert (
        ChatMessage(Role.ASSISTANT, "", [ToolCall("a", "todo", result="")]).to_api()[0]["content"]
        is None
    )


def test_the_result_message_of_a_call_without_a_result_is_the_interruption_notice() -> None:
    assert ToolCall("a", "run_command").result_message()["content"] == INTERRUPTED_RESULT
    assert ToolCall("a", "run_command", result="").result_message()["content"] == ""


def test_arguments_go_back_in_the_order_in_which_the_model_wrote_them() -> None:
    api = ToolCall("a", "n", {"path": "漢", "edits": [{"old": 1, "new": 2}]}).to_api()
    assert api["function"]["arguments"] == '{"path": "漢", "edits": [{"old": 1, "new": 2}]}'


def test_two_messages_do_not_share_their_tool_calls() -> None:
    first, second = ChatMessage(Role.USER), ChatMessage(Role.USER)
    first.tool_calls.append(ToolCall("a", "n"))
    assert second.tool_calls == []
