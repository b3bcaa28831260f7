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


def number_lines(count: int) -> list[str]:
    return [f"line {number}\n" for number in range(count)]


def test_two_changes_far_apart_in_a_long_file_are_two_hunks() -> None:
    lines = number_lines(10_000)
    changed = list(lines)
    changed[20] = "first\n"
    changed[8_642] = "second\n"
    diff = unified_diff("f", "".join(lines), "".join(changed))
    assert diff.counts == "+2 −2"
    assert diff.changed == ((21, 21), (8643, 8643))
    assert diff.text.count("@@ -") == 2


@pytest.mark.parametrize("unique", [True, False])
def test_a_replacement_in_five_thousand_places_shows_only_those_lines(unique: bool) -> None:
    lines = [f"x = {number if unique else 0}\n" + "old()\n" for number in range(5_000)]
    text = "".join(lines)
    diff = unified_diff("f", text, text.replace("old", "new"))
    assert diff.counts == "+5000 −5000"


def test_lines_inserted_and_moved_in_a_long_file_are_found() -> None:
    lines = number_lines(20_000)
    changed = [*lines[:50], "new\n", *lines[50:9_000], *lines[9_010:19_000], *lines[9_000:9_010]]
    changed += lines[19_000:]
    diff = unified_diff("f", "".join(lines), "".join(changed))
    assert diff.counts == "+11 −10"


@pytest.mark.skipif(shutil.which("git") is None, reason="skipped: git is not installed")
@settings(deadline=None, max_examples=20)
@given(
    st.lists(
        st.tuples(st.integers(0, 7_000), st.integers(0, 4), st.lists(st.sampled_from("ab1"))),
        max_size=6,
    ),
    st.integers(1, 8_000),
)
def test_git_can_apply_the_diff_of_any_edits_in_a_long_file(
    edits: list[tuple[int, int, list[str]]], kinds: int
) -> None:
    lines = [f"{number % kinds}\n" for number in range(8_000)]
    old = "".join(lines)
    for place, removed, added in edits:
        lines[place : place + removed] = [f"{word}\n" for word in added]
    new = "".join(lines)
    diff = unified_diff("f", old, new)
    assert apply_diff(old, diff.text) == new if diff.text else old == new
