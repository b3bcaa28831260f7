"""Test decoding an answer: server-sent events, wherever the bytes are split, and usage figures of all formats."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.llm.answer import MAX_EVENT_BYTES, EventReader, parse_usage
from swecli.models.errors import ProviderError
from swecli.models.message import Usage

STREAMS = [
    (b'data: {"a": 1}\n\ndata: [DONE]\n\n', [b'{"a": 1}', b"[DONE]"]),
    (b"event: ping\r\ndata: x\r\n\r\n: keep-alive\r\n\r\ndata: y\r\n\r\n", [b"x", b"y"]),
    (b"data: a\rdata: b\r\rdata:c\r\r", [b"a\nb", b"c"]),
    (b"\xef\xbb\xbfdata: first\n\n", [b"first"]),
    (b"data: one\ndata: two\n\nid: 7\nretry: 5\ndata: last", [b"one\ntwo", b"last"]),
    (
        b'data: {"a":\ndata: 1}\ndata: {"b": 2}\ndata: [DONE]\n',
        [b'{"a":\n1}', b'{"b": 2}', b"[DONE]"],
    ),
    (b'{\n "error": {"message": "no stream"}\n}', []),
]


def read(pieces: list[bytes]) -> tuple[list[bytes], bytes]:
    reader = EventReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    return events + reader.end(), b"\n".join(reader.non_event_lines)


@pytest.mark.parametrize(("stream", "events"), STREAMS)
@pytest.mark.parametrize("size", [1, 2, 7, 4_096])
def test_line_endings_and_chunk_sizes_do_not_change_the_events(
    stream: bytes, events: list[bytes], size: int
) -> None:
    assert read([stream[at : at + size] for at in range(0, len(stream), size)])[0] == events


@given(st.sampled_from(STREAMS), st.lists(st.integers(0, 80), max_size=8))
@pytest.mark.slow
def test_any_split_of_a_stream_gives_the_same_events(
    stream: tuple[bytes, list[bytes]], cuts: list[int]
) -> None:
    marks = [0, *sorted(min(cut, len(stream[0])) for cut in cuts), len(stream[0])]
    pieces = [stream[0][a:b] for a, b in zip(marks, marks[1:], strict=False)]
    assert read(pieces) == read([stream[0]])


@given(st.binary(max_size=200))
def test_any_bytes_are_parsed_without_an_error(stream: bytes) -> None:
    read([stream[at : at + 3] for at in range(0, len(stream), 3)])


def test_lines_that_are_not_events_are_kept() -> None:
    assert b"no stream" in read([STREAMS[-1][0]])[1]


def test_an_event_above_the_size_limit_is_an_error_and_past_events_do_not_count() -> None:
    reader = EventReader()
    for _ in range(100):
        reader.feed(b"data: " + b"x" * 100_000 + b"\n\n")
    reader.feed(b"x" * (MAX_EVENT_BYTES - 100))
    with pytest.raises(ProviderError, match="an event of more than 4 MiB"):
        reader.feed(b"x" * 101)


numbers = st.one_of(st.none(), st.integers(-5, 10**6), st.floats(), st.text(max_size=2))


def test_cached_and_reasoning_tokens_are_subtracted_from_prompt_and_completion_tokens() -> None:
    fields = dict(
        prompt_tokens=100,
        completion_tokens=20,
        prompt_tokens_details=dict(cached_tokens=60, cache_write_tokens=10),
        completion_tokens_details=dict(reasoning_tokens=5),
    )
    assert parse_usage(fields) == Usage(
        input=30, cache_read=60, cache_write=10, output=15, reasoning=5
    )


def test_input_tokens_of_anthropic_do_not_include_cached_tokens() -> None:
    counted = {
        "input_tokens": 3,
        "cache_read_input_tokens": 60,
        "cache_creation_input_tokens": 7,
        "output_tokens": 9,
    }
    assert parse_usage(counted) == Usage(input=3, cache_read=60, cache_write=7, output=9)
    assert parse_usage({"output_tokens": 9}) is None


def test_deepseeks_and_moonshots_cache_counts_are_read() -> None:
    assert parse_usage({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}) == Usage(
        input=5, cache_read=4
    )
    assert parse_usage({"prompt_tokens": 9, "cached_tokens": 4}) == Usage(input=5, cache_read=4)


def test_usage_without_tokens_is_unknown() -> None:
    assert parse_usage(None) is None
    assert parse_usage(dict(prompt_tokens=0, completion_tokens=0)) is None


@given(numbers, numbers, numbers, numbers, numbers)
def test_buckets_are_never_negative_and_add_up(
    prompt: Any, out: Any, read: Any, write: Any, reasoning: Any
) -> None:
    fields = dict(
        prompt_tokens=prompt,
        completion_tokens=out,
        prompt_tokens_details=dict(cached_tokens=read),
        cache_creation_input_tokens=write,
        completion_tokens_details=dict(reasoning_tokens=reasoning),
    )
    usage = parse_usage(fields)
    if usage is None:
        return
    assert all(value >= 0 for value in asdict(usage).values())
    expected = [
        max(int(n), 0) if isinstance(n, int | float) and 0 < n < 1e12 else 0 for n in (prompt, out)
    ]
    assert usage.total == sum(expected)
