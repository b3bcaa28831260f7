"""Test `Screen`, through which all output reaches the terminal."""

from __future__ import annotations

import asyncio
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from swecli.repl.render.diff import render_diff
from swecli.repl.render.excerpt import EXPANDED, Fold
from swecli.repl.render.screen import Screen
from tests.screen.emulated import TextSurface
from tests.screen.hostile import HOSTILE


class CountingFile(io.StringIO):
    """Counts the calls of `write`."""

    writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        return super().write(text)


def write_everything(screen: Screen, text: str) -> None:
    screen.line(text, "ok")
    screen.note(text)
    screen.warn(text)
    screen.error(text, text)
    screen.markdown(text)
    screen.table([text, "b"], [[text, text]])
    screen.print(render_diff(f"--- a\n+++ b\n@@ -1 +1 @@\n+{text}\n"))
    screen.print(text)


@given(st.lists(st.sampled_from([*HOSTILE, "[/bold]", "[red]", "x" * 300, "\n"])).map("".join))
@settings(max_examples=60)
@pytest.mark.slow
def test_no_control_characters_of_a_text_reach_the_output(text: str) -> None:
    out = CountingFile()
    write_everything(Screen(TextSurface(out, 60), False), text)
    assert not set(out.getvalue()) & set(
        "\x1b\x07\x08\x7f\x85\x90\x9b\x9f\u202e\u2066\u200b\ufeff\U000e0041\r\ud800"
    )


@given(st.text(max_size=60))
@settings(max_examples=60)
def test_no_line_is_wider_than_the_screen(text: str) -> None:
    out = CountingFile()
    screen = Screen(TextSurface(out, 40), False)
    screen.line(text)
    screen.error(text, text)
    assert all(cell_len(line) <= 40 for line in out.getvalue().split("\n"))


@pytest.mark.parametrize(
    ("width", "printed"),
    [
        (40, "✗ There is no file. · Name another one.\n"),
        (30, "✗ There is no file.\n  Name another one.\n"),
    ],
)
def test_the_hint_of_an_error_has_its_own_line_unless_both_fit_on_one(
    width: int, printed: str
) -> None:
    out = CountingFile()
    Screen(TextSurface(out, width), False).error("There is no file.", "Name another one.")
    assert out.getvalue() == printed


def test_without_colour_there_are_no_escape_codes_and_no_trailing_spaces() -> None:
    out = CountingFile()
    write_everything(
        Screen(TextSurface(out, 60), False), "**bold** `code`\n\n| a | b |\n|--|--|\n| 1 | 2 |"
    )
    assert "\x1b" not in out.getvalue()
    assert all(line == line.rstrip() for line in out.getvalue().split("\n"))


def test_the_width_of_the_screen_is_read_each_time() -> None:
    paper = TextSurface(CountingFile(), 77)
    screen = Screen(paper, False)
    assert screen.width == 77
    paper.size = 50, 24
    assert screen.width == 50


def test_of_a_long_text_the_end_is_printed_and_the_rest_can_be_unfolded() -> None:
    folds: list[Fold] = []
    out = io.StringIO()
    screen = Screen(TextSurface(out, 80), False)
    screen.on_fold = folds.append
    screen.line("\n".join(f"line {number}" for number in range(1, 1001)))
    lines = out.getvalue().splitlines()
    assert lines[:2] == ["… 800 lines above", "line 801"]
    assert lines[-2:] == ["line 1000", "… 800 lines above (Ctrl+O to expand)"]
    [fold] = folds
    assert screen.render(fold.render_expanded(EXPANDED)).splitlines()[1] == "line 501"
    assert len(list(fold.render_whole())) == 1000
    screen.line("short")
    assert len(folds) == 1


async def test_what_is_printed_in_portions_can_be_stopped_between_them() -> None:
    out = io.StringIO()
    screen = Screen(TextSurface(out, 80), False)
    pieces = (Text(f"line {number}") for number in range(10_000))
    printing = asyncio.create_task(screen.print_in_portions(pieces))
    while "line 100" not in out.getvalue():
        await asyncio.sleep(0)
    printing.cancel()
    await asyncio.wait([printing])
    assert len(out.getvalue().splitlines()) < 1_000


def test_the_wrapped_rows_of_an_indented_line_keep_its_indentation() -> None:
    paper = io.StringIO()
    screen = Screen(TextSurface(paper, 20), False)
    screen.indented("  reads beside that: /usr")
    screen.indented("plain")
    assert paper.getvalue() == "  reads beside that:\n  /usr\nplain\n"
