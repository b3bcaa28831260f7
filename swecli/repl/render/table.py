"""Lay out tables whose last rows may not be known yet: the widths of the columns come from the first rows."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from swecli.repl.render.prefix import add_prefix
from swecli.values import dataclass

_COLUMN_GAP = 3  # columns between two columns: those of `box.SIMPLE_HEAD` with its padding
_SLACK = 2  # columns: a number from 1 to 9 may become one of three digits
# Columns that a column of a grid has at least, if its cells want them: most words fit. Below, a row is shown as a list
# of its cells.
_LEAST_WIDTH = 8


@dataclass(frozen=True, slots=True)
class TableShape:
    """The header of a table, and the widths that its cells would like to have."""

    header: tuple[Text, ...]
    natural: tuple[int, ...]

    @classmethod
    def measure(
        cls, header: Sequence[Text], rows: Sequence[Sequence[Text]], may_grow: bool = False
    ) -> TableShape:
        """Return the shape that the header and the first rows ask for; `may_grow` if further rows follow, whose numbers
        and names tend to be longer."""
        widths = [_cell_width(cell) for cell in header]
        for row in rows:
            for column, cell in enumerate(row[: len(widths)]):
                widths[column] = max(widths[column], _cell_width(cell))
        slack = _SLACK if may_grow else 0
        return cls(tuple(header), tuple(width + slack for width in widths))

    def fit(self, columns: int) -> list[int] | None:
        """Return the widths in a terminal of so many columns; None if they are too narrow to be read."""
        room = columns - _COLUMN_GAP * (len(self.natural) - 1)
        max_width = max(room, _LEAST_WIDTH)
        while sum(min(width, max_width) for width in self.natural) > room:
            max_width -= 1
            if max_width < _LEAST_WIDTH:
                return None
        widths = [min(width, max_width) for width in self.natural]
        spare = room - sum(widths)
        for column, natural in enumerate(self.natural):
            if natural > max_width and spare > 0:
                widths[column] += 1
                spare -= 1
        return widths


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of a table, below its header if `has_header`."""

    shape: TableShape
    rows: Sequence[Sequence[Text]]
    has_header: bool = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self.shape.fit(options.max_width)
        if widths is None or options.ascii_only:  # a screen reader reads line by line
            yield from self._as_records()
            return
        table = Table(
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            show_edge=False,
            show_header=self.has_header,
            border_style="quiet",
            header_style="head",
        )
        for header, width in zip(self.shape.header, widths, strict=True):
            justify = header.justify or "left"
            table.add_column(header, justify=justify, overflow="fold", width=width)
        for row in self.rows:
            table.add_row(*row)
        yield table

    def _as_records(self) -> list[RenderableType]:
        """Return each row as lines of header and cell, with an empty line between two rows."""
        lines: list[RenderableType] = []
        for index, row in enumerate(self.rows):
            if index or not self.has_header:
                lines.append(Text(""))
            for header, cell in zip(self.shape.header, row, strict=False):
                if not (header.plain or cell.plain):
                    continue
                name = Text.assemble((header.plain, "head"), ": " if header.plain else "", end="")
                lines.append(Text.assemble(name, cell) if cell.plain else name.copy())
        return [add_prefix(line, "", rest="  ") for line in lines]


def _cell_width(cell: Text) -> int:
    return max((Text(line).cell_len for line in cell.plain.split("\n")), default=0)


def make_table(rows: Sequence[Sequence[Text]]) -> TableRows:
    """Return a table with a line under its header, the first of the rows, and no other borders."""
    header, *body = rows
    return TableRows(TableShape.measure(header, body), body)
