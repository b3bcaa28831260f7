"""Test diffs by applying them with git."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.tools.diffs import unified_diff

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "dd", " e"]), max_size=30)


def apply_diff(old: str | None, diff: str) -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if old is not None:
            (folder / "f").write_text(old, newline="")
        done = subprocess.run(
            ["git", "apply", "--unidiff-zero", "-p1", "-"],
            cwd=folder,
            input=diff.encode(),
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr.decode() + diff
        return (folder / "f").read_bytes().decode()


@pytest.mark.skipif(shutil.which("git") is None, reason="skipped: git is not installed")
@settings(deadline=None, max_examples=60)
@given(LINES, LINES, st.booleans(), st.booleans())
def test_git_can_apply_the_diff(
    before: list[str], after: list[str], old_ends: bool, new_ends: bool
) -> None:
    old = "\n".join(before) + ("\n" if old_ends and before else "")
    new = "\n".join(after) + ("\n" if new_ends and after else "")
    diff = unified_diff("f", old, new)
    if old == new:
        assert diff.text == ""
    else:
        assert apply_diff(old, diff.text) == new
    body = [line for line in diff.text.split("\n")[2:] if line]
    assert diff.added == sum(line.startswith("+") for line in body)
    assert diff.removed == sum(line.startswith("-") for line in body)


@pytest.mark.skipif(shutil.which("git") is None, reason="skipped: git is not installed")
def test_the_diff_of_a_new_file_starts_from_dev_null() -> None:
    diff = unified_diff("f", None, "one\ntwo\n")
    assert diff.text.startswith("--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n")
    assert apply_diff(None, diff.text) == "one\ntwo\n"


def test_a_diff_has_the_counts_and_line_numbers_of_its_changes() -> None:
    old = "".join(f"line {n}\n" for n in range(1, 41))
    new = (
        old.replace("line 5\n", "line five\n")
        .replace("line 30\n", "")
        .replace("line 40\n", "line 40\nmore\n")
    )
    diff = unified_diff("f", old, new)
    assert diff.counts == "+2 −2"
    assert diff.changed == ((5, 5), (30, 30), (40, 40))
    assert diff.text.count("@@ -") == 3


def test_the_diff_of_a_small_change_in_a_large_file_is_short() -> None:
    old = "".join(f"{n}\n" for n in range(200_000))
    diff = unified_diff("f", old, old.replace("\n150000\n", "\nx\n"))
    assert diff.counts == "+1 −1"
    assert len(diff.text) < 200


def test_the_diff_of_a_rewritten_large_file_replaces_all_lines() -> None:
    old, new = ("".join(f"{n} {word}\n" for n in range(7000)) for word in ("a", "b"))
    assert unified_diff("f", old, new).counts == "+7000 −7000"
