"""Test reading what hooks answer. What the answers mean is compared with Claude Code in `test_rows.py`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from swecli.tools.hooks.answers import Answer, Verdict, merge, read_answer
from swecli.tools.hooks.declared import Hook, HookEvent

_BEFORE = Hook("it", HookEvent.PRE_TOOL_USE, "", "check")


def _read(value: Any, hook: Hook = _BEFORE) -> Answer:
    return read_answer(hook, 0, json.dumps(value), "")


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    answer = read_answer(_BEFORE, 2, "", f"first {'x' * 1_000_000} last")
    assert answer.reason.startswith("first")
    assert answer.reason.endswith("last")
    assert len(answer.reason) < 11_000


def test_a_refusal_without_a_reason_has_what_the_user_is_told() -> None:
    specific = {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
    answer = _read({"systemMessage": "dangerous", "hookSpecificOutput": specific})
    assert (answer.reason, answer.messages) == ("dangerous", ("dangerous",))
    assert _read({"hookSpecificOutput": specific}).reason == "no reason is given"


def test_a_promise_to_go_on_in_the_background_is_no_answer() -> None:
    hook = Hook("it", HookEvent.SESSION_START, "", "check")
    answer = read_answer(hook, 0, '{"async": true, "asyncTimeout": 5}\nbe kind\n', "")
    assert (answer.context, answer.problems) == ("be kind", ())


@pytest.mark.parametrize(
    "value",
    [
        {"decision": 7, "reason": []},
        {"continue": "no", "stopReason": 7},
        {"hookSpecificOutput": "deny"},
        {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": ["deny"]}},
        {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": "x"}},
    ],
)
def test_fields_of_another_type_say_nothing(value: Any) -> None:
    answer = _read(value)
    assert (answer.verdict, answer.changed_input, answer.ends_turn) == (Verdict.NONE, None, False)


def test_the_user_is_told_what_went_wrong() -> None:
    assert read_answer(_BEFORE, 1, "", "no such file\n").problems == (
        "the hook it failed: exit code 1: no such file",
    )
    assert "its answer is not valid JSON" in read_answer(_BEFORE, 0, "{x", "").problems[0]
    assert (
        "its answer is for the event Stop"
        in _read({"hookSpecificOutput": {"hookEventName": "Stop"}}).problems[0]
    )


def test_the_strictest_verdict_counts_with_its_reasons() -> None:
    answers = [
        Answer(Verdict.ALLOW, reason="fine", context="one"),
        Answer(Verdict.DENY, reason="no", changed_input={"command": "a"}),
        Answer(Verdict.DENY, reason="never", context="two", changed_input={"command": "b"}),
    ]
    merged = merge(answers)
    assert (merged.verdict, merged.reason, merged.context) == (
        Verdict.DENY,
        "no\nnever",
        "one\ntwo",
    )
    assert merged.changed_input == {"command": "b"}
    assert merge([]) == Answer()
