"""Test reading files for a review, and the symbols and blocks of code in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.review.judge.sources import Block, Source, Sources


def test_a_file_is_cached_until_hundreds_of_others_are_read() -> None:
    sources, first = Sources(Path.cwd()), Path("0.py")
    first.write_text("x\n")
    assert sources.get("0.py").lines == ("x",)
    first.write_text("y\n")
    assert sources.get("0.py").lines == ("x",)
    for number in range(1, 500):
        sources.get(f"{number}.py")
    assert sources.get("0.py").lines == ("y",)


def test_a_link_out_of_the_project_is_not_followed() -> None:
    Path("link").symlink_to("/etc/passwd")
    assert "link out of the workspace" in Sources(Path.cwd()).get("link").problem


def test_a_file_in_another_encoding_is_read_as_text_and_stray_bytes_are_replaced() -> None:
    Path("old.py").write_bytes(b"name = 'caf\xe9'\n")
    Path("mixed.py").write_bytes("größer, länger ".encode() + b"caf\xe9\n")
    assert Sources(Path.cwd()).get("old.py").lines == ("name = 'café'",)
    assert Sources(Path.cwd()).get("mixed.py").lines == ("größer, länger caf\ufffd",)


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


LINES = st.lists(st.text("ab(= \t", max_size=6), min_size=1, max_size=8)


@given(LINES, LINES, LINES, st.data())
def test_a_block_is_found_at_any_line_and_indentation(
    above: list[str], below: list[str], block: list[str], data: st.DataObject
) -> None:
    block = ["x = 1", *block, "y"]
    laid_out = [data.draw(st.text(" \t", max_size=3)) + line.replace(" ", "  ") for line in block]
    found = Source("a", (*above, *laid_out, *below)).find_block(Block.make(block), block[0])
    assert found == [(len(above) + 1, len(above) + len(block))]


@given(LINES)
def test_a_stored_block_is_loaded_unchanged(lines: list[str]) -> None:
    block = Block.make(lines, "layout")
    assert Block.load(block.dump(), "") == block


def test_blocks_of_older_ledgers_with_the_measure_of_a_function_are_loaded() -> None:
    assert Block.load('[9,"d1",70,"l1"]', "") == Block(9, "d1", "l1")
    assert Block.load('[9,"d1",70]', "") == Block(9, "d1")


def test_a_longer_line_does_not_match_a_block_and_a_wrapped_line_does() -> None:
    block = Block.make(["x = 1"])
    assert Source("a", ("x = 10", "y", "xx = 1")).find_block(block, "x = 1") == []
    assert Source("a", ("x =", "  1", "", "x=1")).find_block(block, "x = 1") == [(1, 2), (4, 4)]
