"""Test decoding and encoding text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.tools.base import ToolError
from swecli.tools.limits import escape_invalid_bytes
from swecli.tools.text_files import TextFile, decode, split_lines


@given(st.binary(max_size=200))
def test_decoding_and_encoding_is_a_round_trip(data: bytes) -> None:
    file = decode(data)
    assert file is None or file.encode(file.text) == data


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-8"])
def test_byte_order_marks_and_encodings_are_kept(encoding: str) -> None:
    data = "gruß\r\n".encode(encoding)
    file = decode(data)
    assert file is not None
    assert file.text == "gruß\r\n"
    assert file.encode(file.text) == data


def test_binary_data_is_not_decoded() -> None:
    assert decode(b"\x7fELF\0\0") is None
    assert decode(b"\xff\xfe\x00") is None


def test_invalid_bytes_are_kept_in_the_file_and_escaped_for_display() -> None:
    file = decode(b"caf\xe9\n")
    assert file is not None
    assert not file.is_valid
    assert escape_invalid_bytes(file.text) == "caf\\xe9\n"
    assert file.encode(file.text + "ü") == b"caf\xe9\n\xc3\xbc"


@pytest.mark.parametrize(
    ("text", "newline"), [("a\r\nb\r\n", "\r\n"), ("a\nb\r\nc\n", "\n"), ("a", ""), ("a\r", "")]
)
def test_the_newline_of_a_file_is_that_of_most_lines(text: str, newline: str) -> None:
    file = decode(text.encode())
    assert file is not None
    assert file.newline == newline


def test_lines_are_split_only_at_newlines() -> None:
    assert split_lines("a\r\nb\x0bc\u2028d\n\n") == ["a", "b\x0bc\u2028d", ""]
    assert split_lines("a\nb") == ["a", "b"]
    assert split_lines("") == []


def test_surrogates_cannot_be_encoded() -> None:
    with pytest.raises(ToolError, match=r"U\+D800"):
        TextFile("").encode("a\ud800")
