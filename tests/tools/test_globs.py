"""Test glob patterns of searches and of permission rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.tools.base import READ, ToolError
from swecli.tools.globs import Glob


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", "x/y/a.py"], ["a.pyc", "py"]),
        ("*.{js,ts}", ["a.js", "x/b.ts"], ["a.jsx"]),
        ("a.{b,c{1,2}}", ["a.b", "a.c1", "x/a.c2"], ["a.c"]),
        ("src/**/*.py", ["src/a.py", "src/x/y.py"], ["other/a.py", "deep/src/a.py"]),
        ("**/src/*.py", ["src/a.py", "deep/src/a.py"], ["src/x/a.py"]),
        ("./src/*.py,!./src/b.py", ["src/a.py"], ["src/b.py", "x/src/a.py"]),
        ("/src/*.py", ["src/a.py"], ["src/x/a.py"]),
        ("tests/", ["tests/a.py", "x/tests/b"], ["tests"]),
        ("!*.md", ["a.py"], ["a.md", "x/b.md"]),
        ("*.py, *.md", ["a.py", "b.md"], ["c.txt"]),
        ("*.py, !test_*", ["a.py"], ["test_a.py", "x/test_b.py"]),
        ("**", ["a", "x/y"], []),
        ("app/[id]/*.tsx", ["app/[id]/page.tsx", "app/i/a.tsx"], ["app/x/a.tsx"]),
        ("a,b.txt", ["x/a,b.txt"], ["c.txt"]),
        ("*.txt,![id].txt", ["a.txt"], ["[id].txt", "i.txt"]),
    ],
)
def test_globs_match_paths(pattern: str, yes: list[str], no: list[str]) -> None:
    glob = Glob(pattern)
    assert [p for p in yes if not glob.matches(p)] == []
    assert [p for p in no if glob.matches(p)] == []


def test_a_glob_with_a_slash_starts_at_the_folder_that_is_searched() -> None:
    glob = Glob("src/*.py")
    assert glob.matches("packages/app/src/a.py", "packages/app")
    assert not glob.matches("packages/app/src/a.py")
    assert not glob.matches("packages/app/deep/src/a.py", "packages/app")


@pytest.mark.parametrize("pattern", ["", " , ", "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"])
def test_invalid_globs_are_refused(pattern: str) -> None:
    with pytest.raises(ToolError, match="cannot be used: it"):
        Glob(pattern)


def test_patterns_of_rules_match_paths_from_the_root() -> None:
    assert READ.touches("src/**", "src/a/b.py")
    assert READ.touches("*.py", "deep/a.py")
    assert READ.touches("docs", "docs/x.md")
    assert not READ.touches("src/**", "other/src/a.py")
    assert not READ.touches("src/**", "src-other/a.py")
    assert not READ.touches("\\", "a")
    assert READ.touches("app/[id]/**", "app/[id]/page.tsx")


NAMES = st.text(
    st.characters(blacklist_characters="/", blacklist_categories=["Cs", "Cc", "Z"]),
    min_size=1,
    max_size=8,
)
PATHS = st.lists(NAMES.filter(lambda n: n not in (".", "..")), min_size=1, max_size=3).map("/".join)


@given(PATHS, PATHS)
def test_an_escaped_path_matches_only_itself_and_paths_below_it(path: str, other: str) -> None:
    assert READ.touches(READ.escape(path), path)
    assert READ.touches(READ.escape(path), other) == (other == path or other.startswith(path + "/"))
