"""Patterns over paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.tools.globs import Glob, _expand_braces, escaped, path_matches


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", "x/y/a.py"], ["a.pyc", "py"]),
        ("*.{js,ts}", ["a.js", "x/b.ts"], ["a.jsx"]),
        ("src/**/*.py", ["src/a.py", "src/x/y.py", "deep/src/a.py"], ["other/a.py"]),
        ("/src/*.py", ["src/a.py"], ["src/x/a.py"]),
        ("tests/", ["tests/a.py", "x/tests/b"], ["tests"]),
        ("!*.md", ["a.py"], ["a.md", "x/b.md"]),
        ("*.py, *.md", ["a.py", "b.md"], ["c.txt"]),
        ("*.py, !test_*", ["a.py"], ["test_a.py", "x/test_b.py"]),
        ("**", ["a", "x/y"], []),
    ],
)
def test_globs_mean_what_fingers_expect(pattern: str, yes: list[str], no: list[str]) -> None:
    glob = Glob(pattern)
    assert [p for p in yes if not glob.matches(p)] == []
    assert [p for p in no if glob.matches(p)] == []


@pytest.mark.parametrize("pattern", ["", " , ", "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"])
def test_globs_that_cannot_be_used_are_an_error(pattern: str) -> None:
    with pytest.raises(ValueError, match="it"):
        Glob(pattern)


def test_braces_nest() -> None:
    assert sorted(_expand_braces("a.{b,c{1,2}}")) == ["a.b", "a.c1", "a.c2"]


def test_rule_patterns() -> None:
    assert path_matches("src/**", "src/a/b.py")
    assert path_matches("*.py", "deep/a.py")
    assert path_matches("docs", "docs/x.md")
    assert not path_matches("src/**", "other/src/a.py")
    assert not path_matches("src/**", "src-other/a.py")
    assert not path_matches("\\", "a")


NAMES = st.text(st.characters(blacklist_characters="/", blacklist_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=8)
PATHS = st.lists(NAMES.filter(lambda n: n not in (".", "..")), min_size=1, max_size=3).map("/".join)


@given(PATHS, PATHS)
def test_an_escaped_path_covers_itself_and_what_is_in_it_alone(path: str, other: str) -> None:
    assert path_matches(escaped(path), path)
    assert path_matches(escaped(path), other) == (other == path or other.startswith(path + "/"))
