"""Test streaming Markdown: each block is printed once, in order, in time linear in the length of the text."""

from __future__ import annotations

import io
import itertools
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import RenderableType

from swecli.repl.render.screen import Screen
from swecli.repl.render.stream import MarkdownStream
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


@pytest.mark.slow
def test_empty_lines_of_code_are_not_looked_at_again_with_each_new_one() -> None:
    small = count_calls("```\n" + "\n" * 5_000)
    assert count_calls("```\n" + "\n" * 25_000) <= 8 * small


def test_finished_blocks_are_printed_once_and_before_the_end() -> None:
    out = io.StringIO()
    screen, stream = Screen(TextSurface(out, 60), False), MarkdownStream(False)
    print_blocks(screen, stream.feed("First.\n\nSecond.\n\nThi"))
    assert out.getvalue() == "First.\n\nSecond.\n"
    print_blocks(screen, stream.feed("rd."))
    print_blocks(screen, stream.finish())
    assert out.getvalue() == "First.\n\nSecond.\n\nThird.\n"


class Reader:
    """Streams a text into a file, and has what is printed and what is live."""

    def __init__(self, width: int = 60) -> None:
        self._out = io.StringIO()
        self._screen = Screen(TextSurface(self._out, width), False)
        self._stream = MarkdownStream(False)
        self._width = width

    def read(self, text: str) -> None:
        print_blocks(self._screen, self._stream.feed(text, self._width))

    @property
    def printed(self) -> str:
        return self._out.getvalue()

    @property
    def live(self) -> str:
        tail = self._stream.tail(10, self._width)
        return "" if tail is None else self._screen.render(tail)


def test_code_is_printed_line_by_line_before_its_fence_is_closed() -> None:
    reader = Reader()
    reader.read("```python\n")
    for number in range(500):
        reader.read(f"line_{number}")
        assert reader.printed.count("line_") == number
        assert reader.live.split() == [f"line_{number}"]
        reader.read("\n")
    assert reader.live == ""


def test_the_items_of_a_list_are_printed_once_the_next_one_has_begun() -> None:
    reader = Reader()
    reader.read("- **one**\n- `two`\n")
    assert reader.printed == "• one\n"
    assert reader.live == "• `two`\n"
    reader.read("  - inner\n  - more\n  ```\n  code\n")
    assert reader.printed == "• one\n• `two`\n  • inner\n  • more\n    code\n"
    reader.read("  ```\n- last\n\nAfter.\n\n")
    assert reader.printed.endswith("    code\n• last\n\nAfter.\n")


def test_the_rows_of_a_table_are_printed_one_by_one_in_the_columns_of_the_first_ones() -> None:
    reader = Reader()
    reader.read("| name | what |\n|---|--:|\n" + "| abc | 1234 |\n" * 9)
    head, line, *rows = reader.printed.splitlines()
    assert head.split() == ["name", "what"]
    assert rows == ["abc        1234"] * 9
    reader.read("| a longer name | 5 |\n")
    assert reader.printed.splitlines()[11:] == ["a             5", "longer", "name"]
    assert reader.live == ""


def test_the_rows_of_a_table_with_long_cells_are_printed_before_they_fill_the_screen() -> None:
    reader = Reader()
    reader.read("| name | what |\n|---|---|\n" + f"| abc | {'many words ' * 20} |\n" * 4)
    assert reader.printed.split()[:2] == ["name", "what"]
    assert reader.printed.count("abc") == 4


def test_the_first_rows_of_a_long_line_are_printed_while_it_grows() -> None:
    reader = Reader(20)
    for word in ("The **first** words of a `long` line, which " * 4).split(" "):
        reader.read(f"{word} ")
    assert reader.printed.startswith("The first words of a\n`long` line, which\n")
    assert len(reader.live.splitlines()) <= 3


def test_a_line_whose_emphasis_is_still_open_waits_for_its_end() -> None:
    reader = Reader(20)
    reader.read("some **words that are not closed yet and go on and on ")
    assert reader.printed == ""
    reader.read("until here** and a few more words to go on")
    assert "**" not in reader.printed + reader.live


def test_a_long_numbered_list_is_numbered_without_gaps() -> None:
    text = "".join("1. item\n" for _ in range(30))
    out = render_stream(text)
    assert [int(line.split(".")[0]) for line in out.split("\n") if line.strip()] == list(
        range(1, 31)
    )


def indent(lines: list[str], first: str, rest: str) -> list[str]:
    return [f"{rest if number else first}{line}".rstrip() for number, line in enumerate(lines)]


words = st.sampled_from(
    ["WORD", "**WORD**", "`WORD`", "*WORD", "WORD_", "日本WORD", "[WORD](http://WORD)", "| WORD"]
)
sentences = st.lists(words, min_size=1, max_size=25).map(" ".join)
paragraphs = st.lists(sentences, min_size=1, max_size=4)
code = st.lists(st.sampled_from(["x = WORD", "\tWORD", "", "# WORD", "'''WORD", "~~~"]), max_size=9).map(
    lambda lines: ["```python", *lines, "```"]
)  # fmt: skip
fences = st.lists(st.sampled_from(["```", "WORD", "~~~"]), max_size=6).map(
    lambda lines: ["~~~~", *lines, "~~~~"]
)
tables = st.integers(1, 4).flatmap(
    lambda columns: st.integers(0, 14).map(
        lambda rows: [
            f"|{' WORD |' * columns}",
            f"|{'---|' * columns}",
            *[f"|{' **WORD** |' * columns}"] * rows,
        ]
    )
)
headings = st.just(["## WORD"])
rules = st.just(["---"])
leaves = paragraphs | code | fences | tables | headings | rules


def containers(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    flows = st.lists(inner, min_size=1, max_size=3).map(
        lambda blocks: [line for block in blocks for line in (*block, "")][:-1]
    )
    bullets = st.lists(flows, min_size=1, max_size=4).map(
        lambda items: [line for item in items for line in indent(item, "- ", "  ")]
    )
    numbers = st.lists(flows, min_size=1, max_size=12).map(
        lambda items: [line for item in items for line in indent(item, "1. ", "   ")]
    )
    return bullets | numbers | flows.map(lambda lines: indent(lines, "> ", "> "))


blocks = st.recursive(leaves, containers, max_leaves=6)


def number_words(lines: list[str]) -> str:
    """Give each word of a text a number of its own."""
    first, *others = "\n".join(lines).split("WORD")
    return first + "".join(f"w{number:03}q{rest}" for number, rest in enumerate(others))


documents = st.lists(blocks, min_size=1, max_size=4).map(
    lambda found: number_words([line for block in found for line in (*block, "")])
)


@given(documents, st.lists(st.integers(1, 40), min_size=1, max_size=9), st.integers(20, 90))
@settings(max_examples=200, deadline=None)
@pytest.mark.slow
def test_blocks_in_blocks_are_printed_the_same_wherever_the_stream_is_cut(
    text: str, sizes: list[int], width: int
) -> None:
    out = io.StringIO()
    screen, stream = Screen(TextSurface(out, width), False), MarkdownStream(False)
    at = 0
    for size in itertools.cycle(sizes):
        print_blocks(screen, stream.feed(text[at : at + size], width))
        at += size
        if at >= len(text):
            break
    print_blocks(screen, stream.finish())
    assert out.getvalue() == render_whole(text, width)


@given(documents, st.integers(1, 9), st.booleans())
@settings(max_examples=200, deadline=None)
@pytest.mark.slow
def test_each_word_is_printed_once_and_in_order(text: str, size: int, color: bool) -> None:
    printed = re.sub(r"\x1b\[[\d;]*m", "", render_stream(text, size, 4_000, color))
    assert re.findall(r"w\d+q", printed) == re.findall(r"w\d+q", text)
