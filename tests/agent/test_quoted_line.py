"""Test which line of a failing command's output is quoted, with what real programs print."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.agent.quoted_line import find_quoted_line

NODE = """\
TAP version 13
# Subtest: adds
not ok 1 - adds
  ---
  duration_ms: 1.974
  code: 'ERR_ASSERTION'
  stack: |-
    TestContext.<anonymous> ({root}/a.test.js:2:25)
    node:internal/test_runner/harness:255:12
  ...
# Subtest: fine
ok 2 - fine
  ---
  duration_ms: 0.234003
  ...
1..2
# tests 2
# fail 1
# duration_ms 1311.339804

"""
CARGO = """\
running 2 tests
test tests::adds ... FAILED
---- tests::adds stdout ----
thread 'tests::adds' panicked at src/lib.rs:2:33:
assertion `left == right` failed
stack backtrace:
   4: x::tests::adds
             at ./src/lib.rs:2:33
failures:
    tests::adds

test result: FAILED. 1 passed; 1 failed; finished in 0.73s

error: test failed, to rerun pass `--lib`
"""
PYTEST = """\
tests/test_a.py:5: AssertionError
============================= slowest 3 durations ==============================
0.01s setup    tests/test_a.py::test_x
=========================== short test summary info ============================
FAILED tests/test_a.py::test_x - assert 1 == 2
2 failed in 7.16s
Results in 7.16 s
"""
GO = """\
--- FAIL: TestAdd (0.00s)
    add_test.go:8: got 3, want 4
FAIL
exit status 1
FAIL    example.org/add 0.003s
FAIL
"""
RUFF = """\
F401 [*] `os` imported but unused
 --> src/b.py:1:8
  |
1 | import os
  |        ^^
Found 1 error.
[*] 1 fixable with `--fix`.
"""
TRACEBACK = """\
Traceback (most recent call last):
  File "{root}/app.py", line 1, in <module>
    raise ValueError("bad")
ValueError: bad
"""


@pytest.mark.parametrize(
    ("printed", "line"),
    [
        (NODE, "not ok 1 - adds"),
        ("node --test a.test.js\n" + NODE, "not ok 1 - adds"),
        (CARGO, "thread 'tests::adds' panicked at src/lib.rs:2:33:"),
        (PYTEST, "FAILED tests/test_a.py::test_x - assert 1 == 2"),
        (GO, "--- FAIL: TestAdd (0.00s)"),
        (RUFF, "F401 [*] `os` imported but unused"),
        (TRACEBACK, "ValueError: bad"),
        ("c.py:2: error: wrong\nFound 1 error in 1 file\n", "c.py:2: error: wrong"),
        ("it fails:\n---\n# seconds 12\n\n", "it fails:"),
        ("12\nFAIL\n---\n", "FAIL"),
        ("  \n---\n", ""),
    ],
)
def test_the_line_that_a_person_would_quote_is_found(
    tmp_path: Path, printed: str, line: str
) -> None:
    names = (
        "a.test.js",
        "src/lib.rs",
        "tests/test_a.py",
        "add_test.go",
        "src/b.py",
        "app.py",
        "c.py",
    )
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert find_quoted_line(printed.replace("{root}", str(tmp_path)), tmp_path) == line


def test_a_line_without_end_is_read(tmp_path: Path) -> None:
    assert find_quoted_line("x" * 2_000_000 + "\nlast\n", tmp_path) == "last"


def test_a_file_that_is_not_of_the_workspace_says_nothing(tmp_path: Path) -> None:
    printed = "see /etc/passwd:1 for it\nit is all wrong\n"
    assert find_quoted_line(printed, tmp_path) == "it is all wrong"
