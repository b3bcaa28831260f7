"""Test that a shown request is the one that is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from swecli.actions.prompt import show_prompt
from swecli.app import Runtime
from swecli.models.json_value import Json
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import ScriptedModel

TEXT = "the marker is KIWI\nand a second line\n"


@pytest.fixture
async def runtime() -> Runtime:
    """A session with two turns: one reads a file and writes another, one answers at once."""
    Path("a.txt").write_text(TEXT)
    model = ScriptedModel(
        [
            calls(("read_file", {"path": "a.txt"}), ("list_files", {"path": "."})),
            calls(("write_file", {"path": "b.txt", "content": "a whole\nnew file\n"})),
            "Written.",
            "Hello.",
            "Bye.",
        ]
    )
    runtime = make_runtime(model)
    await run_turn(runtime, "copy the file")
    await run_turn(runtime, "say hello")
    return runtime


def leaves(value: Json) -> Iterator[str]:
    """Yield the strings in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)


async def test_what_is_shown_is_what_is_sent_next(runtime: Runtime) -> None:
    shown = show_prompt(runtime, "say bye").value
    await run_turn(runtime, "say bye")
    sent = runtime.agent.model.requests[-1]  # type: ignore[attr-defined]
    assert shown["messages"] == sent.messages
    assert shown["tools"] == [spec.to_api() for spec in sent.tools]


async def test_in_full_every_text_call_result_and_tool_is_shown(runtime: Runtime) -> None:
    for words, asked in (("full say bye", "messages tools"), ("full T2", "messages")):
        result = show_prompt(runtime, words)
        printed = "\n".join(result.lines)
        for message in result.value["messages"]:
            for text in leaves(message.get("content") or ""):
                assert text in printed
            for call in message.get("tool_calls", []):
                assert f"[call {call['function']['name']} ({call['id']})]" in printed
                assert call["function"]["arguments"] in printed
        if "tools" in asked:
            for tool in result.value["tools"]:
                assert json.dumps(tool, ensure_ascii=False) in result.lines


async def test_an_outline_has_a_line_for_each_message_with_its_calls(runtime: Runtime) -> None:
    result = show_prompt(runtime, "say bye")
    rows = [line for line in result.lines if line.startswith(("user", "assistant", "tool"))]
    roles = [message["role"] for message in result.value["messages"]]
    assert [row.split()[0] for row in rows] == roles[1:]
    assert "  copy the file" in rows[0]
    assert rows[1].endswith(" · calls read_file, list_files")
    assert "  read_file: " in rows[2]
    assert "a whole" not in "\n".join(result.lines)
    assert all(len(line) < 200 for line in result.lines[2:])


async def test_a_turn_is_shown_as_the_next_request_was(runtime: Runtime) -> None:
    first = runtime.agent.model.requests[0].messages  # type: ignore[attr-defined]
    assert show_prompt(runtime, "T1").value["messages"] == first
    outline = show_prompt(runtime, "T2").lines
    assert [line.split(" · ")[0] for line in outline if line.startswith("---")] == [
        "--- system",
        "--- turn 1",
        "--- query",
        "--- T2",
    ]
