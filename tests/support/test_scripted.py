"""Test the scripted model, and its error at the end of the script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swecli.models.errors import BadInput, ProviderError, Unavailable
from tests.support.model_requests import ask, collect, request
from tests.support.scripted import Reply, ScriptedCall, ScriptedModel


async def test_replies_are_returned_in_order_and_requests_recorded() -> None:
    model = ScriptedModel(["one", Reply("two", reasoning="hm")])
    assert (await ask(model, request())).text == "one"
    second = await ask(model, request([{"role": "user", "content": "again"}]))
    assert (second.text, second.reasoning, second.stop) == ("two", "hm", "stop")
    assert [len(r.messages) for r in model.requests] == [2, 1]


async def test_streamed_tool_calls_are_assembled_from_pieces() -> None:
    model = ScriptedModel(
        [Reply(calls=(ScriptedCall("a", {"x": 1}), ScriptedCall("b", "{", id="mine")), piece=2)]
    )
    reply = await ask(model, request())
    assert [(c.id, c.name, c.parameters) for c in reply.calls] == [
        ("call_1_0", "a", {"x": 1}),
        ("mine", "b", {}),
    ]
    assert list(reply.malformed) == ["mine"]
    assert reply.stop == "tool_calls"


async def test_failures_are_raised_before_or_during_a_stream() -> None:
    model = ScriptedModel(
        [
            Unavailable("slow"),
            Reply("hello there", piece=3, cut_after=2, failure=Unavailable("gone")),
        ]
    )
    with pytest.raises(Unavailable):
        await ask(model, request())
    with pytest.raises(Unavailable, match="gone"):
        await ask(model, request())


async def test_a_truncated_stream_has_no_stop_reason() -> None:
    chunks = await collect(
        ScriptedModel([Reply("hello there", piece=3, cut_after=2)]).stream(request())
    )
    assert [c.text for c in chunks] == ["hel", "lo "]
    assert all(c.stop is None for c in chunks)


async def test_a_function_can_answer_by_request() -> None:
    model = ScriptedModel([lambda r: f"{len(r.messages)} messages"])
    assert (await ask(model, request())).text == "2 messages"
    always = ScriptedModel(lambda r: Reply("again"))
    assert [(await ask(always, request())).text for _ in range(2)] == ["again", "again"]


async def test_an_exhausted_script_is_an_error_that_is_not_retryable() -> None:
    with pytest.raises(ProviderError, match="script is over") as caught:
        await ask(ScriptedModel(), request())
    assert not caught.value.retryable


async def test_a_script_is_loaded_from_a_file(tmp_path: Path) -> None:
    rows = [
        "hi",
        {
            "text": "look",
            "calls": [{"name": "read_file", "arguments": {"path": "a"}}],
            "usage": {"input": 3},
        },
        {"error": "down"},
    ]
    path = tmp_path / "script.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    model = ScriptedModel.from_file(path, "scripted/x")
    assert (await ask(model, request())).text == "hi"
    second = await ask(model, request())
    assert second.calls[0].parameters == {"path": "a"}
    assert second.usage is not None
    assert second.usage.input == 3
    with pytest.raises(Unavailable, match="down"):
        await ask(model, request())


@pytest.mark.parametrize("text", ["{", "[1]", '[{"txt": "x"}]', '[{"calls": [{"nam": "x"}]}]', "1"])
def test_an_invalid_script_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=r"script\.json"):
        ScriptedModel.from_file(path, "scripted/x")


def test_a_missing_script_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        ScriptedModel.from_file(tmp_path / "none", "scripted/x")
