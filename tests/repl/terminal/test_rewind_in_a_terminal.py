"""Test Esc Esc in a real pseudo-terminal: pick a turn, and what of it to undo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.shell import script
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow


def write_call(name: str, text: str) -> dict[str, Any]:
    return {
        "text": "",
        "calls": [{"name": "write_file", "arguments": {"path": name, "content": text}}],
    }


def test_esc_twice_picks_a_turn_and_the_part_of_it_to_undo() -> None:
    replies = script(
        "s.json", write_call("one", "1"), "First done.", write_call("two", "2"), "Second done."
    )
    environ = {"SWECLI_REFLECT_WITH_MODEL": "false"}
    with Terminal(
        "-m", replies, "--mode", "auto", columns=100, rows=30, environ=environ
    ) as terminal:
        terminal.wait("· auto")
        terminal.keys("make one\r")
        terminal.wait("First done.")
        terminal.keys("make two\r")
        terminal.wait("Second done.")
        terminal.wait("^>$")
        terminal.keys("\x1b\x1b")
        screen = terminal.wait("Go back to before which turn")
        assert "T2 · make two · two" in screen
        assert "T1 · make one · one" in screen
        terminal.keys("1")
        terminal.wait("What to undo of T2 and later")
        terminal.keys("1")
        terminal.wait("undid T2")
        terminal.wait("^> make two$")  # The query is back, to be rephrased.
        assert Path("one").read_text() == "1"
        assert not Path("two").exists()
        terminal.keys("\x1b\x1b")  # A draft is kept.
        terminal.keys("\x15/redo\r")
        terminal.wait("redid T2")
        assert Path("two").read_text() == "2"


def test_undo_asks_before_it_overwrites_a_file_the_user_changed() -> None:
    replies = script("s.json", write_call("one", "1"), "Done.")
    with Terminal(
        "-m",
        replies,
        "--mode",
        "auto",
        columns=100,
        rows=30,
        environ={"SWECLI_REFLECT_WITH_MODEL": "false"},
    ) as terminal:
        terminal.wait("· auto")
        terminal.keys("make one\r")
        terminal.wait("Done.")
        Path("one").write_text("mine")
        terminal.keys("/undo\r")
        terminal.wait("Changed outside this session: one")
        terminal.keys("3")
        terminal.wait("nothing was changed")
        assert Path("one").read_text() == "mine"
