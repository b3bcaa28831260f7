"""Test what is learned of a model's limits from refusals and from counts that do not match."""

from __future__ import annotations

import pytest

from swecli.context.observed_limits import ModelLimits, RequestShape
from swecli.models.errors import ContextOverflow
from swecli.models.message import Usage


@pytest.mark.parametrize("size", [1, 20])
def test_a_server_that_drops_the_tools_is_reported_once_even_for_a_small_request(size: int) -> None:
    first = ModelLimits().record_usage(
        "tiny", Usage(input=300 * size), own_size=853 * size, tools=611 * size
    )
    assert "does not seem to pass on the tools" in first.notice
    assert not first.observed.record_usage(
        "tiny", Usage(input=300 * size), own_size=853 * size, tools=611 * size
    ).notice


def test_a_model_that_called_a_tool_is_not_said_to_be_without_tools() -> None:
    check = ModelLimits().record_usage(
        "tiny", Usage(input=300), own_size=853, tools=611, has_called=True
    )
    assert (check.notice, check.observed) == ("", ModelLimits())


def test_a_service_that_counts_little_is_not_said_to_hide_the_tools() -> None:
    check = ModelLimits().record_usage(
        "tiny", Usage(input=300), own_size=853, tools=611, may_hide_tools=False
    )
    assert (check.notice, check.observed) == ("", ModelLimits())


def test_a_model_that_calls_after_all_sees_the_tools_from_then_on() -> None:
    hidden = ModelLimits().record_usage("tiny", Usage(input=300), own_size=853, tools=611).observed
    assert hidden.without_tools == {"tiny"}
    later = hidden.record_usage("tiny", Usage(input=300), own_size=853, has_called=True)
    assert (later.notice, later.observed) == ("", ModelLimits())


def test_a_service_that_keeps_refusing_does_not_shrink_the_limit_without_end() -> None:
    named = ContextOverflow("too long")
    named.limit = 200_000
    limits = ModelLimits()
    shape = RequestShape("m", tools_tokens=0, max_answer=None)
    for _ in range(30):
        limits = limits.record_refusal(shape, limits.limits.get(shape, 9_000), 8_192, named)
    assert limits.limits[shape] > 40_000, "a quarter of what the service names"
    limits = ModelLimits()
    for _ in range(30):
        sent = limits.limits.get(shape, 9_000)
        limits = limits.record_refusal(shape, sent, 8_192, ContextOverflow("too long"))
    assert limits.limits[shape] >= 1_024


def test_a_token_count_too_small_for_the_request_is_ignored() -> None:
    assert (
        ModelLimits().record_usage("tiny", Usage(input=11), own_size=5_000, tools=611).observed
        == ModelLimits()
    )
