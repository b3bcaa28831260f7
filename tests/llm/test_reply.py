"""Test that chunks become one reply, however they are split."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.llm.reply import ReplyBuilder
from swecli.models.message import CallDelta, ModelChunk, ModelReply, Usage

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
