"""Test streaming Markdown: each block is printed once, in order, in time linear in the length of the text."""

from __future__ import annotations

import io
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import RenderableType

from swecli.repl.render.markdown import MarkdownStream
from swecli.repl.render.screen import Screen
from tests.screen.canned import ANSWER
from tests.screen.emulated import TextSurface


def render_stream(text: str, size: int = 7, width: int = 60, color: bool = False) -> str:
    out = io.StringIO()
    screen, stream = Screen(TextSurface(out, width), color), MarkdownStream(color)
    for at in range(0, len(text), size):
        print_blocks(screen, stream.feed(text[at : at + size]))
    print_blocks(screen, stream.finish())
    return out.getvalue()


def print_blocks(screen: Screen, blocks: list[RenderableType]) -> None:
    for block in blocks:
        screen.print(block)


def render_whole(text: str, width: int = 60) -> str:
    out = io.StringIO()
    Screen(TextSurface(out, width), False).markdown(text)
    return out.getvalue()


@pytest.mark.parametrize("size", [1, 3, 17, 10_000])
def test_a_streamed_text_is_printed_like_the_whole_text(size: int) -> None:
    assert render_stream(ANSWER, size) == render_whole(ANSWER)


LINES = [
    "# h",
    "text",
    "more text",
    "- a",
    "- b",
    "  - c",
    "",
    "",
    "> q",
    "1. x",
    "---",
    "| a | b |",
    "```",
    "`c`",
]


@given(st.lists(st.sampled_from(LINES), max_size=25), st.integers(1, 9))
@settings(max_examples=150)
@pytest.mark.slow
def test_the_output_does_not_depend_on_the_size_of_the_deltas(lines: list[str], size: int) -> None:
    text = "\n".join(lines)
    assert render_stream(text, size) == render_stream(text, 1)


@given(st.text(st.sampled_from("ab `*-#>|1.\n\t\r[]~"), max_size=120), st.integers(1, 9))
@settings(max_examples=150)
def test_any_text_can_be_streamed(text: str, size: int) -> None:
    render_stream(text, size)


UNITS = {
    "paragraphs": "word and another word, on and on. " * 12 + "\n\n",
    "list": "- an item with some words in it\n",
    "numbers": "1. an item with some words in it\n",
    "code": "```python\n" + "x = f(1, 'a')  # note\n" * 400 + "```\n\n",
    "one line": "word ",
    "one table": "| a | b |\n",
    "quote": "> a quoted line\n",
    "nested": "- a\n  - b\n\n    words\n\n",
    "mixed": ANSWER,
}


def count_calls(text: str) -> int:
    """Return the number of function calls that streaming a text takes."""
    calls = 0

    def count(frame: object, event: str, value: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        render_stream(text, 50)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_the_work_of_streaming_is_linear_in_the_length_of_the_text(unit: str) -> None:
    small = (unit * (5_000 // len(unit) + 1))[:5_000]
    large = (unit * (25_000 // len(unit) + 1))[:25_000]
    assert count_calls(large) <= 8 * count_calls(small)


def test_finished_blocks_are_printed_once_and_before_the_end() -> None:
    out = io.StringIO()
    screen, stream = Screen(TextSurface(out, 60), False), MarkdownStream(False)
    print_blocks(screen, stream.feed("First.\n\nSecond.\n\nThi"))
    assert out.getvalue() == "First.\n\nSecond.\n"
    print_blocks(screen, stream.feed("rd."))
    print_blocks(screen, stream.finish())
    assert out.getvalue() == "First.\n\nSecond.\n\nThird.\n"


def test_a_code_block_is_shown_live_and_printed_when_it_is_complete() -> None:
    out = io.StringIO()
    screen = Screen(TextSurface(out, 60), False)
    stream = MarkdownStream(False)
    print_blocks(
        screen, stream.feed("```python\n" + "".join(f"line_{number}\n" for number in range(500)))
    )
    tail = stream.tail(10, 60)
    assert tail is not None
    assert "line_499" in screen.render(tail)
    assert out.getvalue() == ""
    print_blocks(screen, stream.feed("```\n"))
    assert out.getvalue().count("line_") == 500


def test_a_long_numbered_list_is_numbered_without_gaps() -> None:
    text = "".join("1. item\n" for _ in range(30))
    out = render_stream(text)
    assert [int(line.split(".")[0]) for line in out.split("\n") if line.strip()] == list(
        range(1, 31)
    )


def test_a_table_is_printed_when_it_is_complete() -> None:
    out = io.StringIO()
    screen, stream = Screen(TextSurface(out, 60), False), MarkdownStream(False)
    print_blocks(screen, stream.feed("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"))
    assert out.getvalue() == ""
    print_blocks(screen, stream.feed("\nafter"))
    assert "3" in out.getvalue()
    assert "after" not in out.getvalue()


@pytest.mark.slow
def test_the_live_tail_of_an_endless_table_stays_within_its_rows() -> None:
    out = io.StringIO()
    screen = Screen(TextSurface(out, 60), False)
    stream = MarkdownStream(False)
    print_blocks(screen, stream.feed("| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 5_000))
    tail = stream.tail(10, 60)
    assert tail is not None
    assert len(screen.render(tail).splitlines()) <= 12
