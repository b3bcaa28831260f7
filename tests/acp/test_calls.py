"""Test how tool calls are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from swecli.acp.calls import kind_of, locations_of, show_result
from swecli.models.message import Display, Effects, TextChange, ToolResult
from swecli.tools.base import PermissionKind
from tests.support.runtime import make_runtime


@pytest.mark.parametrize(
    ("tool", "effects", "kind"),
    [
        ("read_file", Effects(read=("a",), origin="repository"), "read"),
        ("search_files", Effects(origin="repository"), "search"),
        ("write_file", Effects(changed=("a",)), "edit"),
        ("run_command", Effects(ran="ls"), "execute"),
        ("fetch", Effects(origin="web"), "fetch"),
        ("todo", Effects(todo=()), "think"),
        ("recall", Effects(), "other"),
    ],
)
def test_a_call_has_the_kind_of_what_it_does(tool: str, effects: Effects, kind: str) -> None:
    declared = make_runtime().agent.tools.get(tool)
    assert declared is not None
    assert kind_of(declared.kind, effects) == kind


def test_a_call_without_a_tool_or_of_an_unknown_kind_is_another() -> None:
    assert kind_of(None, Effects()) == "other"
    assert kind_of(PermissionKind("deploy", "Deploy?", "asks"), Effects()) == "other"


def test_the_places_of_a_call_are_absolute_and_each_is_named_once() -> None:
    places = locations_of(Path("/shop"), Effects(read=("a", "b"), changed=("a",)))
    assert [place.path for place in places] == ["/shop/a", "/shop/b"]


def shown(result: ToolResult) -> list[Any]:
    return [part.model_dump(exclude_none=True) for part in show_result(result)]


def test_a_change_is_shown_as_two_texts_and_a_new_file_has_no_old_one() -> None:
    change = TextChange("/shop/a.py", None, "x\n")
    display = Display("a.py", "+x\n", "diff", change=change)
    assert shown(ToolResult(True, "Wrote a.py.", display)) == [
        {"type": "diff", "path": "/shop/a.py", "new_text": "x\n"}
    ]
    assert "change" not in display.to_json(), "the stream of events has the difference already"


def test_an_output_cannot_end_its_block_and_control_letters_are_gone() -> None:
    (part, title) = shown(
        ToolResult(True, "x", Display("exit code 0", "a\x1b[31m\n```\n# no heading"))
    )
    assert part["content"]["text"] == "````\na\n```\n# no heading\n````"
    assert title["content"]["text"] == "exit code 0"


def test_a_refusal_is_shown_in_its_words() -> None:
    (part,) = shown(ToolResult(False, "The user refused this call.", Display(), denied=True))
    assert part["content"]["text"] == "The user refused this call."
