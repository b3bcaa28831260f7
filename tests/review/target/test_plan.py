"""Test how a change is cut into parts, and which hunks of a later push count as read."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from swecli.context.tokens import TokenCounter
from swecli.review.judge.sources import Sources
from swecli.review.target.diffs import FileDiff, parse_hunks
from swecli.review.target.plan import Plan, build_plan
from swecli.review.target.targets import Target

BASE = """import os


def total(items):
    s = 0
    return s


FIRST = 1
SECOND = 2
THIRD = 3
FOURTH = 4


def read(path):
    h = open(path)
    text = h.read()
    return text
"""
FIRST = BASE.replace(
    "    return s\n", "    for i in items:\n        s += i\n        say('a b')\n    return s\n"
).replace("    return text", "    h.close()\n    return text")


def plan(text: str, base: str = BASE, path: str = "a.py") -> Plan:
    """Return the plan of a change of a file, or with `base` "" of a new one."""
    Path(path).write_text(text, newline="")
    rows = difflib.unified_diff(base.splitlines(), text.split("\n")[:-1], lineterm="")
    patch = "\n".join(rows)
    diff = FileDiff(path, hunks=parse_hunks(patch), is_new=not base)
    target = Target((), "", (path,), {path: diff}, sources=Sources(Path.cwd()))
    return build_plan(target, TokenCounter(), 8_000)


def unread(first: Plan, second: Plan) -> list[tuple[int, ...]]:
    """Return the lines of the second push that the first one does not count as read."""
    read = {hunk.digest for hunk in first.hunks}
    return [hunk.lines for hunk in second.hunks if hunk.digest not in read]


@pytest.mark.parametrize("base", [BASE, ""])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return s\n", "        return s\n"),
        ("        s += i\n", "    s += i\n"),
        ("        s += i\n        say('a b')\n", "        say('a b')\n        s += i\n"),
        ("    text = h.read()\n    h.close()\n", "    h.close()\n    text = h.read()\n"),
        ("'a b'", "'a  b'"),
        ("        say('a b')", "\t\tsay('a b')"),
    ],
)
def test_a_push_that_only_indents_or_moves_or_fills_a_quote_is_read_again(
    base: str, old: str, new: str
) -> None:
    later = FIRST.replace(old, new)
    assert later != FIRST
    assert unread(plan(FIRST, base), plan(later, base))


@pytest.mark.parametrize(
    ("old", "new"), [("    ", "  "), ("    ", "\t"), ("\n", "\r\n"), ("+= i", "+= i   ")]
)
def test_a_new_file_in_another_layout_is_not_read_again(old: str, new: str) -> None:
    assert unread(plan(FIRST, ""), plan(FIRST.replace(old, new), "")) == []


def test_a_rebase_onto_other_changes_above_is_not_read_again() -> None:
    above = "import re\n\nLIMIT = 3\n\n"
    assert unread(plan(FIRST), plan(above + FIRST, above + BASE)) == []


def test_only_the_hunk_that_a_push_changes_is_read_again() -> None:
    later = FIRST.replace("    h.close()\n", "").replace("text = h", "h.close()\n    text = h")
    [lines] = unread(plan(FIRST), plan(later))
    assert lines == (20,)


def test_a_removed_file_is_planned_with_the_lines_that_it_had() -> None:
    patch = f"@@ -1,{BASE.count(chr(10))} +0,0 @@\n" + "".join(
        f"-{line}\n" for line in BASE.split("\n")[:-1]
    )
    diff = FileDiff("a.py", "", parse_hunks(patch), "deleted")
    sources = Sources(Path.cwd(), {"a.py": diff.before([])})
    target = Target((), "", ("a.py",), {"a.py": diff}, sources=sources)
    [hunk] = build_plan(target, TokenCounter(), 8_000).hunks
    assert (hunk.lines, hunk.spans) == (tuple(range(1, 19)), ((1, 18),))
    assert "     4 - def total(items):" in hunk.text


def test_each_of_five_thousand_lines_is_in_one_part_of_limited_size() -> None:
    text = "".join(f"value_{number} = work({number}) + 1\n" for number in range(5_000))
    wide = plan(text, base="")
    lines = [line for part in wide.parts for hunk in part.hunks for line in hunk.lines]
    assert sorted(lines) == list(range(1, 5_001))
    assert max(part.tokens for part in wide.parts) <= 8_000
