"""Unified diffs as lines with numbers."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from swecli.repl.render.screen import Screen
from swecli.repl.render.tools import DiffLine, draw_diff, parse_diff
from tests.screen.emulated import Paper

DIFF = """--- a/x.py
+++ b/x.py
@@ -3,3 +3,4 @@ def f():
 same
--- old text that looks like a header
+new
+++ more
 end
@@ -10 +11 @@
-last
+LAST
\\ No newline at end of file
"""


def test_lines_are_numbered_in_the_file_they_are_of() -> None:
    assert parse_diff(DIFF) == [
        DiffLine("context", "same", 3),
        DiffLine("removed", "-- old text that looks like a header", 4),
        DiffLine("added", "new", 4),
        DiffLine("added", "++ more", 5),
        DiffLine("context", "end", 6),
        DiffLine("gap", ""),
        DiffLine("removed", "last", 10),
        DiffLine("added", "LAST", 11),
        DiffLine("note", " No newline at end of file".strip()),
    ]


def test_several_files_are_named() -> None:
    two = DIFF + DIFF.replace("x.py", "y.py")
    assert [line.text for line in parse_diff(two) if line.kind == "file"] == ["x.py", "y.py"]


def test_what_is_no_diff_is_shown_all_the_same() -> None:
    assert parse_diff("hello\nworld") == [DiffLine("note", "hello"), DiffLine("note", "world")]


def test_a_line_that_is_too_long_says_how_much_is_missing() -> None:
    out = io.StringIO()
    screen = Screen(Paper(out, 60), False)
    screen.print(draw_diff([DiffLine("added", "x" * 500, 1)], 100))
    assert "… 400 more characters" in " ".join(out.getvalue().split())
    out.truncate(0)
    screen.print(draw_diff([DiffLine("added", "x" * 500, 1)], 0))
    assert out.getvalue().count("x") == 500


@given(st.text(st.sampled_from("+-@ a\n\\1,日"), max_size=200))
def test_any_text_is_drawn_within_the_width(text: str) -> None:
    out = io.StringIO()
    screen = Screen(Paper(out, 40), False)
    screen.print(draw_diff(parse_diff(text)))
    assert all(len(line) <= 40 for line in out.getvalue().split("\n"))
