"""Test that invisible characters are made visible."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from swecli.text import escape_hidden, unclear_character
from swecli.tools.limits import one_line


def test_control_characters_and_unusual_spaces_are_escaped() -> None:
    assert (
        escape_hidden("a\x1b[31mb\u202ec\u200bd\xa0e\U000e0041")
        == "a\\x1b[31mb\\u202ec\\u200bd\\xa0e\\U000e0041"
    )
    assert escape_hidden("tab\tline\n") == "tab\tline\n"
    assert escape_hidden("naïve 日本 🙂") == "naïve 日本 🙂"


def test_a_summary_is_one_line() -> None:
    assert one_line("echo a\n  echo b\n") == "echo a ⏎ echo b"
    assert one_line("x" * 500, 10) == "x" * 9 + "…"


@given(st.text(), st.integers(1, 50))
def test_escaped_text_contains_no_hidden_characters(text: str, limit: int) -> None:
    shown = escape_hidden(text, keep="")
    assert not unclear_character().search(shown)
    assert not set(shown) & {"\t", "\n"}
    line = one_line(text, limit)
    assert len(line) <= limit
    assert not unclear_character().search(line)
