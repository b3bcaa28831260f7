"""What a file holds and what is wrong with it, told from its text alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.llm.demo.outline import Lines, outline, render
from swecli.llm.demo.smells import smells


def numbered(text: str, first: int = 1) -> Lines:
    return list(enumerate(text.split("\n"), first))


def labels(path: str, text: str) -> list[str]:
    return [entry.label for entry in outline(path, numbered(text)).entries]


def kinds(path: str, text: str) -> list[tuple[int, str]]:
    return [(finding.line, finding.code_smell_type) for finding in smells(path, numbered(text))]


PYTHON = '''"""Counts things.

More words.
"""

import os
from a.b import c

LIMIT = 3


class Counter(Base):
    """Counts."""

    def add(self, n, *, by=1):
        """Add n."""


async def main():
    pass


if __name__ == "__main__":
    main()
'''


def test_python_is_outlined_by_its_syntax_tree() -> None:
    found = outline("a.py", numbered(PYTHON))
    assert found.about == "Counts things."
    assert [(entry.line, entry.label, entry.depth) for entry in found.entries] == [
        (6, "imports `a.b`, `os`", 0),
        (9, "constant `LIMIT`", 0),
        (12, "class `Counter(Base)`", 0),
        (15, "method `add(n, by)`", 1),
        (19, "function `main()`", 0),
        (23, "runs as a program", 0),
    ]


def test_python_that_is_not_whole_is_read_line_by_line_with_true_numbers() -> None:
    found = outline("a.py", numbered("    def add(self):\n        pass\nclass B:", first=40))
    assert [(entry.line, entry.label) for entry in found.entries] == [(40, "function `add`"), (42, "class `B`")]
    assert "not whole" in found.remark


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.md", "# One\ntext\n```\n# no heading\n```\n## Two", ["One", "Two"]),
        (
            "a.js",
            "export function f(a) {\n}\nconst g = (x) => x\nclass C {}",
            ["function `f`", "function `g`", "class `C`"],
        ),
        ("a.go", "func (s *S) Run() {\n}\ntype T struct {", ["function `Run`", "type `T`"]),
        ("a.rs", "pub fn run() {}\nstruct S;", ["function `run`", "struct `S`"]),
        ("a.sh", "#!/bin/sh\nbuild() {\n}", ["function `build`"]),
        ("a.toml", "[a]\nx = 1\n[b.c]", ["`a`", "`b.c`"]),
        ("a.yaml", "name: x\non:\n  push:", ["`name`", "`on`"]),
    ],
)
def test_other_languages_are_outlined_by_their_visible_shape(path: str, text: str, expected: list[str]) -> None:
    assert labels(path, text) == expected


def test_json_is_told_by_its_keys() -> None:
    assert "`a`, `b`" in outline("a.json", numbered('{"a": 1,\n "b": 2}')).about
    assert "not whole" in outline("a.json", numbered('{"a": 1,')).remark


SMELLY = """def f(a=[]):
    try:
        return a == None
    except:
        pass
    # TODO: tidy up
    return 37 + a[0]
x = 37
y = [37]
"""


def test_each_smell_is_found_at_its_line() -> None:
    assert kinds("a.py", SMELLY) == [
        (1, "mutable-default"),
        (3, "none-comparison"),
        (4, "bare-except"),
        (6, "open-task"),
        (7, "magic-number"),
    ]


def test_a_function_is_long_from_61_lines_on() -> None:
    body = "\n".join(["    pass"] * 59)
    assert kinds("a.py", f"def f():\n{body}") == []
    assert kinds("a.py", f"def f():\n{body}\n    pass") == [(1, "long-function")]


def test_a_block_that_stands_twice_is_found_where_it_stands_again() -> None:
    block = "\n".join(f"    step_{n}(value)" for n in range(6))
    text = f"def f(value):\n{block}\n\ndef g(value):\n{block}"
    assert kinds("a.py", text) == [(10, "duplicate-block")]


def test_named_numbers_and_usual_ones_are_no_smell() -> None:
    assert kinds("a.py", "LIMIT = 37\nx = 1\ny = 1\nz = 1\n") == []


def test_smells_of_a_part_of_a_file_keep_their_line_numbers() -> None:
    found = smells("a.py", numbered("x = 1  # FIXME later", first=300))
    assert [(finding.line, finding.code_smell_type) for finding in found] == [(300, "open-task")]


@given(st.text(max_size=300), st.sampled_from(["a.py", "a.md", "a.js", "a.json", "a.go", "a", "a.toml", "a.c"]))
def test_any_text_has_an_outline_and_a_review(text: str, path: str) -> None:
    lines = numbered(text)
    assert render(path, lines, outline(path, lines))
    assert all(1 <= finding.line <= len(lines) for finding in smells(path, lines))
