"""Test the hints for an edit that matches nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.tools.near_miss import explain_mismatch

TEXT = 'def first():\n    return "one"\n\n\ndef second(value):\n\tif value:\n\t\treturn value + 1\n    return "two" \n'


@pytest.mark.parametrize(
    ("old", "place", "how", "differs"),
    [
        (
            'def first():\n  return "one"',
            "lines 1-2",
            "only white space or case differs",
            '····return "one"',
        ),
        ('    return "two"\n', "line 8", "only white space or case differs", '····return "two"·'),
        ("def second( value ):", "line 5", "95% alike", "def second(value):"),
        ("    return “one”", "line 2", "83% alike", '····return "one"'),
        ("DEF FIRST():", "line 1", "only white space or case differs", "def first():"),
        ("        return value + 2", "line 7", "94% alike", "→→return value + 1"),
    ],
)
def test_the_hint_shows_the_closest_lines_and_how_they_differ(
    old: str, place: str, how: str, differs: str
) -> None:
    shown = explain_mismatch(TEXT, old, "new")
    assert f"Closest: {place} ({how})" in shown
    assert f"  file:     {differs}" in shown


def test_the_hint_makes_white_space_visible() -> None:
    hint = explain_mismatch(TEXT, "    if value:\n        return value + 1", "x")
    assert "  file:     →if value:" in hint
    assert "  old_text: ····if value:" in hint


def test_copied_line_numbers_are_recognised() -> None:
    hint = explain_mismatch(TEXT, "     1\tdef first():\n     2\t    return 'one'", "x")
    assert "leave them out" in hint
    assert "Closest: lines 1-2" in hint


def test_an_edit_already_made_is_recognised() -> None:
    assert "new_text is already there, at line 5" in explain_mismatch(
        TEXT, "def other(value):", "def second(value):"
    )


def test_a_few_letters_that_occur_somewhere_are_no_edit_already_made() -> None:
    assert "already" not in explain_mismatch(TEXT, "zzz", "x")
    assert "already" not in explain_mismatch(TEXT, "zzz", "value")


def test_escaped_line_ends_are_recognised() -> None:
    assert "backslash-n" in explain_mismatch(TEXT, 'def first():\\n    return "one"', "x")


def test_the_hint_reports_that_no_text_is_similar() -> None:
    assert "The file has no similar text" in explain_mismatch(TEXT, "zzzzzz qqqqqq", "x")
    assert "The file has no similar text" in explain_mismatch("", "zzz", "x")
    assert "The file has no similar text" in explain_mismatch("a\n\nb\n", " \n \t", "x")


@given(st.text(max_size=200), st.text(min_size=1, max_size=60), st.text(max_size=20))
def test_a_hint_is_shorter_than_5000_characters(text: str, old: str, new: str) -> None:
    hint = explain_mismatch(text, old, new)
    assert hint.startswith("old_text is not in the file.")
    assert len(hint) < 5000
