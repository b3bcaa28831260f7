"""Test that Ladder applies its reductions one by one until a request fits, or fails with the sizes."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.context.budget import MAX_CHARACTERS, RequestLimits, _count_characters, request_limit
from swecli.context.fit import Ladder, RungResult
from swecli.context.tokens import TokenCounter
from swecli.models.errors import ContextFull
from tests.support.histories import Message, call, complaint, legal_histories, result

COUNTER = TokenCounter("no table")  # a token is four characters


def turn_with_results(*sizes: int, query: str = "go") -> list[Message]:
    out: list[Message] = [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": query},
    ]
    for n, size in enumerate(sizes):
        out += [
            {"role": "assistant", "content": None, "tool_calls": [call(f"c{n}")]},
            result(f"c{n}", "x" * size),
        ]
    return out


def chat(turns: int, size: int) -> list[Message]:
    rows = [
        {"role": role, "content": f"{n} " + "x" * size}
        for n in range(turns)
        for role in ("user", "assistant")
    ]
    return [{"role": "system", "content": "You help."}, *rows, {"role": "user", "content": "now"}]


@dataclass
class FitResult:
    messages: list[Message]
    reduced: list[RungResult]
    tokens: int
    limit: int | None
    estimated: bool


def fit_messages(
    messages: list[Message],
    tools: int,
    counter: TokenCounter,
    window: int | None,
    *more: Any,
    **named: Any,
) -> FitResult:
    limits = RequestLimits(window, *more, **{**named, "tools_tokens": tools})
    fitted, reduced = Ladder(limits, counter).fit(messages)
    size = limits.measure(fitted, counter)
    return FitResult(fitted, reduced, size.tokens, size.limit, size.estimated)


def reduction_names(fitted: FitResult) -> list[str]:
    return [reduction.how for reduction in fitted.reduced]


def test_a_request_that_fits_is_unchanged() -> None:
    history = turn_with_results(4000, 4000)
    fitted = fit_messages(history, 100, COUNTER, 20_000, 2_000)
    assert (fitted.messages, fitted.reduced) == (history, [])
    assert fitted.limit == 16_000
    assert fitted.tokens == COUNTER.count_messages(history) + 100
    assert fitted.estimated


def test_fitting_makes_an_invalid_history_valid() -> None:
    assert (
        complaint(fit_messages(turn_with_results(100)[:-1], 0, COUNTER, 20_000, 2_000).messages)
        == ""
    )


def test_with_shrink_before_truncate_results_are_cut_and_no_message_is_removed() -> None:
    history, limits = turn_with_results(), RequestLimits(5_000, 1_000)
    for n in range(20):
        called = {"role": "assistant", "content": None, "tool_calls": [call(f"c{n}")]}
        history += [called, result(f"c{n}", "x" * 12_000), {"role": "user", "content": f"and {n}?"}]
    usual, _ = Ladder(limits, COUNTER).fit(history)
    whole, taken = Ladder(limits, COUNTER).fit(history, ("clear", "shrink", "truncate"))
    assert len(usual) < len(history) == len(whole)
    assert [reduced.how for reduced in taken] == ["clear", "shrink"]


def test_old_results_are_cleared_first_and_the_newest_five_are_kept() -> None:
    history = turn_with_results(*[12_000] * 10)
    fitted = fit_messages(history, 0, COUNTER, 32_000, 4_000)
    assert reduction_names(fitted) == ["clear"]
    assert fitted.messages[-10:] == history[-10:]
    assert "read_result c0" in fitted.messages[3]["content"]
    (reduction,) = fitted.reduced
    assert (reduction.before, reduction.after) == (COUNTER.count_messages(history), fitted.tokens)
    assert "5" in reduction.detail


def test_a_small_window_clears_more_results_but_never_those_of_the_newest_step() -> None:
    fitted = fit_messages(turn_with_results(*[4_000] * 12), 0, COUNTER, 12_000, 2_000)
    assert [
        m["content"].startswith("[Cleared") for m in fitted.messages if m["role"] == "tool"
    ] == [True] * 10 + [False] * 2
    together = turn_with_results(4_000)[:2]
    together += [
        {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b"), call("c")]}
    ]
    together += [result(name, "x" * 12_000) for name in "abc"]
    assert reduction_names(fit_messages(together, 0, COUNTER, 10_000, 2_000)) == ["shrink"]


def test_a_history_without_results_is_truncated_and_keeps_the_first_request() -> None:
    history = chat(40, 2000)
    fitted = fit_messages(history, 0, COUNTER, 16_000, 2_000)
    assert reduction_names(fitted) == ["truncate"]
    assert fitted.messages[:2] == history[:2]
    assert fitted.messages[-1] == history[-1]
    assert fitted.tokens <= 12_400


def test_a_single_large_result_is_shrunk_and_names_read_result() -> None:
    fitted = fit_messages(turn_with_results(100_000), 0, COUNTER, 16_000, 2_000)
    assert reduction_names(fitted) == ["shrink"]
    assert fitted.messages[-1]["content"].endswith("xxx")
    assert "read_result c0" in fitted.messages[-1]["content"]


def test_large_arguments_of_a_tool_call_are_shrunk() -> None:
    arguments = '{"content": "' + "y" * 100_000 + '"}'
    history = turn_with_results(100)
    history[2]["tool_calls"][0]["function"]["arguments"] = arguments
    fitted = fit_messages(history, 0, COUNTER, 16_000, 2_000)
    assert reduction_names(fitted) == ["shrink"]
    assert complaint(fitted.messages) == ""


def test_a_request_that_cannot_fit_is_an_error_with_the_sizes_of_its_parts() -> None:
    with pytest.raises(ContextFull) as caught:
        fit_messages(turn_with_results(query="z" * 100_000), 500, COUNTER, 16_000, 2_000)
    rows = str(caught.value)
    assert "12,400" in rows
    assert "your messages 25,004" in rows
    assert "tools 500" in rows
    assert caught.value.exit_code == 53


def test_tools_larger_than_the_window_are_an_error() -> None:
    with pytest.raises(ContextFull, match="tools 20,000"):
        fit_messages(turn_with_results(10), 20_000, COUNTER, 16_000, 2_000)


def test_the_number_of_characters_is_the_limit_if_the_window_is_unknown() -> None:
    small, large = chat(40, 6000), chat(50, 6000)
    assert fit_messages(small, 0, COUNTER, None).reduced == []
    fitted = fit_messages(large, 0, COUNTER, None)
    assert reduction_names(fitted) == ["truncate"]
    assert (fitted.limit, _count_characters(fitted.messages) <= MAX_CHARACTERS) == (None, True)
    with pytest.raises(ContextFull, match="characters"):
        fit_messages(turn_with_results(query="z" * 600_000), 0, COUNTER, None)


def test_the_limit_of_characters_also_applies_to_known_windows() -> None:
    assert reduction_names(fit_messages(chat(50, 6000), 0, COUNTER, 10_000_000, 2_000)) == [
        "truncate"
    ]


def test_a_threshold_clears_results_early_only_if_enough_tokens_are_saved() -> None:
    much, little = (
        turn_with_results(*[8000] * 9),
        turn_with_results(400, *[8000] * 8)[:2] + turn_with_results(400, *[9000] * 5)[2:],
    )
    assert reduction_names(fit_messages(much, 0, COUNTER, 30_000, 2_000)) == []
    assert reduction_names(fit_messages(much, 0, COUNTER, 30_000, 2_000, threshold=50)) == ["clear"]
    assert reduction_names(fit_messages(little, 0, COUNTER, 21_000, 2_000, threshold=50)) == []


def test_fitting_does_not_change_its_input() -> None:
    history = turn_with_results(*[8000] * 8)
    before = copy.deepcopy(history)
    fit_messages(history, 0, COUNTER, 8_000, 1_000)
    assert history == before


@given(
    legal_histories(longest=16_000, turns=7),
    st.integers(1, 12_000),
    st.integers(0, 60),
    st.integers(50, 100),
)
@settings(max_examples=120, deadline=None)
@pytest.mark.slow
def test_any_history_is_reduced_to_the_limit_or_is_an_error(
    history: list[Message], window: int, tools: int, threshold: int
) -> None:
    limit = request_limit(window, 100)
    assert limit is not None
    try:
        fitted = fit_messages(history, tools, COUNTER, window, 100, threshold)
    except ContextFull:
        return
    users = [m for m in history if m["role"] == "user"]
    kept = [m for m in fitted.messages if m["role"] == "user"]
    assert complaint(fitted.messages) == ""
    assert fitted.tokens <= limit
    assert kept[-1] == users[-1]
    # An earlier message may be cut.
    assert kept[0] == users[0] or str(kept[0]["content"]).startswith("[Cut to save room: ")
    assert fitted.messages[0] == history[0]
    assert all(reduction.after < reduction.before for reduction in fitted.reduced)
    again = fit_messages(fitted.messages, tools, COUNTER, window, 100, threshold)
    assert (again.messages, again.reduced) == (fitted.messages, [])
