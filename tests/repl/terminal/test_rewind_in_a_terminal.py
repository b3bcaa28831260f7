"""Test Esc Esc in a real pseudo-terminal: pick a turn, and what of it to undo."""

from __future__ import annotations

from collections.abc import Iterator
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
        terminal.wait("Undone.*make two")
        terminal.wait("^> make two$")  # The query is back, to be rephrased.
        assert Path("one").read_text() == "1"
        assert not Path("two").exists()
        terminal.keys("\x1b\x1b")  # A draft is kept.
        terminal.keys("\x15/redo\r")
        terminal.wait("Redone.*make two")
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
        terminal.wait("Answer with a number")
        terminal.keys("3")
        terminal.wait("nothing was changed")
        assert Path("one").read_text() == "mine"


@pytest.fixture
def three_turns() -> Iterator[Terminal]:
    """Three finished turns, each of which wrote a file; a fourth request is answered too."""
    names = ("one", "two", "three")
    replies = [
        reply for name in names for reply in (write_call(name, name), f"{name.title()} done.")
    ]
    arguments = ("-m", script("s.json", *replies, "Paid for."), "--mode", "auto")
    environ = {"SWECLI_REFLECT_WITH_MODEL": "false"}
    with Terminal(*arguments, columns=100, rows=60, environ=environ) as terminal:
        terminal.wait("· auto")
        for name in names:
            terminal.keys(f"make {name}\r")
            terminal.wait(f"{name.title()} done.")
            terminal.wait("^>$")
        yield terminal


def test_undo_typed_twice_undoes_two_turns_and_sends_no_prompt(three_turns: Terminal) -> None:
    three_turns.keys("/undo\r")
    three_turns.wait(r"^> make three$")
    three_turns.keys("/undo\r")
    three_turns.wait("Undone.*make two")
    three_turns.wait(r"^> make two$")
    assert sorted(path.name for path in Path().iterdir() if path.suffix == "") == ["one"]
    three_turns.keys("/redo\r")
    three_turns.wait("Redone.*make two")
    assert Path("two").exists()


def test_a_part_of_a_turn_can_be_undone_after_an_undo(three_turns: Terminal) -> None:
    three_turns.keys("/undo\r")
    three_turns.wait(r"^> make three$")
    three_turns.keys("/rewind T1 files\r")
    three_turns.wait("files only")
    assert not Path("one").exists()


def test_undo_sent_ten_times_quickly_undoes_all_turns_and_sends_no_prompt(
    three_turns: Terminal,
) -> None:
    for _ in range(10):
        three_turns.keys("/undo\r")
        for _ in range(10):
            three_turns.pump(0.05)
    three_turns.wait(r"nothing to undo")
    for _ in range(20):
        three_turns.pump(0.05)
    assert "Paid for." not in three_turns.text
    assert not Path("one").exists()


def test_the_mark_of_a_restored_draft_hides_nothing_of_it_on_a_narrow_screen() -> None:
    query = "make the one that is as long as the line of a narrow screen"
    arguments = ("-m", script("s.json", "Made."))
    with Terminal(*arguments, columns=66, rows=24) as terminal:
        terminal.wait("· ask")
        terminal.keys(f"{query}\r")
        terminal.wait("Made.")
        terminal.wait("^>$")
        terminal.keys("/undo\r")
        terminal.wait("Undone: ")
        terminal.wait(f"^> {query}$")
