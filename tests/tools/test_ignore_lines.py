"""Single lines of ignore files, judged by git."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.tools.ignore import _IgnoreLines


@pytest.mark.parametrize(
    ("line", "out", "not_out"),
    [
        ("a", ["a", "a/", "x/a", "x/y/a/"], ["ab", "a/b"]),
        ("a/", ["a/", "x/a/"], ["a"]),
        ("/a", ["a", "a/"], ["x/a"]),
        ("a/b", ["a/b", "a/b/"], ["x/a/b", "a/b/c"]),
        ("a/**", ["a/b", "a/b/c", "a/b/"], ["a/", "a"]),
        ("**/b", ["b", "x/b", "x/y/b/"], ["bb"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["a/xb"]),
        ("*.x", ["a.x", ".x", "d/a.x"], ["a.xy"]),
        ("a?c", ["abc"], ["a/c", "ac"]),
        ("[a-c]x", ["ax", "cx"], ["dx", "-x"]),
        ("[!a]x", ["bx"], ["ax"]),
        ("[]a]x", ["]x", "ax"], ["x"]),
        ("[[:digit:]]", ["1"], ["a"]),
        ("\\#a", ["#a"], ["a"]),
        ("\\!a", ["!a"], ["a"]),
        ("a\\ ", ["a "], ["a"]),
        ("a  ", ["a"], ["a "]),
        ("a.b", ["a.b"], ["axb"]),
    ],
)
def test_lines_fit_entries(line: str, out: list[str], not_out: list[str]) -> None:
    lines = _IgnoreLines([line])
    assert [name for name in out if lines.verdict(name) is not True] == []
    assert [name for name in not_out if lines.verdict(name) is not None] == []


def test_the_last_line_that_fits_decides() -> None:
    lines = _IgnoreLines(["*.log", "!keep.log", "# keep.log", "", "/keep.log/"])
    assert lines.verdict("a.log") is True
    assert lines.verdict("keep.log") is False
    assert lines.verdict("keep.log/") is True
    assert lines.verdict("other") is None


@pytest.mark.parametrize("line", ["", "#", "!", "/", "\\", "[", "[a", "a\\", "[z-a]"])
def test_lines_that_mean_nothing_fit_nothing(line: str) -> None:
    assert _IgnoreLines([line]).verdict("a") is None


def ignored(lines: _IgnoreLines, name: str) -> bool:
    """Whether the lines leave this entry out, by itself or with a folder it lies in."""
    parts = name.split("/")
    above = ("/".join(parts[:count]) + "/" for count in range(1, len(parts)))
    return any(lines.verdict(folder) for folder in above) or lines.verdict(name) is True


@pytest.mark.skipif(shutil.which("git") is None, reason="skipped: git is not installed")
@settings(deadline=None, max_examples=30)
@given(st.lists(st.text(alphabet="ab/*?[]!^-\\# :", min_size=1, max_size=7), min_size=1, max_size=12))
def test_git_reads_lines_the_same_way(lines: list[str]) -> None:
    names = ["a", "b", "ab", "ba", "a b", "a ", "!a", "#a", "-", "a-b", "[a]", "a\\b", "x/a", "x/b", "x/ab", "x/y/a"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True, capture_output=True)
        for line in lines:
            # a folder that is left out hides what is in it; single lines are judged on top and one level down
            (Path(folder) / ".gitignore").write_text(line + "\n")
            wish = "\0".join(names)
            git = ["git", "-c", "core.excludesFile=/dev/null", "check-ignore", "-z", "--no-index", "--stdin"]
            done = subprocess.run(git, cwd=folder, input=wish.encode(), capture_output=True)
            mine = _IgnoreLines([line])
            assert [n for n in names if ignored(mine, n)] == sorted(
                done.stdout.decode().split("\0")[:-1], key=names.index
            )
