"""Test which changes of the layout leave code the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.review.judge.layout import digest_code, read_forms

CODE = """def total(items):
    s = 0
    for i in items:
        s += i

    query = 'SELECT a' + ' FROM t'  # of all
    call(
"text")
    return s
"""
BODY = '''"""
    a

  b"""'''


def digest(text: str, path: str = "a.py") -> str:
    return digest_code(read_forms(path, tuple(text.split("\n"))))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    ", "  "),
        ("    ", "\t"),
        ("\n", "\r\n"),
        ("s = 0", "s  =  0"),
        ("# of all", "# of all   "),
        ("s += i\n", "s += i   \n\n\n"),
    ],
)
def test_steps_of_another_width_ends_of_lines_and_runs_of_blanks_leave_code_the_same(
    old: str, new: str
) -> None:
    assert digest(CODE.replace(old, new)) == digest(CODE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return s", "        return s"),
        ("    return s", "return s"),
        ("        s += i", "    s += i"),
        ("'SELECT a'", "'SELECT a '"),
        ("'SELECT a'", "'SELECT  a'"),
        ("s += i", "s+= i"),
        ("    s = 0", "\ts = 0"),
        ("    s = 0\n    for", "    for"),
    ],
)
def test_depth_and_quotes_are_part_of_the_code(old: str, new: str) -> None:
    changed = CODE.replace(old, new)
    assert changed != CODE
    assert digest(changed) != digest(CODE)


@pytest.mark.parametrize(
    ("path", "text", "old", "new"),
    [
        ("a.py", f"x = {BODY}\n", "    a", "  a"),
        ("a.py", f"x = {BODY}\n", "\n\n", "\n"),
        ("a.js", "x = `\n    a\n`\n", "    a", "  a"),
        ("a.sh", "cat <<END\n    a\nEND\n", "    a", "  a"),
        ("a.rs", 'x = "\n    a";\n', "    a", "  a"),
        ("a.js", "x = /a  b/\n", "  ", " "),
        ("Makefile", "a:\n\techo\n", "\t", "    "),
        ("a.yml", "a:\n    b: c  d\n", "  d", " d"),
        ("a.md", "- a\n  - b\n", "  - b", "    - b"),
        ("a.unknown", "a  b\n", "  ", " "),
    ],
)
def test_every_blank_counts_where_the_language_does_not_say_otherwise(
    path: str, text: str, old: str, new: str
) -> None:
    assert digest(text.replace(old, new), path) != digest(text, path)


LINES = st.lists(st.text("ab'\"`#([{}])\\ \t:", max_size=8), max_size=12)


@given(LINES)
def test_any_text_has_a_form_for_each_line(lines: list[str]) -> None:
    for path in ("a.py", "a.js", "a.sh", "a.c", "a.rb", "noend"):
        assert len(read_forms(path, tuple(lines))) == len(lines)


@given(LINES, st.integers(0, 40))
def test_a_line_that_is_added_changes_the_digest(lines: list[str], place: int) -> None:
    added = [*lines[:place], "added", *lines[place:]]
    assert digest("\n".join(added)) != digest("\n".join(lines))
