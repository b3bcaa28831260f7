"""The next request of a review."""

from __future__ import annotations

from swecli.context.tokens import TokenCounter
from swecli.models.errors import ContextOverflow
from swecli.models.message import ApiMessage
from swecli.review.read.requests import ReviewRequests, restore_opening
from tests.support.scripted import ScriptedModel

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


def test_what_is_too_long_is_reduced_and_the_line_is_no_part_of_it() -> None:
    model = ScriptedModel(context_window=32_000, max_output=1_000)
    request = ReviewRequests(model, [], TokenCounter(model.profile.encoding))
    messages = [SYSTEM, *(m for n in range(12) for m in call(n))]
    kept, sent, told = request.build(messages)
    assert sent.purpose == "review"
    assert sent.messages[1]["role"] == "user"
    assert kept[1]["role"] == "assistant"
    assert {event.type for event in told[:-1]} == {"context_reduced"}
    assert told[-1].type == "context_measured"
    assert request.sent <= 32_000
    request.record_overflow(ContextOverflow("too long"))
    before = request.sent
    request.build(kept)
    assert request.sent < before
