"""Test decoding and encoding text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.tools.base import ToolError
from swecli.tools.files import TextFile, decode, split_lines
from swecli.tools.limits import escape_invalid_bytes


@given(st.binary(max_size=200))
def test_what_is_decoded_comes_back_byte_for_byte(data: bytes) -> None:
    file = decode(data)
    assert file is None or file.encode(file.text) == data


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-8"])
def test_marks_and_encodings_are_kept(encoding: str) -> None:
    data = "gruß\r\n".encode(encoding)
    file = decode(data)
    assert file is not None
    assert file.text == "gruß\r\n"
    assert file.encode(file.text) == data


def test_binary_is_seen() -> None:
    assert decode(b"\x7fELF\0\0") is None
    assert decode(b"\xff\xfe\x00") is None


def test_bytes_that_are_no_text_survive_and_are_written_out() -> None:
    file = decode(b"caf\xe9\n")
    assert file is not None
    assert not file.is_valid
    assert escape_invalid_bytes(file.text) == "caf\\xe9\n"
    assert file.encode(file.text + "ü") == b"caf\xe9\n\xc3\xbc"


@pytest.mark.parametrize(("text", "newline"), [("a\r\nb\r\n", "\r\n"), ("a\nb\r\nc\n", "\n"), ("a", ""), ("a\r", "")])
def test_the_line_end_most_lines_have(text: str, newline: str) -> None:
    file = decode(text.encode())
    assert file is not None
    assert file.newline == newline


def test_only_line_ends_end_lines() -> None:
    assert split_lines("a\r\nb\x0bc\u2028d\n\n") == ["a", "b\x0bc\u2028d", ""]
    assert split_lines("a\nb") == ["a", "b"]
    assert split_lines("") == []


def test_letters_no_file_can_hold_are_reported() -> None:
    with pytest.raises(ToolError, match=r"U\+D800"):
        TextFile("").encode("a\ud800")
