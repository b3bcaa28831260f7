"""Test what is typed before the prompt can read it, in a real pseudo-terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow


def test_lines_typed_before_the_prompt_is_there_are_sent_one_after_the_other() -> None:
    Path("notes.txt").write_text("")
    with Terminal("-m", "demo", rows=40) as terminal:
        terminal.keys("list files\r/stat\x7f\x7fatus\r")  # before Python has started
        terminal.wait(r"^> list files$[\s\S]*notes\.txt[\s\S]*^> /status$[\s\S]*^database")


def test_the_beginning_of_a_line_is_kept() -> None:
    with Terminal("-m", "demo", rows=40) as terminal:
        terminal.keys("list ")
        terminal.wait(r"demo · \w+ · \d turns? sent")
        terminal.keys("files\r")
        terminal.wait("^> list files$")


def test_replies_of_the_terminal_that_come_first_are_not_typed() -> None:
    with Terminal("-m", "demo", rows=40) as terminal:
        terminal.keys("\x1b[Ilist\x1b[?62;22c \x1b[O")
        terminal.wait(r"demo · \w+ · \d turns? sent")
        terminal.keys("files\r")
        terminal.wait("^> list files$")
