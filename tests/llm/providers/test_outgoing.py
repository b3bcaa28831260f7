"""Messages are made acceptable for one provider without touching the originals."""

from __future__ import annotations

import copy
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from swecli.llm.providers.outgoing import outgoing, plain_id
from swecli.models.message import HEAD_OPENS, ToolCall


def history(call_id: str) -> list[dict[str, Any]]:
    call = ToolCall(call_id, "read_file", {"path": "a"}, result="text")
    said = {"role": "assistant", "content": None, "tool_calls": [call.to_api()]}
    return [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}, said, call.result_message()]


@given(st.text(min_size=1))
def test_every_id_becomes_one_that_all_take_and_always_the_same(call_id: str) -> None:
    plain = plain_id(call_id)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,40}", plain)
    assert plain == plain_id(call_id) == plain_id(plain)


def test_a_call_and_its_result_keep_belonging_together() -> None:
    ready = outgoing(history("not plain!"), "openai")
    assert ready[2]["tool_calls"][0]["id"] == ready[3]["tool_call_id"] == plain_id("not plain!")


def test_google_gets_its_ids_back_unchanged() -> None:
    assert outgoing(history("call__thought__+/="), "gemini") == history("call__thought__+/=")


def test_the_originals_are_left_alone() -> None:
    messages = history("not plain!")
    before = copy.deepcopy(messages)
    outgoing(messages, "anthropic")
    assert messages == before


def test_only_anthropic_gets_marks() -> None:
    assert "cache_control" not in str(outgoing(history("c"), "openai"))
    marked = outgoing(history("c"), "anthropic")
    assert marked[0]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert marked[3]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in str(marked[1:3])


def test_an_empty_text_gets_no_mark() -> None:
    assert "cache_control" not in str(outgoing([{"role": "user", "content": " "}], "anthropic"))
    assert outgoing([], "anthropic") == []


def test_the_static_text_the_epochs_head_and_the_last_message_are_marked_for_anthropic() -> None:
    system = f"You help.{HEAD_OPENS}\n\n## Playbook\nUse tabs."
    said = [{"role": "system", "content": system}, {"role": "user", "content": "hi"}]
    first, last = outgoing(said, "anthropic")
    assert [block["text"] for block in first["content"]] == ["You help.", system.removeprefix("You help.")]
    assert all(block["cache_control"] for block in (*first["content"], *last["content"]))
    assert outgoing(said, "openai") == said
