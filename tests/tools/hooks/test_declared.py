"""Test what a file of hooks says, and how its faults are told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from swecli.tools.hooks.declared import DEFAULT_SECONDS, SECONDS_AT_THE_END, HookEvent, parse_hooks


def _parse(events: Any, **more: Any) -> Any:
    return parse_hooks(json.dumps({"hooks": events, **more}).encode(), "hooks.json")


def _one(event: str = "PreToolUse", **entry: Any) -> Any:
    return _parse({event: [{"matcher": "Bash", "hooks": [{"command": "check", **entry}]}]})


def test_a_hook_is_named_by_its_place() -> None:
    entry = {"command": "check"}
    file = _parse(
        {"PreToolUse": [{"matcher": "Bash", "hooks": [entry, entry]}, {"hooks": [entry]}]}
    )
    assert [hook.name for hook in file.hooks] == [
        "hooks.json PreToolUse[Bash] 1",
        "hooks.json PreToolUse[Bash] 2",
        "hooks.json PreToolUse[] 1",
    ]


def test_what_a_hook_may_say_is_kept() -> None:
    [hook] = _one(
        args=["-q"], timeout=5, onFailure="block", statusMessage="checking", **{"if": "Bash(git *)"}
    ).hooks
    assert (hook.event, hook.matcher, hook.command) == (HookEvent.PRE_TOOL_USE, "Bash", "check")
    assert (hook.args, hook.condition, hook.time_limit) == (("-q",), "Bash(git *)", 5)
    assert hook.must_answer


def test_hooks_at_the_end_of_a_session_have_less_time() -> None:
    assert _one().hooks[0].time_limit == DEFAULT_SECONDS
    assert _one("SessionEnd").hooks[0].time_limit == SECONDS_AT_THE_END
    assert _one("SessionEnd", timeout=60).hooks[0].time_limit == 60


def test_events_that_are_not_carried_are_named_in_one_line() -> None:
    [line] = _parse({"Notification": [], "SubagentStop": [{"hooks": []}]}).problems
    assert (
        line
        == "hooks.json: hooks on Notification, SubagentStop never run here: there are no such events"
    )


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"command": 7}, "its command is not a text"),
        ({"command": " "}, "its command is not a text"),
        ({"command": "a\0b"}, "its command is not a text"),
        ({"type": "prompt", "prompt": "?"}, "its type is prompt, and only command is known"),
        ({"args": "x"}, "its args are not a list of texts"),
        ({"if": 3}, "its if is not a text"),
        ({"timeout": "soon"}, "its timeout is not a number of seconds"),
        ({"timeout": -1}, "its timeout is not a number of seconds"),
        ({"timeout": True}, "its timeout is not a number of seconds"),
        ({"shell": "powershell"}, "its shell is another one than bash"),
    ],
)
def test_an_entry_that_cannot_be_used_is_told_with_its_place(entry: Any, fault: str) -> None:
    file = _one(**entry)
    assert not file.hooks
    assert file.problems == (f"hooks.json PreToolUse[Bash] 1 is not used: {fault}",)


@pytest.mark.parametrize(
    "groups",
    [None, {}, "x", [7], [{"hooks": "x"}], [{"hooks": [7]}], [{"matcher": 7, "hooks": []}]],
)
def test_groups_in_another_form_are_told(groups: Any) -> None:
    file = _parse({"PreToolUse": groups})
    assert not file.hooks
    assert "it is not as hooks are written" in file.problems[0]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"{", "hooks.json is not valid JSON"),
        (b"\xff", "hooks.json is not valid JSON"),
        (b"[" * 100_000, "hooks.json is not valid JSON"),
        (b'{"hooks": []}', 'hooks.json: "hooks" is not an object'),
        (b'{"hooks": {}, "disableAllHooks": true}', "hooks.json turns its hooks off"),
    ],
)
def test_a_file_that_cannot_be_used_is_told(data: bytes, problem: str) -> None:
    [line] = parse_hooks(data, "hooks.json").problems
    assert line.startswith(problem)


@pytest.mark.parametrize("data", [b"{}", b"[]", b'{"permissions": {}}'])
def test_settings_without_hooks_are_no_problem(data: bytes) -> None:
    file = parse_hooks(data, "hooks.json")
    assert (file.hooks, file.problems) == ((), ())
