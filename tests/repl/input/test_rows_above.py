"""Test where the rows above the cursor are in a window that was made smaller, and larger again."""

from __future__ import annotations

import pytest

from swecli.repl.input.rows_above import RowsAbove, count_rows_above

FULL, HALF = 79, 39  # the last characters' indices of rows that fill 80 and 40 columns


@pytest.mark.parametrize(
    ("widths", "columns", "visible", "rows"),
    [
        ([], 80, 9, RowsAbove(0, 0)),
        ([FULL, 0, HALF], 80, 9, RowsAbove(3, 0)),
        ([FULL, 0, HALF], 80, None, RowsAbove(3, 0)),
        ([FULL, 0, HALF], 40, 9, RowsAbove(4, 0)),
        ([FULL, 0, HALF], 10, None, RowsAbove(8 + 1 + 4, 0)),
        ([FULL, 0, HALF], None, 9, RowsAbove(3, 0)),
        # out of sight
        ([FULL, 0, HALF], 80, 1, RowsAbove(1, 2)),
        ([FULL, 0, HALF], 80, 0, RowsAbove(0, 3)),
        ([HALF, FULL, 0], 40, 3, RowsAbove(3, 1)),
        # a row that is broken, and of which only the end is in sight
        ([HALF, FULL, 0], 40, 2, RowsAbove(2, 1)),
    ],
)
def test_rows_are_counted_from_the_cursor_upwards_as_far_as_the_screen_goes(
    widths: list[int], columns: int | None, visible: int | None, rows: RowsAbove
) -> None:
    assert count_rows_above(widths, columns, visible) == rows
