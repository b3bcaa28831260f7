"""Unified diffs taken apart."""

from __future__ import annotations

from swecli.review.target.diffs import parse_diff

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


def test_each_file_has_its_lines() -> None:
    code, gone, logo = parse_diff(TEXT)
    assert code.path == "a b.py"
    assert (code.lines, code.added) == ({1, 2, 3, 4, 21, 22}, {2, 3, 22})
    assert (gone.path, gone.deleted) == ("gone.py", True)
    assert (logo.path, logo.binary) == ("logo.png", True)


def test_nothing_is_nothing() -> None:
    assert parse_diff("") == []
