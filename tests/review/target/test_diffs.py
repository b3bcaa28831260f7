"""Test parsing unified diffs."""

from __future__ import annotations

from swecli.review.target.diffs import parse_diff, planned_lines

TEXT = """diff --git a/a b.py b/a b.py
index 1..2 100644
--- a/a b.py
+++ b/a b.py
@@ -1,3 +1,4 @@ def f():
 one
-two
+zwei
+drei
 four
@@ -20 +21,2 @@
 x
+++ y
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/logo.png b/logo.png
new file mode 100644
Binary files /dev/null and b/logo.png differ
"""


def test_a_diff_is_parsed_into_files_with_their_lines_and_status() -> None:
    code, gone, logo = parse_diff(TEXT)
    assert code.path == "a b.py"
    assert (code.lines, [planned_lines(hunk) for hunk in code.hunks]) == (
        {1, 2, 3, 4, 21, 22},
        [{2, 3}, {22}],
    )
    assert (gone.path, gone.status) == ("gone.py", "deleted")
    assert (logo.path, logo.status) == ("logo.png", "binary")


def test_a_diff_can_be_undone() -> None:
    code = parse_diff(TEXT)[0]
    after = ["one", "zwei", "drei", "four", *(str(n) for n in range(5, 21)), "x", "++ y", "end"]
    before = ["one", "two", "four", *(str(n) for n in range(5, 21)), "x", "end"]
    assert code.undo(after) == tuple(before)


def test_an_empty_diff_has_no_files() -> None:
    assert parse_diff("") == []


def test_a_hunk_with_only_deletions_has_one_planned_line() -> None:
    [file] = parse_diff(TEXT.split("diff --git a/gone")[0] + "@@ -30,4 +32,2 @@\n a\n-b\n-c\n d\n")
    assert [sorted(planned_lines(hunk)) for hunk in file.hunks] == [[2, 3], [22], [33]]


def test_a_renamed_file_has_its_old_path() -> None:
    head = "diff --git a/ä.py b/new.py\nsimilarity index 90%\nrename from ä.py\nrename to new.py\n"
    [pure] = parse_diff(head)
    assert (pure.path, pure.old_path, pure.status) == ("new.py", "ä.py", "only renamed")
    [changed] = parse_diff(head + "--- a/ä.py\n+++ b/new.py\n@@ -1 +1 @@\n-x\n+y\n")
    assert (changed.status, changed.old_path, planned_lines(changed.hunks[0])) == ("", "ä.py", {1})
