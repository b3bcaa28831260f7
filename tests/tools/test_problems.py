"""Test comparing what a linter prints with what it printed before."""

from __future__ import annotations

from swecli.tools.problems import count_lines, new_lines

BEFORE = ["a.py:3:1: F401 unused", "b.py:9: error: bad", "Found 2 errors"]


def test_problems_that_moved_are_not_new() -> None:
    now = ["a.py:5:1: F401 unused", "b.py:12: error: bad", "Found 2 errors"]
    assert new_lines(now, count_lines(BEFORE)) == []


def test_the_same_problem_once_more_is_new() -> None:
    now = ["a.py:3:1: F401 unused", "a.py:4:1: F401 unused", "b.py:9: error: bad", "Found 3 errors"]
    assert new_lines(now, count_lines(BEFORE)) == ["a.py:4:1: F401 unused"]


def test_without_earlier_problems_all_are_new() -> None:
    assert new_lines(BEFORE, count_lines([])) == BEFORE
