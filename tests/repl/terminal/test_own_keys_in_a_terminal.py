"""Test the user's own keys in a real pseudo-terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow
FOOTER = r"demo · \w+ · \d turns? sent"
KEYS = """
[keys]
expand = "f2"
next_mode = "ctrl+n"
send = ["enter", "alt+s"]
newline = "c-o"
history_search = "ctrl+f"
complete = "c-y"
editor = []
steeer = "c-s"
"""


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    home = Path(os.environ["SWECLI_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(KEYS)
    Path("numbers.txt").write_text("".join(f"row {n}\n" for n in range(30)))
    with Terminal("-m", "demo", rows=40) as terminal:
        terminal.wait(FOOTER)
        yield terminal


def test_the_first_lines_name_the_users_keys_and_the_wrong_action(terminal: Terminal) -> None:
    assert "Ctrl+N to switch mode" in terminal.text
    assert "! [keys] steeer = c-s: there is no action 'steeer' (did you mean steer?)" in (
        " ".join(terminal.text.split())
    )


def test_the_keys_do_what_they_were_chosen_for_and_no_longer_what_they_did(
    terminal: Terminal,
) -> None:
    terminal.keys("\x0e")
    terminal.wait("demo · edits")
    terminal.keys("\x1b[Z")
    terminal.keys("one\x0ftwo")
    terminal.wait("^> one\n  two$")
    terminal.keys("\x03")
    terminal.keys("read numbers.txt\x1bs")
    terminal.wait(r"in / ")
    terminal.keys("\x07\x1bOQ\x1bOQ")
    terminal.wait("F2 folds them")
    terminal.keys("\x06numb")
    terminal.wait("^> read numbers.txt\n.*numb")
    terminal.keys("\r\x03/stat")
    terminal.wait("/status  ")
    terminal.keys("\x19")
    terminal.wait("^> /stats$")


def test_help_lists_the_keys_as_they_are(terminal: Terminal) -> None:
    terminal.keys("/help keys\r")
    screen = terminal.wait("from the next start on")
    assert "F2 " in screen
    assert "Enter, Alt+S" in screen
    assert "Ctrl+G" not in screen
