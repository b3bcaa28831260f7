"""Where the rows above the cursor are after the terminal changed its size: it breaks rows, and hides some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class RowsAbove(NamedTuple):
    """How many rows of the screen are taken, and how many of the drawn rows, from the first, are out of sight as a
    whole."""

    on_screen: int
    hidden: int


def count_rows_above(widths: Sequence[int], columns: int | None, visible: int | None) -> RowsAbove:
    """Count the rows between the first that was drawn and the cursor.

    `widths` are the indices of their last characters, from top to bottom. `columns` is None in a terminal that breaks
    no rows; `visible`, how many rows the screen has above the cursor, if that is not known: then all count as seen.
    What is left out of sight of a broken row counts neither as seen nor as hidden: the terminal may join it to the row
    below it, and to erase one row too few does less harm than to erase one of another program.
    """
    on_screen = 0
    for index in range(len(widths) - 1, -1, -1):
        if on_screen == visible:
            return RowsAbove(visible, index + 1)
        height = 1 if columns is None else widths[index] // columns + 1
        if visible is not None and on_screen + height > visible:
            return RowsAbove(visible, index)
        on_screen += height
    return RowsAbove(on_screen, 0)
