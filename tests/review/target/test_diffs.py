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


def test_lines_that_look_like_a_header_are_lines() -> None:
    text = (
        TEXT.split("@@")[0]
        + "@@ -7,3 +7,3 @@\n a\n--- x\n+++ y\n-diff --git a/z b/z\n+@@ -1 +1 @@\n"
    )
    [file] = parse_diff(text)
    assert (file.path, file.rows[1:]) == (
        "a b.py",
        (
            ("-", 8, "-- x"),
            ("+", 8, "++ y"),
            ("-", 9, "diff --git a/z b/z"),
            ("+", 9, "@@ -1 +1 @@"),
        ),
    )


def test_a_file_of_which_nothing_is_left_has_the_lines_that_it_had() -> None:
    head = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n"
    [emptied] = parse_diff(head + "@@ -1,2 +0,0 @@\n-x\n-y\n")
    assert (emptied.is_gone, emptied.rows) == (True, (("-", 1, "x"), ("-", 2, "y")))
    before = emptied.before([])
    assert (before.source.lines, before.present_lines, before.is_gone) == (("x", "y"), (1, 2), True)
    [kept] = parse_diff(head + "@@ -1,3 +1 @@\n-x\n-y\n z\n")
    assert (kept.is_gone, kept.before(["z"]).present_lines) == (False, (1, 1, 1))


def test_a_removed_link_or_submodule_has_no_text() -> None:
    for mode in ("120000", "160000"):
        head = f"diff --git a/x b/x\ndeleted file mode {mode}\n--- a/x\n+++ /dev/null\n"
        [file] = parse_diff(head + "@@ -1 +0,0 @@\n-target\n")
        assert (file.status, file.hunks) == ("deleted", ())
