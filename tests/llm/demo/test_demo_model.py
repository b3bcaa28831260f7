"""The model behind the door: its stream, its estimate, and that every turn comes to an end."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.llm.base import ChatModel
from swecli.llm.demo.parse import parse
from swecli.llm.demo.plan import MOST_STEPS
from swecli.llm.merge import ReplyBuilder
from swecli.llm.providers.demo import DemoModel
from swecli.models.message import ApiMessage, ChatMessage, Role
from swecli.models.model_io import ModelChunk, ModelRequest
from swecli.models.tool import ToolSpec

TOOLS = ["edit_file", "list_files", "read_file", "read_result", "run_command", "search_files", "todo", "write_file"]
SPECS = [ToolSpec(name, "", {}) for name in TOOLS]


def request(*messages: ApiMessage, **more) -> ModelRequest:  # type: ignore[no-untyped-def]
    return ModelRequest("demo/rules", list(messages), SPECS, **more)


def user(text: str) -> ApiMessage:
    return {"role": "user", "content": text}


async def chunks_of(wish: ModelRequest) -> list[ModelChunk]:
    return [chunk async for chunk in DemoModel().stream(wish)]


def test_it_is_a_chat_model_that_says_it_is_offline() -> None:
    model: ChatModel = DemoModel()
    assert (model.name, model.offline, model.context_window, model.max_output) == ("demo/rules", True, 32_000, 4_096)


async def test_an_answer_comes_in_small_pieces_that_make_the_whole() -> None:
    chunks = await chunks_of(request(user("help")))
    texts = [chunk.text for chunk in chunks if chunk.text]
    assert len(texts) > 20
    assert "".join(texts).startswith("I am the demo model")
    assert chunks[-1].stop == "stop"


async def test_calls_come_in_pieces_with_one_id_and_name_each() -> None:
    content = "x" * 500
    chunks = await chunks_of(request(user(f'create a.txt with "{content}"')))
    deltas = [chunk.call for chunk in chunks if chunk.call]
    assert [delta.name for delta in deltas if delta.name] == ["write_file"]
    assert len([delta for delta in deltas if delta.id]) == 1
    assert len(deltas) > 4
    assert json.loads("".join(delta.arguments for delta in deltas)) == {"path": "a.txt", "content": content + "\n"}
    assert chunks[-1].stop == "tool_calls"


async def test_ids_of_calls_differ_from_request_to_request() -> None:
    wish = request(user("list files"))
    ids = [chunk.call.id for _ in range(3) for chunk in await chunks_of(wish) if chunk.call and chunk.call.id]
    assert len(set(ids)) == 3


async def test_usage_is_an_estimate_of_four_characters_a_token_and_costs_nothing() -> None:
    chunks = await chunks_of(request({"role": "system", "content": "s" * 400}, user("hello")))
    (counted,) = [chunk for chunk in chunks if chunk.usage]
    assert counted.usage is not None
    assert 100 <= counted.usage.input <= 105
    assert counted.usage.output == (sum(len(chunk.text) for chunk in chunks) + 3) // 4
    assert counted.cost == 0.0
    assert DemoModel.estimates_usage


async def test_an_answer_longer_than_allowed_is_cut_and_says_so() -> None:
    chunks = await chunks_of(request(user("help"), max_tokens=10))
    assert len("".join(chunk.text for chunk in chunks)) == 40
    assert chunks[-1].stop == "length"


async def test_content_may_come_in_blocks() -> None:
    blocks = {"role": "user", "content": [{"type": "text", "text": "list files"}]}
    assert any(chunk.call and chunk.call.name == "list_files" for chunk in await chunks_of(request(blocks)))


@pytest.mark.parametrize("purpose", ["reflect", "condense"])
async def test_the_products_own_requests_are_answered_with_text_alone(purpose: str) -> None:
    chunks = await chunks_of(request(user("list files"), purpose=purpose))
    assert any(chunk.text for chunk in chunks)
    assert not any(chunk.call for chunk in chunks)


async def test_a_request_without_a_user_message_is_answered() -> None:
    assert any(chunk.text for chunk in await chunks_of(request({"role": "system", "content": "s"})))


STARTS = (
    "list files ", "read ", "read a.py and ", "explain ", "review ", "search for ", "find files named ", "run ",
    "run the tests ", 'change "a" to "b" in ', "replace all ", "append ", "delete line 1 from ", "create ",
    "rename a to b in ", "no, ", "todo: ", "what did we ", "remember ", "read on ",
)  # fmt: skip
QUERIES = st.text(max_size=60) | st.builds(
    str.__add__, st.sampled_from(STARTS), st.text("ab.py/`\"' ,:;\nand", max_size=30)
)
RESULTS = st.text(max_size=80) | st.sampled_from(
    [
        "     1\ta\n     2\tb a",
        "     1\ta\n[lines 1-1 of 9 in a.py; read on with start_line=2]",
        ".: 3 files, 1 folder\na.py\nsrc/\nsrc/a.py\nsrc/b.py",
        "a.py does not exist. Near names: b.py.",
        "a.py is a directory. Use list_files to see what is in it.",
        "a.py changed since it was read. Read it again with read_file, then change it.",
        "a.py exists and was not read yet. Read it first with read_file, then write it.",
        "Edited a.py (+1 −1).",
        "Wrote a.py (+1).",
        "exit code 0\nok",
        "exit code 1\nNo module named pytest",
        "exit code 127\nnot found",
        "The user refused this call and nothing was done. The user says: list files instead",
        "No matches for 'a'.",
        "1 match in 1 file:\na.py:1: a",
        "[Cleared to save room: the result of call_1]",
    ]
)


@settings(max_examples=300, deadline=None)
@given(
    QUERIES, st.lists(RESULTS, min_size=1, max_size=8), st.sampled_from(["", "- [P-1] run tests with `make check`\n"])
)
def test_any_turn_ends_with_valid_steps_and_no_call_twice(query: str, results: list[str], notes: str) -> None:
    system = {"role": "system", "content": f"<playbook>\n{notes}</playbook>"}
    history = [user("read a.py"), {"role": "assistant", "content": "Done [P-1]."}, user(query)]
    made: list[str] = []
    for step in range(MOST_STEPS + 2):
        builder = ReplyBuilder()
        for chunk in asyncio.run(chunks_of(request(system, *history))):
            builder.add(chunk)
        reply = builder.build()
        assert reply.text or reply.calls
        assert not reply.malformed
        assert reply.stop == ("tool_calls" if reply.calls else "stop")
        for index, call in enumerate(reply.calls):
            assert call.name in TOOLS
            made.append(json.dumps([call.name, call.parameters], sort_keys=True))
            call.result = results[(step + index) % len(results)]
        history += ChatMessage(Role.ASSISTANT, reply.text, reply.calls).to_api()
        if not reply.calls:
            break
    else:
        raise AssertionError("the turn does not end")
    assert len(set(made)) == len(made)


@pytest.mark.parametrize(
    "piece", ["a ", "please ", "and ", "`", '"', "'a ", "list ", "in ", "no, ", "- ", "\n", " ", "a.b/", "1"]
)
def test_a_long_line_is_read_in_a_time_that_nobody_notices(piece: str) -> None:
    began = time.process_time()
    for start in ("", "append ", "replace ", "search for ", "no ", "show me the "):
        assert parse((start + piece * 10_000)[:20_000])
    assert time.process_time() - began < 10  # a pattern that runs wild takes minutes
