"""The messages of a review."""

from __future__ import annotations

from swecli.models.message import ApiMessage
from swecli.review.read.requests import restore_opening

SYSTEM: ApiMessage = {"role": "system", "content": "s"}


def call(number: int) -> list[ApiMessage]:
    made = {"id": f"c{number}", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"{number} words " * 3_000},
    ]


def test_a_conversation_whose_beginning_left_opens_with_a_line_that_states_it() -> None:
    messages = [SYSTEM, *call(1)]
    opened = restore_opening(messages)
    assert [m["role"] for m in opened] == ["system", "user", "assistant", "tool"]
    assert "Earlier messages" in opened[1]["content"]
    assert restore_opening(opened) == opened
