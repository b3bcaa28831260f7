"""Test that `normalize` makes any message history valid for a provider."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings

from swecli.context.repair import (
    _EARLIER_LEFT_OUT,
    _EMPTY_TEXT,
    _GO_ON,
    _INTERRUPTED_REPLY,
    _clean_text,
    normalize,
)
from swecli.models.api_message import calls_of
from swecli.models.message import INTERRUPTED_RESULT
from tests.support.histories import (
    Message,
    call,
    complaint,
    legal_histories,
    result,
    wild_histories,
)
from tests.support.strict_provider import openai_rules

SYSTEM: Message = {"role": "system", "content": "You help."}
ASK: Message = {"role": "user", "content": "Go"}
SAY: Message = {"role": "assistant", "content": "Done"}


def call_message(*names: str) -> Message:
    return {"role": "assistant", "content": None, "tool_calls": [call(name) for name in names]}


@given(wild_histories)
@settings(max_examples=150, deadline=None)
@pytest.mark.slow
def test_any_normalized_history_is_valid(history: list[Message]) -> None:
    assert complaint(normalize(history)) == ""


@given(wild_histories)
@settings(max_examples=80, deadline=None)
@pytest.mark.slow
def test_normalizing_is_idempotent(history: list[Message]) -> None:
    once = normalize(history)
    assert normalize(once) == once


@given(wild_histories)
@settings(max_examples=80, deadline=None)
@pytest.mark.slow
def test_any_normalized_history_passes_the_rules_of_the_strict_provider(
    history: list[Message],
) -> None:
    body = {"model": "m", "messages": normalize([SYSTEM, *history, ASK]), "stream": True}
    openai_rules.check(body, {"m"})
    assert json.loads(json.dumps(body, ensure_ascii=False).encode("utf-8")) == body


@given(wild_histories)
@settings(max_examples=80, deadline=None)
@pytest.mark.slow
def test_normalizing_does_not_change_its_input(history: list[Message]) -> None:
    before = copy.deepcopy(history)
    normalize(history)
    assert history == before


@given(legal_histories())
@settings(max_examples=80, deadline=None)
@pytest.mark.slow
def test_a_valid_history_is_unchanged(history: list[Message]) -> None:
    assert complaint(history) == ""
    assert normalize(history) == history


@given(legal_histories(), legal_histories())
@settings(deadline=None)
@pytest.mark.slow
def test_appending_messages_keeps_the_prefix_of_the_serialized_history(
    history: list[Message], more: list[Message]
) -> None:
    renamed = json.loads(json.dumps(more).replace('"c', '"d'))[1:]
    before = json.dumps(normalize(history))[:-1]
    assert json.dumps(normalize([*history, *renamed])).startswith(before)


def test_a_call_without_a_result_gets_a_stub_under_its_id() -> None:
    out = normalize([ASK, call_message("a", "b"), result("b", "found"), ASK])
    assert out[2:4] == [result("a", INTERRUPTED_RESULT), result("b", "found")]


def test_tool_results_are_put_in_the_order_of_the_tool_calls() -> None:
    assert normalize([ASK, call_message("a", "b"), result("b"), result("a")])[2:] == [
        result("a"),
        result("b"),
    ]


def test_a_late_tool_result_is_moved_to_its_tool_call() -> None:
    out = normalize([ASK, call_message("a"), ASK, result("a", "late")])
    assert [m["role"] for m in out] == ["user", "assistant", "tool", "user"]
    assert out[2] == result("a", "late")


def test_orphan_and_duplicate_tool_results_are_dropped() -> None:
    out = normalize(
        [
            result("z"),
            ASK,
            call_message("a"),
            result("a", "first"),
            result("a", "second"),
            result("z"),
            SAY,
        ]
    )
    assert out == [ASK, call_message("a"), result("a", "first"), SAY]


def test_duplicate_call_ids_become_unique_and_keep_their_results() -> None:
    out = normalize(
        [
            ASK,
            call_message("a"),
            result("a", "1"),
            call_message("a", "a"),
            result("a", "2"),
            result("a", "3"),
        ]
    )
    assert [c["id"] for m in out for c in calls_of(m)] == ["a", "a-2", "a-3"]
    assert [(m["tool_call_id"], m["content"]) for m in out if m["role"] == "tool"] == [
        ("a", "1"),
        ("a-2", "2"),
        ("a-3", "3"),
    ]


def test_a_signed_call_id_is_unchanged_and_other_ids_are_cut_and_cleaned() -> None:
    signed = "call_1__thought__" + "A+/=" * 30
    out = normalize([ASK, call_message(signed, "x" * 50, "with blank"), SAY])
    assert [c["id"] for c in calls_of(out[1])] == [signed, "x" * 40, "with_blank"]


def test_a_placeholder_reply_is_inserted_between_two_user_messages() -> None:
    stub = {"role": "assistant", "content": _INTERRUPTED_REPLY}
    assert normalize([ASK, ASK]) == [ASK, stub, ASK]


def test_empty_replies_are_removed_and_an_empty_user_message_gets_a_placeholder() -> None:
    blank: list[Message] = [{"role": "assistant", "content": c} for c in ("", " \n", None)]
    assert normalize([ASK, *blank, SAY]) == [ASK, SAY]
    assert normalize([{"role": "user", "content": ""}]) == [
        {"role": "user", "content": _EMPTY_TEXT}
    ]


def test_a_reply_of_opaque_blocks_alone_is_kept() -> None:
    paused: Message = {"role": "assistant", "content": "", "blocks": {"content": [{}]}}
    assert normalize([ASK, paused]) == [ASK, paused]


def test_a_user_message_is_inserted_before_a_reply_without_one() -> None:
    assert normalize([SYSTEM, SAY]) == [SYSTEM, {"role": "user", "content": _EARLIER_LEFT_OUT}, SAY]
    assert normalize([ASK, SAY, SAY]) == [ASK, SAY, {"role": "user", "content": _GO_ON}, SAY]


def test_leading_system_messages_are_merged_and_a_late_one_becomes_a_user_message() -> None:
    late = {"role": "system", "content": "later"}
    out = normalize([SYSTEM, {"role": "developer", "content": "Short."}, ASK, SAY, late])
    assert out == [
        {"role": "system", "content": "You help.\n\nShort."},
        ASK,
        SAY,
        late | {"role": "user"},
    ]


@pytest.mark.parametrize(
    "given_text", ["[1]", '{"a": ', "NaN", '{"a": Infinity}', "1" * 5000, "[" * 100_000]
)
def test_arguments_that_are_not_a_json_object_are_kept_as_text(given_text: str) -> None:
    message: Message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [call("a", arguments=given_text)],
    }
    fixed = calls_of(normalize([ASK, message])[1])[0]["function"]["arguments"]
    assert json.loads(fixed) == {"malformed_arguments": given_text}


def test_escaped_emoji_in_arguments_are_kept_and_lone_surrogates_replaced() -> None:
    whole, half = '{"a": "\\ud83d\\ude00"}', '{"a": "\\ud83d"}'
    message: Message = {"role": "assistant", "content": None}
    message["tool_calls"] = [call("a", arguments=whole), call("b", arguments=half)]
    fixed = [c["function"]["arguments"] for c in calls_of(normalize([ASK, message])[1])]
    assert fixed == [whole, '{"a": "\ufffd"}']


def test_nul_is_removed_from_text_and_lone_surrogates_are_replaced() -> None:
    assert _clean_text("a\x00b\ud800c\udfff漢") == "ab\ufffdc\ufffd漢"


def test_two_thousand_calls_with_the_same_id_get_unique_ids() -> None:
    out = normalize([ASK, *[m for _ in range(2000) for m in (call_message("a"), result("a"))]])
    assert len({c["id"] for m in out for c in calls_of(m)}) == 2000
