"""Test that Ladder applies its reductions one by one until a request fits, or fails with the sizes."""

from __future__ import annotations

import copy
from dataclasses import dataclass

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
    out: list[Message] = [{"role": "system", "content": "You help."}, {"role": "user", "content": query}]
    for n, size in enumerate(sizes):
        out += [{"role": "assistant", "content": None, "tool_calls": [call(f"c{n}")]}, result(f"c{n}", "x" * size)]
    return out


def chat(turns: int, size: int) -> list[Message]:
    rows = [{"role": role, "content": f"{n} " + "x" * size} for n in range(turns) for role in ("user", "assistant")]
    return [{"role": "system", "content": "You help."}, *rows, {"role": "user", "content": "now"}]


@dataclass
class FitResult:
    messages: list[Message]
    reduced: list[RungResult]
    tokens: int
    limit: int | None
    estimated: bool


def fit_messages(
    messages: list[Message], tools: int, counter: TokenCounter, window: int | None, *more: int, **named: int
) -> FitResult:
    limits = RequestLimits(window, *more, **named, tools_tokens=tools)
    fitted, reduced = Ladder(limits, counter).fit(messages)
    size = limits.measure(fitted, counter)
    return FitResult(fitted, reduced, size.tokens, size.limit, size.estimated)


def reduction_names(fitted: FitResult) -> list[str]:
    return [reduction.how for reduction in fitted.reduced]


def test_what_fits_is_left_alone() -> None:
    history = turn_with_results(4000, 4000)
    fitted = fit_messages(history, 100, COUNTER, 20_000, 2_000)
    assert (fitted.messages, fitted.reduced) == (history, [])
    assert fitted.limit == 16_000
    assert fitted.tokens == COUNTER.count_messages(history) + 100
    assert fitted.estimated


def test_an_illegal_history_is_made_legal_first() -> None:
    assert complaint(fit_messages(turn_with_results(100)[:-1], 0, COUNTER, 20_000, 2_000).messages) == ""


def test_what_is_to_be_summed_up_loses_parts_of_results_before_it_loses_messages() -> None:
    history, limits = turn_with_results(), RequestLimits(5_000, 1_000)
    for n in range(20):
        called = {"role": "assistant", "content": None, "tool_calls": [call(f"c{n}")]}
        history += [called, result(f"c{n}", "x" * 12_000), {"role": "user", "content": f"and {n}?"}]
    usual, _ = Ladder(limits, COUNTER).fit(history)
    whole, taken = Ladder(limits, COUNTER).fit(history, ("clear", "shrink", "truncate"))
    assert len(usual) < len(history) == len(whole)
    assert [reduced.how for reduced in taken] == ["clear", "shrink"]


def test_old_results_go_first_and_the_newest_five_stay() -> None:
    history = turn_with_results(*[12_000] * 10)
    fitted = fit_messages(history, 0, COUNTER, 32_000, 4_000)
    assert reduction_names(fitted) == ["clear"]
    assert fitted.messages[-10:] == history[-10:]
    assert "read_result c0" in fitted.messages[3]["content"]
    (reduction,) = fitted.reduced
    assert (reduction.before, reduction.after) == (COUNTER.count_messages(history), fitted.tokens)
    assert "5" in reduction.detail


def test_a_small_window_keeps_fewer_results_and_those_of_the_newest_step_always() -> None:
    fitted = fit_messages(turn_with_results(*[4_000] * 12), 0, COUNTER, 12_000, 2_000)
    assert [m["content"].startswith("[Cleared") for m in fitted.messages if m["role"] == "tool"] == [True] * 10 + [
        False
    ] * 2
    together = turn_with_results(4_000)[:2]
    together += [{"role": "assistant", "content": None, "tool_calls": [call("a"), call("b"), call("c")]}]
    together += [result(name, "x" * 12_000) for name in "abc"]
    assert reduction_names(fit_messages(together, 0, COUNTER, 10_000, 2_000)) == ["shrink"]


def test_then_old_messages_go_and_the_first_request_stays() -> None:
    history = chat(40, 2000)
    fitted = fit_messages(history, 0, COUNTER, 16_000, 2_000)
    assert reduction_names(fitted) == ["truncate"]
    assert fitted.messages[:2] == history[:2]
    assert fitted.messages[-1] == history[-1]
    assert fitted.tokens <= 12_400


def test_then_the_largest_results_are_cut() -> None:
    fitted = fit_messages(turn_with_results(100_000), 0, COUNTER, 16_000, 2_000)
    assert reduction_names(fitted) == ["shrink"]
    assert fitted.messages[-1]["content"].endswith("xxx")
    assert "read_result c0" in fitted.messages[-1]["content"]


def test_then_the_assistants_own_texts_are_cut() -> None:
    arguments = '{"content": "' + "y" * 100_000 + '"}'
    history = turn_with_results(100)
    history[2]["tool_calls"][0]["function"]["arguments"] = arguments
    fitted = fit_messages(history, 0, COUNTER, 16_000, 2_000)
    assert reduction_names(fitted) == ["shrink"]
    assert complaint(fitted.messages) == ""


def test_what_cannot_fit_stops_with_its_sizes() -> None:
    with pytest.raises(ContextFull) as caught:
        fit_messages(turn_with_results(query="z" * 100_000), 500, COUNTER, 16_000, 2_000)
    rows = str(caught.value)
    assert "12,400" in rows
    assert "your messages 25,004" in rows
    assert "tools 500" in rows
    assert caught.value.exit_code == 53


def test_tools_alone_may_be_too_much() -> None:
    with pytest.raises(ContextFull, match="tools 20,000"):
        fit_messages(turn_with_results(10), 20_000, COUNTER, 16_000, 2_000)


def test_where_the_window_is_unknown_characters_decide() -> None:
    small, large = chat(40, 6000), chat(50, 6000)
    assert fit_messages(small, 0, COUNTER, None).reduced == []
    fitted = fit_messages(large, 0, COUNTER, None)
    assert reduction_names(fitted) == ["truncate"]
    assert (fitted.limit, _count_characters(fitted.messages) <= MAX_CHARACTERS) == (None, True)
    with pytest.raises(ContextFull, match="characters"):
        fit_messages(turn_with_results(query="z" * 600_000), 0, COUNTER, None)


def test_characters_are_a_cap_for_known_windows_too() -> None:
    assert reduction_names(fit_messages(chat(50, 6000), 0, COUNTER, 10_000_000, 2_000)) == ["truncate"]


def test_a_threshold_clears_early_but_only_for_a_batch() -> None:
    much, little = (
        turn_with_results(*[8000] * 9),
        turn_with_results(400, *[8000] * 8)[:2] + turn_with_results(400, *[9000] * 5)[2:],
    )
    assert reduction_names(fit_messages(much, 0, COUNTER, 30_000, 2_000)) == []
    assert reduction_names(fit_messages(much, 0, COUNTER, 30_000, 2_000, threshold=50)) == ["clear"]
    assert reduction_names(fit_messages(little, 0, COUNTER, 21_000, 2_000, threshold=50)) == []


def test_the_input_is_not_changed() -> None:
    history = turn_with_results(*[8000] * 8)
    before = copy.deepcopy(history)
    fit_messages(history, 0, COUNTER, 8_000, 1_000)
    assert history == before


@given(legal_histories(longest=16_000, turns=7), st.integers(1, 12_000), st.integers(0, 60), st.integers(50, 100))
@settings(max_examples=120, deadline=None)
@pytest.mark.slow
def test_any_history_fits_or_stops(history: list[Message], window: int, tools: int, threshold: int) -> None:
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
