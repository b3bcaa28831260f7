"""Test decoding and encoding text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.text_files import TextFile, decode, split_lines


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


COMMENT = {
    "cp1252": "# Größe, déjà vu – 100 €",
    "cp932": "# ファイルを読み込みます",
    "gb18030": "# 你好，世界",
    "big5": "# 這個函數用於讀取設定檔，並返回結果",
    "euc_jp": "# ファイルを読み込みます。日本語のコメント",
    "cp949": "# 안녕하세요 세계. 설정 파일을 읽습니다",
    "cp1251": "# Привет, мир. Это комментарий",
    "koi8-r": "# Привет, мир. Это комментарий",
    "utf-16-le": "# plain and grün",
    "utf-16-be": "# 你好 世界",
}


@pytest.mark.parametrize(("encoding", "comment"), COMMENT.items())
def test_text_in_an_old_encoding_is_decoded_and_written_back_in_it(
    encoding: str, comment: str
) -> None:
    data = f"{comment}\nx = 1\r\n".encode(encoding)
    file = decode(data)
    assert file is not None
    assert (file.text, file.encoding) == (f"{comment}\nx = 1\r\n", encoding)
    assert file.encode(file.text + comment) == data + comment.encode(encoding)


@pytest.mark.parametrize("encoding", ["cp1252", "cp932", "gb18030", "cp1251"])
def test_an_encoding_is_told_by_letters_far_from_the_start_of_a_file(encoding: str) -> None:
    text = "x = 1\n" * 20_000 + COMMENT[encoding] + "\n"
    file = decode(text.encode(encoding))
    assert file is not None
    assert (file.text, file.encoding) == (text, encoding)


@pytest.mark.parametrize("word", ["café", "Müller", "naïve\n", "año ¿no?", "tr\xe8s"])
def test_a_short_text_of_western_europe_is_read_as_such(word: str) -> None:
    file = decode(word.encode("latin-1"))
    assert file is not None
    assert file.text == word


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"# -*- coding: latin-1 -*-\nx = 1\n", "iso8859-1"),
        (b"#!/usr/bin/python\n# vim: set fileencoding=koi8-r :\n", "koi8-r"),
        (b'<?xml version="1.0" encoding="windows-1251"?>\n<a/>', "cp1251"),
        (b'<html><head><meta charset="shift_jis">', "shift_jis"),
        (b'@charset "iso-8859-15";', "iso8859-15"),
        (b";; -*- coding: latin-1-unix; mode: lisp -*-", "iso8859-1"),
        (b"# coding: no-such-thing\n", "utf-8"),
        (b'import x\n\nopen(f, encoding="latin-1")\n', "utf-8"),
        ("# coding: latin-1\n# grün".encode(), "utf-8"),
        (b"# coding: utf-8\n# gr\xfcn", "cp1252"),
    ],
)
def test_a_text_is_in_the_encoding_that_it_declares_unless_that_is_wrong(
    data: bytes, encoding: str
) -> None:
    file = decode(data)
    assert file is not None
    assert file.encoding == encoding
    assert file.encode(file.text) == data


def test_a_text_that_declares_another_encoding_now_is_written_in_that_one() -> None:
    file = decode(b"# coding: latin-1\n# gr\xfcn\n")
    assert file is not None
    assert (
        file.encode(file.text.replace("latin-1", "utf-8")) == "# coding: utf-8\n# grün\n".encode()
    )


def test_what_the_settings_say_comes_before_a_guess() -> None:
    file = decode(b"caf\xe9", "cp1251")
    assert file is not None
    assert file.text == "cafй"
    assert decode("grün".encode(), "latin-1") == TextFile("grün")


def test_stray_bytes_in_utf_8_are_shown_as_a_mark_and_kept() -> None:
    data = "grün, größer".encode() + b" caf\xe9\n"
    file = decode(data)
    assert file is not None
    assert not file.is_valid
    assert file.readable_text == "grün, größer caf\ufffd\n"
    assert file.encode(file.text + "ü") == data + b"\xc3\xbc"


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
    with pytest.raises(UnicodeEncodeError):
        TextFile("").encode("a\ud800")
