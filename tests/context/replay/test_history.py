"""Test that a stored session is read as turns of requests with ascending times."""

from __future__ import annotations

import pytest

from swecli.models.errors import BadInput
from swecli.models.message import STEER, ChatMessage, Role
from tests.support.past_session import BEGAN, CALL, RESULT, SessionBuilder, timestamp


def test_a_stored_session_is_split_into_requests_whose_times_do_not_decrease() -> None:
    talk = SessionBuilder().ask(0).reply(5, RESULT, reasoning="r" * 400)
    talk.session.messages[-1].tool_calls[0].duration_ms = 20_000
    first, second = talk.reply(40).ask(20).build_history().turns
    assert [(step.sent_at - BEGAN.timestamp()) for step in first.steps] == [0, 25]
    assert [step.reply for step in second.steps] == [None]
    assert second.steps[0].sent_at == timestamp(40).timestamp(), "times are ascending"
    past = talk.build_history()
    assert past.count_output(first.steps[0].reply) == CALL + 100


def test_consecutive_replies_are_merged_and_a_line_sent_during_a_turn_is_part_of_it() -> None:
    talk = SessionBuilder().ask(0).reply(1, tokens=20).reply(2, tokens=30).ask(3).reply(4, RESULT)
    talk.session.add_message(
        ChatMessage(Role.USER, "and quickly", status=STEER, created_at=timestamp(5))
    )
    first, second = talk.reply(6).build_history().turns
    assert [len(step.reply.content) for step in first.steps if step.reply] == [4 * (16 + 26) + 2]
    assert [step.steered for step in second.steps] == [("and quickly",), ()]


def test_a_session_without_a_turn_is_refused() -> None:
    with pytest.raises(BadInput, match="has no turns to replay"):
        SessionBuilder().build_history()
