"""Test finding blocks of code again after reformatting."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from swecli.review.judge.sources import Block, Source

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
