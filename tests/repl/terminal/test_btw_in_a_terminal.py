"""Test questions beside the conversation and a second folder in a real pseudo-terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.shell import script
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow
LONG = {"text": "word " * 120 + "the end.", "piece": 5, "delay": 0.05, "purpose": "turn"}
ASIDE = {"text": "It is **8080**.", "purpose": "aside"}
SLOW_ASIDE = {"text": "It is never said.", "piece": 1, "delay": 2.0, "purpose": "aside"}


def start(*replies: object, columns: int = 80, flags: tuple[str, ...] = ()) -> Terminal:
    model = script("s.json", *replies)
    environ = {"SWECLI_REFLECT_WITH_MODEL": "false"}
    return Terminal("-m", model, *flags, columns=columns, rows=40, environ=environ)


@pytest.mark.parametrize("columns", [100, 60])
def test_the_answer_is_seen_above_the_turn_that_goes_on_and_stays_below_it(columns: int) -> None:
    with start(LONG, ASIDE, columns=columns) as terminal:
        terminal.wait("· ask")
        terminal.keys("go\r")
        terminal.wait("word word")
        terminal.keys("/btw which port?\r")
        terminal.wait("not part of the conversation")
        assert "the end." not in terminal.text
        terminal.wait("the end.")
        terminal.wait("┆ It is 8080.")
        assert terminal.text.index("the end.") < terminal.text.index("┆ /btw which port?")


def test_esc_stops_the_answer_alone_and_a_second_esc_the_turn() -> None:
    with start(LONG, SLOW_ASIDE) as terminal:
        terminal.wait("· ask")
        terminal.keys("go\r")
        terminal.wait("word word")
        terminal.keys("/btw which port?\r")
        terminal.wait("Esc to stop this answer")
        terminal.keys("\x1b")
        terminal.wait("interrupted · not part of the conversation")
        assert "Esc to interrupt" in terminal.text
        terminal.keys("\x1b")
        terminal.wait(r"\ninterrupted\n")


def test_without_redrawing_the_answer_is_printed_once() -> None:
    with start(ASIDE, flags=("--plain",)) as terminal:
        terminal.wait("\n>")
        terminal.keys("/btw which port?\r")
        terminal.wait("not part of the conversation")
        assert terminal.text.count("It is 8080.") == 1


def test_a_folder_that_was_added_is_completed_behind_an_at_sign(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "server.py").write_text("")
    with start() as terminal:
        terminal.wait("· ask")
        terminal.keys(f"/add-dir {folder}\r")
        terminal.wait("the model is told with your next message")
        terminal.keys("see @server")
        terminal.wait("lib/server.py")
