"""Test patterns of paths: that they mean what they mean to git, and that no pattern of a stranger takes long."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.tools.path_patterns import MAX_WILDCARDS, PathPatterns, PatternError
from tests.tools.conftest import Answers, RunTool

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="skipped: git is not installed")

# Compares each of these with the name of 60 letters: a matcher that goes back takes hours for one of them.
SLOW = ["*a*a*a*a*a*a*a*a*b", "*" * 200 + "b", "a*" * 100 + "b", "**/" * 50 + "b", "*?*?*?*?*?*b"]
COMPARING = "import sys\nfrom swecli.tools.path_patterns import PathPatterns\n" + (
    "print(PathPatterns([sys.argv[1]]).match('a' * 60 + '/' + 'a' * 60))"
)
GUARD = 30  # seconds, after which a comparison counts as endless


@pytest.mark.parametrize("pattern", SLOW)
def test_a_pattern_of_many_stars_is_compared_at_once(pattern: str) -> None:
    argv = [sys.executable, "-c", COMPARING, pattern]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=GUARD)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("lines", "path", "named"),
    [
        (["a"], "x/a/b", True),
        (["/a"], "x/a", False),
        (["a/"], "a", False),
        (["a/"], "a/", True),
        (["a/", "!a/b"], "a/b", True),
        (["*.log", "!keep.log"], "x/keep.log", False),
        (["a/**/b"], "a/b", True),
        (["a/**/b"], "a/x/y/b", True),
        (["a/**"], "a/x", True),
        (["a/**"], "a/", False),
        (["[a-c]?"], "bz", True),
        (["[!a-c]?"], "bz", False),
        (["[z-a]", "["], "z", False),
        ([r"\*"], "*", True),
        ([r"\*"], "a", False),
        ([r"\#a", "# b"], "#a", True),
        (["a  "], "a", True),
        ([r"a\ "], "a ", True),
        ([], "a", False),
        (["*"], "", False),
    ],
)
def test_a_line_names_what_it_names_to_git(lines: list[str], path: str, named: bool) -> None:
    assert PathPatterns(lines).match(path) is named


# `a**/b`: git stops at the folder below `a`, or does not, depending on what stands before it
AMONG_OTHERS = re.compile(r"[^/]\*\*|\*\*[^/]")
WORDS = st.lists(
    st.sampled_from(["a", "b", "*", "?", "[ab]", "[!a]", "/", "/**/", "\\*", ".x", "!"]), max_size=5
).map("".join)
LINES = WORDS.filter(lambda line: not AMONG_OTHERS.search(line))
FILES = ["a/a", "a/b", "a/c.x", "b/a", "b/b/a", "b/c.x", "c/a/b", "d.x", "e", "*", "ab/ba"]


@needs_git
@settings(deadline=None, max_examples=60)
@given(lines=st.lists(LINES, max_size=4))
@pytest.mark.slow
def test_the_named_files_are_those_that_git_ignores(
    lines: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / ".gitignore").write_text("\n".join(lines))
    listing = ["git", "ls-files", "-z", "--others", "--exclude-standard"]
    done = subprocess.run(listing, cwd=root, capture_output=True, text=True, check=True)
    shown = set(done.stdout.split("\0"))
    patterns = PathPatterns(lines)
    assert {name for name in FILES if not patterns.match(name)} == shown & set(FILES)


@given(lines=st.lists(LINES, max_size=4), path=st.sampled_from(FILES))
def test_the_quick_look_at_a_name_overlooks_nothing(lines: list[str], path: str) -> None:
    patterns = PathPatterns(lines)
    names = path.split("/")
    if patterns.match(path):
        assert any(patterns.may_name(name) for name in names)


def test_tens_of_thousands_of_ordinary_lines_are_looked_up_by_name() -> None:
    patterns = PathPatterns(f"folder/file-{number}.txt" for number in range(70_000))
    assert patterns.match("folder/file-69999.txt")
    assert not patterns.match("folder/file-70000.txt")


def test_too_many_wildcards_are_refused() -> None:
    with pytest.raises(PatternError, match="more than 10,000 characters in lines with wildcards"):
        PathPatterns(["*a*b"] * MAX_WILDCARDS)


def test_a_very_deep_path_is_compared() -> None:
    assert PathPatterns(["x*"]).match("a/" * 3_000 + "xy")


@pytest.mark.parametrize("pattern", SLOW[:2])
async def test_an_ignore_file_of_a_stranger_does_not_hold_a_turn(
    run: RunTool, root: Path, pattern: str
) -> None:
    (root / ".swecliignore").write_text(f"{pattern}\nprivate\n")
    (root / ("a" * 60)).write_text("found\n")
    (root / "private").write_text("found\n")
    assert "1 file" in (await run("list_files", pattern="a*")).for_model
    found = (await run("search_files", pattern="found")).for_model
    assert "private" not in found
    assert "found" in (await run("run_command", command="cat a*")).for_model


async def test_too_many_wildcards_in_an_ignore_file_make_everything_ask(
    run: RunTool, root: Path, answers: Answers
) -> None:
    (root / ".aiignore").write_text("*a*b\n" * MAX_WILDCARDS)
    (root / "x").touch()
    await run("read_file", path="x")
    assert "What .aiignore leaves out is unknown: it has more than" in answers.asked[0].why
