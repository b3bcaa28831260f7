"""Test finding the functions, classes and sections of a file."""

from __future__ import annotations

import pytest

from swecli.review.judge.sources import Source

CODE = """@cache
def f(a, /, b, *, c):
    def g(x):
        return [y for y in x if y and a]
    return g(b) if c else None


class A:
    async def g(self):
        pass
""".splitlines()


def test_symbols_of_python_have_paths_and_lines_with_decorators() -> None:
    found = Source("a.py", tuple(CODE)).symbols
    assert [(f.name, f.first, f.last) for f in found] == [
        ("f", 1, 5), ("f.g", 3, 4), ("A", 8, 10), ("A.g", 9, 10),
    ]  # fmt: skip


def test_the_innermost_symbol_is_found_by_a_line_in_it() -> None:
    found = Source("a.py", tuple(CODE))
    assert found.symbol_at(4).name == "f.g"
    assert found.symbol_at(8).name == "A"


@pytest.mark.parametrize("text", ["def (", "x = '\0'", "(" * 5000, "'\\d'"])
def test_python_that_cannot_be_parsed_has_no_symbols(text: str) -> None:
    assert Source("a.py", (text,)).symbols == ()


def test_files_in_other_languages_have_no_symbols() -> None:
    assert Source("a.js", tuple(CODE)).symbols == ()


@pytest.mark.parametrize(
    ("path", "header"),
    [
        ("a.go", "func (s *Shop) total(n int) {"),
        ("a.ts", "export const total = (n) => {"),
        ("a.c", "int total(int n) {"),
    ],
)
def test_in_other_languages_an_unindented_header_begins_a_section(path: str, header: str) -> None:
    source = Source(
        path,
        ("import a", "import b", "", header, "  return 1", "", "  }", "}", "", "let x = 1", ""),
    )
    assert [(s.name, s.first, s.last) for s in map(source.symbol_at, (4, 7))] == [
        ("total", 4, 9)
    ] * 2
    assert (source.symbol_at(1).name, source.symbol_at(1).last) == ("", 11)
