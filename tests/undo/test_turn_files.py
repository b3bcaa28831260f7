"""Test how what a turn changed in a file is written."""

from __future__ import annotations

from swecli.undo.turn_files import FileDiff


def test_each_hunk_stands_below_its_label_and_each_line_is_one_whatever_its_end() -> None:
    text = "--- a/m\n+++ b/m\n@@ -1 +1 @@\n-x\r\n+y\r\n@@ -9 +9 @@\n-z\n+\x0cz\n"
    diff = FileDiff("m", "m: changed", text, ("hunk 1", "hunk 2 · taken back"))
    assert diff.numbered_text() == [
        "--- a/m",
        "+++ b/m",
        "hunk 1",
        "@@ -1 +1 @@",
        "-x",
        "+y",
        "hunk 2 · taken back",
        "@@ -9 +9 @@",
        "-z",
        "+\x0cz",
    ]


def test_a_file_without_a_text_has_no_lines() -> None:
    assert FileDiff("m", "m: created").numbered_text() == []
