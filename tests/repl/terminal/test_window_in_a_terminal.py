"""Test what a real terminal shows of the window: the turns that left it, and the price of the next request."""

from __future__ import annotations

import pytest

from tests.support.shell import script
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

F4 = "\x1bOS"
ENVIRON = {"SWECLI_REFLECT_WITH_MODEL": "false", "SWECLI_LEARN": "false"}


@pytest.mark.parametrize("columns", [60, 100])
def test_the_line_names_the_key_which_lists_shows_and_brings_back(columns: int) -> None:
    replies = script("s.json", "The port is 7411.", "Two.", "Three.", "It is 7411.", "Five.")
    arguments = ("-m", replies, "--window", "1")
    with Terminal(*arguments, columns=columns, rows=40, environ=ENVIRON) as terminal:
        terminal.wait("· ask")
        for query, answer in (("choose a port", "is 7411"), ("two", "Two"), ("three", "Three")):
            terminal.keys(f"{query}\r")
            terminal.wait(f"{answer}")
            terminal.wait("^>$")
        screen = terminal.wait("F4 to list")
        assert "older one left out" in screen
        terminal.keys(F4)
        terminal.wait("Turns that are not sent any more")
        terminal.wait('> T2 · .* · "two"')
        terminal.keys("\x1b[B\r")
        terminal.wait("^user: choose a port")
        terminal.wait("> T1 · ")
        terminal.keys("b")
        terminal.wait("T1 goes with your next message")
        terminal.wait("^>$")
        terminal.keys("what was it?\r")
        terminal.wait("It is 7411")
        terminal.wait("^>$")
        terminal.keys("/prompt full T4\r")
        terminal.wait("The user brings back turn T1")


def test_the_price_of_the_next_request_stands_below_the_prompt_until_it_is_taken_away() -> None:
    with Terminal(
        "-m", script("s.json", "One."), columns=100, rows=30, environ=ENVIRON
    ) as terminal:
        terminal.wait("· ask")
        terminal.keys("/cost beside\r")
        terminal.wait(r"\$0\.00 · next at least \$0\.00")
        terminal.keys("/cost beside\r")
        terminal.wait("not shown any more")
        terminal.wait(r"\$0\.00$")


def test_without_keys_the_line_names_the_command() -> None:
    replies = script("s.json", "One.", "Two.", "Three.", "Four.")
    arguments = ("-m", replies, "--window", "1", "--plain")
    with Terminal(*arguments, columns=100, rows=40, environ=ENVIRON) as terminal:
        terminal.wait("^>")
        for number in ("One", "Two", "Three"):
            terminal.keys(f"say {number}\r")
            terminal.wait(rf"{number}\.")
        terminal.wait("/window left to list")
        terminal.keys("/window left\r")
        terminal.wait("/window back T2 sends it again")
