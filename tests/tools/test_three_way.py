"""Test merging by lines."""

from __future__ import annotations

import pytest

from swecli.tools.diffs import LineRange, unified_diff
from swecli.tools.three_way import apply_changes, merge, reverse


def text(*lines: object) -> str:
    return "".join(f"{line}\n" for line in lines)


BASE = text(*range(1, 21))


def with_line(number: int, line: str, base: str = BASE) -> str:
    lines = base.splitlines(keepends=True)
    lines[number - 1] = line
    return "".join(lines)


def test_changes_in_other_places_are_both_in_the_result() -> None:
    here = with_line(3, "three\n")
    there = with_line(15, "")
    assert merge(BASE, here, there).text == with_line(3, "three\n", there)


def test_lines_that_were_inserted_above_move_the_place() -> None:
    merged = merge(BASE, with_line(10, "ten\n"), text("a", "b") + BASE)
    assert merged.text == text("a", "b") + with_line(10, "ten\n")
    assert merged.places == (12,)


def test_changes_of_the_same_line_overlap_and_change_nothing() -> None:
    present = with_line(3, "drei\n")
    merged = merge(BASE, with_line(3, "three\n"), present)
    assert merged.text == present
    assert merged.overlapping == (LineRange(2, 3, 2, 3),)


def test_changes_of_neighbouring_lines_do_not_overlap() -> None:
    merged = merge(BASE, with_line(3, "three\n"), with_line(4, "four\n"))
    assert merged.text == with_line(3, "three\n", with_line(4, "four\n"))


@pytest.mark.parametrize("line", [3, 4])
def test_lines_inserted_beside_a_change_overlap_with_it(line: int) -> None:
    inserted = with_line(line, f"new\n{line}\n")
    assert merge(BASE, with_line(3, "three\n"), inserted).overlapping


def test_one_hunk_of_two_is_put_back() -> None:
    after = with_line(3, "three\n", with_line(15, "fifteen\n"))
    first, second = unified_diff("a", BASE, after).hunks
    back = [reverse(change) for change in second.changes]
    assert apply_changes(after, BASE, back, after).text == with_line(3, "three\n")
    back = [reverse(change) for change in first.changes]
    assert apply_changes(after, BASE, back, after).text == with_line(15, "fifteen\n")


def test_line_ends_and_a_missing_last_one_are_kept() -> None:
    base = "one\r\ntwo\r\nthree"
    merged = merge(base, "ONE\r\ntwo\r\nthree", "one\r\ntwo\r\nTHREE")
    assert merged.text == "ONE\r\ntwo\r\nTHREE"
