"""Test laying out tables in narrow terminals."""

from __future__ import annotations

import io

import pytest
from rich.text import Text

from swecli.repl.render.screen import Screen
from swecli.repl.render.table import make_table
from tests.screen.emulated import TextSurface

ROWS = (
    ("No", "Module", "Owner", "Purpose", "Lines", "Risk", "Tests", "Remarks"),
    ("1", "render/part.py", "Ann", "keeps what cannot change", "137", "low", "test_part", "split"),
    ("2", "render/prefix.py", "Ben", "puts marks before lines", "98", "low", "test_all", "stable"),
)


def render(rows: tuple[tuple[str, ...], ...], width: int) -> list[str]:
    out = io.StringIO()
    table = make_table([[Text(cell) for cell in row] for row in rows])
    Screen(TextSurface(out, width), False).print(table)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100])
def test_a_table_breaks_no_header_that_would_fit_a_line(width: int) -> None:
    words = " ".join(render(ROWS, width)).replace(":", " ").split()
    assert {*ROWS[0]} <= {*words}


def test_a_table_whose_columns_would_be_too_narrow_for_words_is_a_list_of_cells() -> None:
    assert render(ROWS, 60)[:4] == [
        "No: 1",
        "Module: render/part.py",
        "Owner: Ann",
        "Purpose: keeps what cannot change",
    ]


def test_narrow_columns_leave_their_room_to_wide_ones() -> None:
    rows = (("No", "A", "B", "What"), ("1", "x", "y", "a sentence of seven words or so"))
    assert render(rows, 30)[0].split() == ["No", "A", "B", "What"]
