"""Test that chunks become one reply, however they are split, and which failures are retried, and when."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.llm.base import ChatModel
from swecli.llm.reply import ALL_WAITS, LONGEST_WAIT, ReplyBuilder, Retry, stream_with_retry
from swecli.models.errors import (
    AuthFailed,
    ContextOverflow,
    ModelNotFound,
    ProviderError,
    SwecliError,
    Unavailable,
)
from swecli.models.message import CallDelta, ModelChunk, ModelReply, Usage
from tests.support.model_requests import model_at, request
from tests.support.scripted import Reply, ScriptedModel
from tests.support.strict_provider import Refusal, StrictProvider, Wire
from tests.support.strict_provider import Reply as Answer
from tests.support.strict_provider.script import Script

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
parameters = st.dictionaries(st.text(), values, max_size=4).filter(
    lambda made: "\\u0000" not in json.dumps(made)
)


def build_reply(*chunks: ModelChunk, taken: tuple[str, ...] = ()) -> ModelReply:
    builder = ReplyBuilder(taken)
    for chunk in chunks:
        builder.add(chunk)
    return builder.build()


def parse_arguments(text: str) -> tuple[dict[str, Any], str]:
    """Return the parameters of a call with these arguments, and the error in them."""
    reply = build_reply(piece(0, "c", "f", text))
    return reply.calls[0].parameters, reply.malformed.get("c", "")


def piece(index: int, id: str = "", name: str = "", arguments: str = "") -> ModelChunk:
    return ModelChunk(call=CallDelta(index, id, name, arguments))


@given(st.lists(st.text()), st.lists(st.text()))
def test_text_and_reasoning_are_joined_in_order(texts: list[str], thoughts: list[str]) -> None:
    reply = build_reply(
        *(ModelChunk(text=t) for t in texts), *(ModelChunk(reasoning=t) for t in thoughts)
    )
    assert (reply.text, reply.reasoning) == ("".join(texts), "".join(thoughts))


@given(st.lists(parameters, min_size=1, max_size=4), st.data())
@pytest.mark.slow
def test_tool_calls_are_merged_however_they_are_split_and_interleaved(
    made: list[dict[str, Any]], data: st.DataObject
) -> None:
    queues = []
    for index, given_ in enumerate(made):
        raw = json.dumps(given_)
        cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=4)))
        parts = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
        queues.append(
            [piece(index, f"c{index}", "f"), *(piece(index, arguments=part) for part in parts)]
        )
    chunks = []
    while any(queues):
        chunks.append(data.draw(st.sampled_from([q for q in queues if q])).pop(0))
    reply = build_reply(*chunks)
    assert {call.id: call.parameters for call in reply.calls} == {
        f"c{i}": given_ for i, given_ in enumerate(made)
    }
    assert reply.malformed == {}


@pytest.mark.parametrize(
    "arguments", [{"command": "rm a\0b"}, {"edits": [{"old": "\0"}]}, {"a\0": 1}]
)
def test_a_nul_in_the_arguments_makes_a_tool_call_malformed(arguments: dict[str, Any]) -> None:
    reply = build_reply(
        piece(0, "a", "f", json.dumps(arguments)), piece(1, "b", "f", '{"path": "x"}')
    )
    assert list(reply.malformed) == ["a"]
    assert "NUL" in reply.malformed["a"]


def test_calls_keep_the_order_in_which_they_began() -> None:
    reply = build_reply(piece(0, "a", "f"), piece(1, "b", "g"), piece(0, arguments="{}"))
    assert [(c.id, c.name) for c in reply.calls] == [("a", "f"), ("b", "g")]


def test_parallel_tool_calls_with_one_index_are_separated_by_their_ids() -> None:
    reply = build_reply(
        piece(0, "a", "f", '{"x": 1}'), piece(0, "b", "f", '{"x": 2}'), piece(0, "b", "f")
    )
    assert [(c.id, c.parameters) for c in reply.calls] == [("a", {"x": 1}), ("b", {"x": 2})]


def test_missing_duplicate_and_used_ids_are_made_unique() -> None:
    reply = build_reply(
        piece(0, "", "f"),
        piece(1, "a", "f"),
        piece(2, "a", "f"),
        piece(3, "old", "f"),
        taken=("old",),
    )
    ids = [c.id for c in reply.calls]
    assert ids[1] == "a"
    assert len({*ids, "old"}) == 5


def test_usage_cost_and_stop_are_the_last_reported() -> None:
    reply = build_reply(
        ModelChunk(text="x"), ModelChunk(usage=Usage(1), cost=0.5, stop="length"), ModelChunk()
    )
    assert (reply.usage, reply.cost, reply.stop) == (Usage(1), 0.5, "length")


def test_a_reply_can_be_built_from_a_partial_stream() -> None:
    builder = ReplyBuilder()
    builder.add(ModelChunk(text="half"))
    assert builder.build().text == "half"


def test_reset_discards_all_earlier_chunks() -> None:
    builder = ReplyBuilder()
    builder.add(ModelChunk(text="wrong", call=CallDelta(0, "a", "f"), stop="stop"))
    builder.reset()
    builder.add(ModelChunk(text="right"))
    assert builder.build() == ModelReply(text="right")


@pytest.mark.parametrize(
    "text",
    [
        '{"path": "a',
        "[1, 2]",
        '"text"',
        '{"a": NaN}',
        '{"a": 1} {"a": 2}',
        "[" * 100_000,
        '{"a": ' + "9" * 5000,
    ],
)
def test_arguments_that_are_not_a_json_object_are_reported_with_a_short_error(text: str) -> None:
    given_, problem = parse_arguments(text)
    assert given_ == {}
    assert problem
    assert len(problem) < 300


@pytest.mark.parametrize("text", ["", "  ", "{}", "null", '"{}"'])
def test_empty_arguments_are_parsed_as_no_parameters(text: str) -> None:
    assert parse_arguments(text) == ({}, "")


def test_arguments_that_are_quoted_twice_are_parsed() -> None:
    assert parse_arguments(r'"{\"path\": \"a.txt\"}"') == ({"path": "a.txt"}, "")


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("", "unnamed"),
        ("no spaces", "no_spaces"),
        ("x" * 70, "x" * 64),
        ("functions.f", "functions_f"),
    ],
)
def test_an_invalid_tool_name_is_reported_and_replaced_by_a_valid_one(name: str, kept: str) -> None:
    reply = build_reply(piece(0, "a", name, "{}"))
    assert reply.calls[0].name == kept
    assert repr(name) in reply.malformed["a"]


def test_split_surrogate_pairs_are_joined_and_lone_surrogates_replaced() -> None:
    reply = build_reply(
        ModelChunk(text="\ud83d"),
        ModelChunk(text="\ude00 \ud83d"),
        piece(0, "a", "f", '{"x\\ud800": ["\\ud83d"]}'),
    )
    assert reply.text == "\U0001f600 \ufffd"
    assert reply.calls[0].parameters == {"x\ufffd": ["\ufffd"]}
    json.dumps(reply.calls[0].parameters, ensure_ascii=False).encode()


class Recorder:
    """Runs a model with retries as the agent does, and discards partial chunks when a retry begins."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.retries: list[Retry] = []
        self.builder = ReplyBuilder()

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def run(self, model: ChatModel, **more: Any) -> ModelReply:
        chunks = stream_with_retry(
            model,
            request(),
            jitter=lambda: 1.0,
            pause=self.sleep,
            **more,
        )
        async for chunk in chunks:
            if not isinstance(chunk, Retry):
                self.builder.add(chunk)
                continue
            self.retries.append(chunk)
            if chunk.restart:
                self.builder.reset()
        return self.builder.build()


async def test_a_complete_answer_is_passed_on_without_a_retry() -> None:
    recorder = Recorder()
    assert (await recorder.run(ScriptedModel(["hello"]))).text == "hello"
    assert (recorder.waits, recorder.retries) == ([], [])


async def test_failures_before_the_first_chunk_are_retried_with_growing_delays() -> None:
    recorder = Recorder()
    model = ScriptedModel([Unavailable("one"), Unavailable("two"), Unavailable("three"), "hello"])
    assert (await recorder.run(model)).text == "hello"
    assert recorder.waits == [1.0, 2.0, 4.0]
    assert [(r.attempt, r.reason, r.restart) for r in recorder.retries] == [
        (1, "one", False),
        (2, "two", False),
        (3, "three", False),
    ]


async def test_no_request_is_sent_after_the_fifth_failure() -> None:
    recorder = Recorder()
    model = ScriptedModel([Unavailable(str(n)) for n in range(9)])
    with pytest.raises(Unavailable, match="4"):
        await recorder.run(model)
    assert len(model.requests) == 5
    assert len(recorder.waits) == 4


async def test_the_retry_after_of_the_provider_is_used_as_delay() -> None:
    recorder = Recorder()
    await recorder.run(ScriptedModel([Unavailable("slow", retry_after=17.0), "hello"]))
    assert recorder.waits == [17.0]


async def test_a_retry_after_above_the_longest_wait_is_an_error_without_a_retry() -> None:
    recorder = Recorder()
    with pytest.raises(Unavailable):
        await recorder.run(
            ScriptedModel([Unavailable("slow", retry_after=LONGEST_WAIT + 1), "hello"])
        )
    assert recorder.waits == []


async def test_delays_are_jittered_and_limited_singly_and_in_total() -> None:
    recorder = Recorder()
    failing = ScriptedModel(lambda _: Unavailable("x", tries=12))
    with pytest.raises(Unavailable):
        async for _ in stream_with_retry(
            failing, request(), attempts=12, jitter=lambda: 0.0, pause=recorder.sleep
        ):
            pass
    waits = recorder.waits
    assert waits[:3] == [0.5, 1.0, 2.0]
    assert max(waits) <= LONGEST_WAIT
    assert sum(waits) <= ALL_WAITS


@pytest.mark.parametrize(("tries", "requests"), [(1, 1), (2, 2), (3, 3), (5, 5)])
async def test_the_number_of_tries_is_set_by_the_failure(tries: int, requests: int) -> None:
    model = ScriptedModel(lambda _: Unavailable("x", tries=tries))
    with pytest.raises(Unavailable):
        await Recorder().run(model)
    assert len(model.requests) == requests


async def test_kinds_of_failure_are_counted_separately_with_five_requests_at_most() -> None:
    failures = [Unavailable("429"), Unavailable("cut", tries=3), Unavailable("empty", tries=2)]
    assert (await Recorder().run(ScriptedModel([*failures, "hello"]))).text == "hello"
    mixed = ScriptedModel([*failures[:2], *failures[:2], *failures[:2]])
    with pytest.raises(Unavailable):
        await Recorder().run(mixed)
    assert len(mixed.requests) == 5


@pytest.mark.parametrize(
    "failure",
    [AuthFailed("x"), ModelNotFound("x"), ContextOverflow("x"), ProviderError("x")],
    ids=lambda e: type(e).__name__,
)
async def test_a_permanent_error_is_raised_without_a_retry(failure: SwecliError) -> None:
    recorder = Recorder()
    with pytest.raises(type(failure)):
        await recorder.run(ScriptedModel([failure, "hello"]))
    assert recorder.waits == []


async def test_an_answer_that_is_cut_off_is_retried_and_its_chunks_are_discarded() -> None:
    recorder = Recorder()
    model = ScriptedModel(
        [Reply("half of it", piece=4, cut_after=2, failure=Unavailable("gone")), "whole"]
    )
    assert (await recorder.run(model)).text == "whole"
    assert [r.restart for r in recorder.retries] == [True]


async def test_a_stream_that_ends_without_a_stop_is_retried_as_cut_off() -> None:
    recorder = Recorder()
    model = ScriptedModel([Reply("half of it", piece=4, cut_after=2), "whole"])
    assert (await recorder.run(model)).text == "whole"
    assert recorder.retries[0].restart
    assert "cut off" in recorder.retries[0].reason


async def test_cancelling_during_the_delay_ends_the_retries() -> None:
    model = ScriptedModel([Unavailable("x"), "hello"])
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    async def consume() -> None:
        async for _ in stream_with_retry(model, request(), pause=sleep):
            pass

    task = asyncio.create_task(consume())
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(model.requests) == 1


@pytest.mark.slow
async def test_http_and_connection_failures_are_retried_with_the_same_request() -> None:
    answers: Script = [
        Refusal(429, "slow", headers={"retry-after": "3"}),
        Refusal(529, "busy"),
        Answer("half of it, long enough to be cut", wire=Wire(reset_at=900)),
        Answer("hello"),
    ]
    recorder = Recorder()
    with StrictProvider(answers) as server:
        assert (await recorder.run(model_at(server, "openai/gpt-4.1"))).text == "hello"
    assert recorder.waits == [3.0, 2.0, 1.0]
    assert [r.restart for r in recorder.retries] == [False, False, True]
    assert len({received.raw for received in server.requests}) == 1
