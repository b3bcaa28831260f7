"""Test rendering unified diffs with line numbers."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from swecli.repl.render.diff import different_words, render_diff
from swecli.repl.render.screen import Screen
from swecli.tools.diffs import unified_diff
from tests.screen.emulated import TextSurface

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


def render(diff: str, width: int = 60, limit: int = 2000, room: int = 0, hint: str = "") -> str:
    out = io.StringIO()
    Screen(TextSurface(out, width), False).print(render_diff(diff, limit, room, hint))
    return out.getvalue()


def test_old_lines_have_old_numbers_and_new_lines_new_ones() -> None:
    assert render(DIFF).splitlines() == [
        " 3   same",
        " 4 - -- old text that looks like a header",
        " 4 + new",
        " 5 + ++ more",
        " 6   end",
        " ┆",
        "10 - last",
        "11 + LAST",
        "No newline at end of file",
    ]


def test_a_long_diff_is_folded_with_the_number_of_hidden_lines() -> None:
    assert render(DIFF, room=3).splitlines()[2:] == ["… 7 more lines"]
    shown = render(DIFF, room=3, hint="F2 to expand").splitlines()
    assert shown[2:] == ["… 7 more lines (F2 to expand)"]


def replacement(removed: int, added: int) -> str:
    old = "".join(f"-old {number}\n" for number in range(1, removed + 1))
    new = "".join(f"+new {number}\n" for number in range(1, added + 1))
    return f"--- a/x\n+++ b/x\n@@ -9,{removed + 2} +9,{added + 2} @@\n before\n{old}{new} after\n"


def test_a_folded_replacement_shows_the_beginning_of_both_sides_and_how_much_of_each_is_hidden() -> (
    None
):
    assert render(replacement(80, 90), room=10, hint="F2 to expand").splitlines() == [
        "  9   before",
        " 10 - old 1",
        " 11 - old 2",
        " 12 - old 3",
        "    - … 77 more removed lines",
        " 10 + new 1",
        " 11 + new 2",
        " 12 + new 3",
        "    + … 87 more added lines (F2 to expand)",
        "100   after",
    ]


def test_a_short_run_beside_a_long_one_is_shown_whole() -> None:
    shown = render(replacement(80, 4), room=12)
    assert "new 4" in shown
    assert "… 75 more removed lines" in shown
    assert len(shown.splitlines()) == 12


def test_lines_hidden_in_a_run_count_where_the_end_of_the_diff_is_left_out() -> None:
    several = replacement(50, 50) + "@@ -90 +90 @@\n-x\n+y\n"
    assert render(several, room=5).splitlines() == [
        " 9   before",
        "10 - old 1",
        "   - … 49 more removed lines",
        "10 + new 1",
        "… 53 more lines",  # 49 that are added, a context line, the gap, and two of the next hunk
    ]


def test_words_are_marked_in_a_folded_replacement() -> None:
    old = "".join(f"-size = {number}0\n" for number in range(40))
    new = "".join(f"+size = {number}1\n" for number in range(40))
    out = io.StringIO()
    diff = f"--- a/x\n+++ b/x\n@@ -1,40 +1,40 @@\n{old}{new}"
    Screen(TextSurface(out, 60), True).print(render_diff(diff, max_rows=20))
    assert out.getvalue().count("\x1b[7;") == 2 * 9


def test_file_names_are_shown_only_in_a_diff_of_several_files() -> None:
    assert "x.py" not in render(DIFF)
    lines = render(DIFF + DIFF.replace("x.py", "y.py")).splitlines()
    assert [line for line in lines if line.endswith(".py")] == ["x.py", "y.py"]


def test_text_that_is_not_a_diff_is_shown_as_it_is() -> None:
    assert render("hello\nworld") == "hello\nworld\n"


def test_a_cut_line_names_the_number_of_missing_characters() -> None:
    long = f"@@ -0,0 +1 @@\n+{'x' * 500}"
    assert "… 400 more characters" in " ".join(render(long, limit=100).split())
    assert render(long, limit=0).count("x") == 500


@given(st.text(st.sampled_from("+-@ a\n\\1,日"), max_size=200))
def test_any_text_is_drawn_within_the_width(text: str) -> None:
    assert all(len(line) <= 40 for line in render(text, 40).split("\n"))


def marked(old: str, new: str) -> tuple[list[str], list[str]]:
    gone, come = different_words(old, new)
    return [old[slice(*span)] for span in gone], [new[slice(*span)] for span in come]


def test_the_words_that_differ_in_a_changed_line_are_marked() -> None:
    assert marked("    return total(a, b)", "    return total(a, b, c)") == ([], [", c"])
    assert marked("size = 12  # old", "size = 20  # old") == (["12"], ["20"])


def test_no_word_is_marked_in_a_line_that_was_replaced() -> None:
    assert marked("import os", "class Parser:") == ([], [])


def test_words_are_marked_only_where_as_many_lines_were_added_as_removed() -> None:
    lines = "--- a/x\n+++ b/x\n@@ -1,{} +1,2 @@\n{}+size = 20\n+size = 21\n"

    def colored(removed: str) -> str:
        out = io.StringIO()
        diff = lines.format(removed.count("\n"), removed)
        Screen(TextSurface(out, 60), True).print(render_diff(diff))
        return out.getvalue()

    reverse = "\x1b[7;"
    assert reverse in colored("-size = 10\n-size = 11\n")
    assert reverse not in colored("-size = 10\n")


def test_a_removed_line_before_an_added_one_is_not_taken_for_the_head_of_a_file() -> None:
    old = "select 1;\n-- the old comment\nend\n"
    new = "select 1;\n++ the new comment\nend\n"
    shown = render(unified_diff("query.sql", old, new).text).splitlines()
    assert shown == ["1   select 1;", "2 - -- the old comment", "2 + ++ the new comment", "3   end"]
    several = f"{unified_diff('a.sql', old, new).text}{unified_diff('b.sql', old, new).text}"
    assert render(several).splitlines() == ["a.sql", *shown, "b.sql", *shown]


def test_a_form_feed_does_not_end_a_line_of_a_diff() -> None:
    diff = unified_diff("a.c", "one\n", "one\x0cand\n+++ two\n").text
    assert render(diff).splitlines()[-1].startswith("2 + +++ two")


@given(
    st.lists(st.sampled_from(["-- x\n", "++ y\n", "@@ -1 +1 @@\n", "\\ x\n", "z\n"]), max_size=6)
)
def test_every_changed_line_is_shown(lines: list[str]) -> None:
    for old, new in (("".join(lines), ""), ("", "".join(lines)), ("-- x\n", "".join(lines))):
        diff = unified_diff("a", old, new)
        shown = render(diff.text).splitlines()
        signs = [line.split()[1] for line in shown if len(line.split()) > 1]
        assert (signs.count("+"), signs.count("-")) == (diff.added, diff.removed)
