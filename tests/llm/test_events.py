"""Test parsing server-sent events, wherever the bytes are split."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.llm.answer import MAX_EVENT_BYTES, EventReader
from swecli.models.errors import ProviderError

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
