"""Test rendering Markdown: nothing is lost, nothing overflows, and no escape sequence is passed on."""

from __future__ import annotations

import io

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from swecli.repl.render.screen import Screen
from tests.screen.emulated import TextSurface

PIECES = [
    "# head\n", "text ", "**bold", "**", "`code`", "- item\n", "  - nested\n", "1. one\n", "> quote\n", "\n", "```py\n",
    "x = '''\n", "```\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "[link](http://x)", "</kbd>", "<b>", "![i](u)", "---\n",
    "日本語",
    "🎉", "[/red]", "\x1b[31m", "\u202e", "&#x202e;", "\\", "    indented\n", "https://example.org/" + "a" * 90,
    "[bold]", "~~~\n", "\t", "\r",
]  # fmt: skip
documents = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def render(text: str, width: int = 60, color: bool = False) -> str:
    out = io.StringIO()
    Screen(TextSurface(out, width), color).markdown(text)
    return out.getvalue()


@given(documents | st.text(max_size=200))
@example("</kbd></kbd>")
@example("- " * 200 + "x")
@example("> " * 80 + "x")
@settings(max_examples=150)
@pytest.mark.slow
def test_any_text_is_rendered_within_forty_columns_without_control_characters(text: str) -> None:
    out = render(text, 40)
    assert all(cell_len(line) <= 40 for line in out.split("\n"))
    assert not set(out) & set("\x1b\x07\x9b\u202e\r")


@given(documents)
@settings(max_examples=50)
def test_with_colour_the_only_escape_sequences_are_styles(text: str) -> None:
    out = render(text, 50, color=True)
    assert out.count("\x1b") == out.count("\x1b[")
    assert "\u202e" not in out


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[words](https://example.org)", "words (https://example.org)"),
        ("<https://example.org>", "https://example.org"),
        ("a <div class='x'> b", "a <div class='x'> b"),
        ("[red]not markup[/red]", "[red]not markup[/red]"),
        ("[a]: http://x", "[a]: http://x"),
        ("![alt](pic.png)", "alt (pic.png)"),
        ("one\ntwo", "one\ntwo"),
        ("3. three\n4. four", "3. three\n4. four"),
        ("# Head", "# Head"),
        ("`code`", "`code`"),
    ],
)
def test_markdown_is_rendered_without_losing_text(text: str, shown: str) -> None:
    assert render(text).strip() == shown


@pytest.mark.parametrize("columns", [2, 8, 30])
def test_a_table_that_is_too_wide_is_folded_to_the_width(columns: int) -> None:
    text = f"|{'|'.join('h' * columns)}|\n|{'|'.join(['---'] * columns)}|\n|{'|'.join(['value'] * columns)}|\n"
    assert all(len(line) <= 40 for line in render(text, 40).split("\n"))


@pytest.mark.parametrize("named", ["[P-1]", "[P-12, P-3]"])
def test_the_ids_of_strategies_are_dimmed_and_other_brackets_are_not(named: str) -> None:
    out = render(f"The tests run {named} as `[x]` and [P-] say.", color=True)
    assert f"\x1b[2m{named}\x1b[0m" in out
    assert out.count("\x1b[2m") == 1
