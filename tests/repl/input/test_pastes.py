"""Test long pastes and their placeholders."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from swecli.repl.input.buffer import _Pastes


def test_a_short_paste_is_inserted_into_the_line() -> None:
    assert _Pastes().add_text("def f():\r\n    pass") == "def f():\n    pass"


def test_a_long_paste_is_shown_as_a_placeholder_and_sent_whole() -> None:
    pastes = _Pastes()
    many, big = "\n".join(map(str, range(16))), "x" * 1001
    line = f"{pastes.add_text(many)} and {pastes.add_text(big)}"
    assert line == "[Pasted text #1] and [Pasted text #2]"
    assert pastes.expand(line) == f"{many} and {big}"


def test_pastes_over_1000_characters_or_15_lines_become_placeholders() -> None:
    assert _Pastes().add_text("x" * 1000) == "x" * 1000
    fifteen = "\n".join("x" * 15)
    assert _Pastes().add_text(fifteen) == fifteen
    assert _Pastes().add_text(fifteen + "\nx") == "[Pasted text #1]"


def test_a_typed_placeholder_without_a_paste_is_not_expanded() -> None:
    assert _Pastes().expand("see [Pasted text #3]") == "see [Pasted text #3]"


def test_a_pasted_placeholder_is_not_expanded_again() -> None:
    pastes = _Pastes()
    inner = pastes.add_text("a" * 2000)
    outer = pastes.add_text(inner + "b" * 2000)
    assert pastes.expand(outer) == inner + "b" * 2000


@given(st.text())
def test_control_characters_are_removed_from_pastes(text: str) -> None:
    assert all(
        c in "\n\t" or (c >= " " and not "\x7f" <= c <= "\x9f")
        for c in _Pastes().add_text(text[:1000])
    )
