"""Test that a request is reduced by one method after another until it fits, or fails with the sizes, and how each
method shortens single messages."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.context.budget import MAX_CHARACTERS, RequestLimits, _count_characters, request_limit
from swecli.context.fit import (
    ReducedMessages,
    RequestReducer,
    _clear_old_pictures,
    _clear_old_results,
    _cut_text,
    _shrink_texts,
)
from swecli.context.repair import normalize
from swecli.context.tokens import TokenCounter
from swecli.models.api_message import (
    ApiMessage,
    Image,
    UserMessage,
    calls_of,
    images_of,
    notes_of,
    text_of,
)
from swecli.models.errors import ContextFull
from swecli.models.notes import Label, SituationNote
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
    reduced: list[ReducedMessages]
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
    fitted, reduced = RequestReducer(limits, counter).fit(messages)
    size = limits.measure(fitted, counter)
    return FitResult(fitted, reduced, size.tokens, size.limit, size.estimated)


def reduction_names(fitted: FitResult) -> list[str]:
    return [reduction.method for reduction in fitted.reduced]


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
    usual, _ = RequestReducer(limits, COUNTER).fit(history)
    whole, taken = RequestReducer(limits, COUNTER).fit(history, ("clear", "shrink", "truncate"))
    assert len(usual) < len(history) == len(whole)
    assert [reduced.method for reduced in taken] == ["clear", "shrink"]


def test_old_results_are_cleared_first_and_the_newest_five_are_kept() -> None:
    history = turn_with_results(*[12_000] * 10)
    fitted = fit_messages(history, 0, COUNTER, 32_000, 4_000)
    assert reduction_names(fitted) == ["clear"]
    assert fitted.messages[-10:] == history[-10:]
    assert "read_result c0" in fitted.messages[3]["content"]
    (reduction,) = fitted.reduced
    assert (reduction.before, reduction.after) == (COUNTER.count_messages(history), fitted.tokens)
    assert "5" in reduction.detail


def test_one_result_that_is_cleared_is_named_in_the_singular() -> None:
    history = turn_with_results(*[19_500] * 6)
    (reduction,) = fit_messages(history, 0, COUNTER, 32_000, 4_000).reduced
    assert reduction.detail == "1 old tool result cleared"


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


LONG = "".join(f"line {n}\n" for n in range(1000))


def test_all_results_but_the_newest_five_become_stubs_with_their_id() -> None:
    history = turn_with_results(*[1000] * 7)[1:]
    messages, count = _clear_old_results(history, keep=5)
    texts = [m["content"] for m in messages if m["role"] == "tool"]
    assert count == 2
    assert all("1000 characters" in text and "read_result c" in text for text in texts[:2])
    assert texts[2:] == ["x" * 1000] * 5
    assert complaint(messages) == ""


def test_short_results_and_stubs_are_not_cleared() -> None:
    history = turn_with_results(10, 300, *[1000] * 6)[1:]
    once, count = _clear_old_results(history, keep=5)
    assert count == 1
    assert _clear_old_results(once, keep=5) == (once, 0)


def test_a_result_that_quotes_a_stub_is_cleared_like_any_other() -> None:
    history = turn_with_results(*[1000] * 6)[1:]
    history[2]["content"] = "[Cleared to save room: see the manual]" + "x" * 1000
    assert _clear_old_results(history, keep=5)[1] == 1


def test_a_query_is_cut_with_its_notes_and_what_they_told_is_told_again() -> None:
    note = SituationNote(Label.DATE, "2026-01-02")
    long: UserMessage = {"role": "user", "content": LONG, "notes": [note]}
    short: UserMessage = {"role": "user", "content": "go", "notes": [note]}
    shortened, kept, *_ = _shrink_texts(
        [long, short, {"role": "user", "content": "now"}], "user", 500
    )
    assert len(text_of(shortened)) <= 500
    assert text_of(shortened).endswith("2026-01-02\n</turn_notes>")
    assert (notes_of(shortened), kept) == ([], short)


def test_a_query_without_its_pictures_keeps_its_notes() -> None:
    note = SituationNote(Label.DATE, "2026-01-02")
    picture: Image = {"name": "a", "label": "[image]", "media_type": "image/png", "data": ""}
    query: UserMessage = {"role": "user", "content": "see", "notes": [note], "images": [picture]}
    [cleared, _], count = _clear_old_pictures([query, {"role": "user", "content": "now"}])
    assert (count, notes_of(cleared), images_of(cleared)) == (1, [note], [])


def test_a_cut_text_names_its_call_id_and_length_and_keeps_beginning_and_end() -> None:
    short = _cut_text(LONG, 500, "c7")
    assert len(short) <= 500
    assert "read_result c7" in short.splitlines()[0]
    assert f"{len(LONG)} characters" in short.splitlines()[0]
    assert short.splitlines()[1] == "line 0"
    assert short.endswith("line 999\n")


def test_cutting_a_cut_text_does_not_stack_notices() -> None:
    twice = _cut_text(_cut_text(LONG, 2000, "c7"), 500, "c7")
    assert len(twice) <= 500
    assert twice.count("Cut to save room") == 1
    assert f"{len(LONG)} characters" in twice


@given(st.text(max_size=3000), st.integers(0, 3000), st.sampled_from(["", "c7", "i" * 4000]))
@settings(deadline=None)
def test_a_cut_never_makes_a_text_longer(text: str, max_length: int, name: str) -> None:
    assert len(_cut_text(text, max_length, name)) <= len(text)


def test_only_results_over_the_maximum_are_cut() -> None:
    messages = _shrink_texts(turn_with_results(400, 5000)[1:], "tool", 500)
    assert [len(m["content"]) for m in messages if m["role"] == "tool"] == [400, 500]


def test_the_notice_does_not_contain_the_signature_in_a_call_id() -> None:
    history = [*turn_with_results(1)[1:3], result("call_1__thought__" + "A" * 3000, "x" * 5000)]
    assert "AAAA" not in str(_shrink_texts(history, "tool", 500)[-1]["content"])


def test_long_texts_in_arguments_are_cut_and_the_arguments_remain_a_json_object() -> None:
    arguments = json.dumps({"path": "a.py", "content": LONG, "edits": [{"new_text": LONG}], "n": 3})
    history: list[Message] = [
        {"role": "user", "content": LONG},
        {
            "role": "assistant",
            "content": LONG,
            "tool_calls": [call("a", "write_file", arguments), call("b")],
        },
    ]
    messages = _shrink_texts(history, "assistant", 500)
    value = json.loads(calls_of(messages[1])[0]["function"]["arguments"])
    assert (value["path"], value["n"]) == ("a.py", 3)
    assert len(value["content"]) <= 500
    assert len(value["edits"][0]["new_text"]) <= 500
    assert len(str(messages[1]["content"])) <= 500
    assert calls_of(messages[1])[1] == call("b")
    assert messages[0]["content"] == LONG


@given(legal_histories(longest=900), st.sampled_from([200, 500]))
@settings(deadline=None)
@pytest.mark.slow
def test_shrinking_keeps_a_history_valid_and_does_not_enlarge_it(
    history: list[Message], max_length: int
) -> None:
    messages = _shrink_texts(_shrink_texts(history, "tool", max_length), "assistant", max_length)
    assert complaint(messages) == ""
    assert _count_characters(messages) <= _count_characters(history)


def test_deeply_nested_arguments_can_be_normalized_and_shrunk() -> None:
    arguments = '{"a": ' + "[" * 900 + "]" * 900 + "}"
    message: Message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [call("a", arguments=arguments)],
    }
    assert complaint([{"role": "user", "content": "go"}, *normalize([message])[1:]]) == ""
    assert len(_shrink_texts([message], "assistant", 500)) == 1


def test_old_pictures_are_cleared_and_the_newest_is_kept() -> None:
    image: Image = {"name": "a.png", "label": "[image]", "media_type": "image/png", "data": "x"}
    query: UserMessage = {"role": "user", "content": "what is it?", "images": [image]}
    messages: list[ApiMessage] = [
        query,
        {"role": "assistant", "content": "a cat"},
        query,
        {"role": "assistant", "content": "a dog"},
    ]
    smaller, count = _clear_old_pictures(messages)
    assert count == 1
    assert images_of(smaller[0]) == []
    assert text_of(smaller[0]).startswith("[Cleared to save room: its pictures are left out.]")
    assert smaller[1:] == messages[1:]
    assert _clear_old_pictures(smaller) == (smaller, 0)
