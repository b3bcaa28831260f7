"""Test whole turns on the screen against recordings. `RECORD_SCREENS=1` rewrites the recordings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rich.cells import cell_len

from swecli.models.approval import Decision
from swecli.models.events import Event, ToolFinished
from swecli.repl.render.renderer import Renderer
from swecli.repl.render.screen import Screen
from tests.screen import canned
from tests.screen.emulated import EmulatedTerminal, LiveTerminal

GOLDEN = Path(__file__).parent / "golden"
WIDTHS = (40, 60, 80, 120)


def play(renderer: Renderer, events: list[Event]) -> None:
    renderer.begin()
    for event in events:
        renderer.show(event)
    renderer.end()


def play_approval(renderer: Renderer) -> None:
    renderer.begin()
    for request, decision in (
        (canned.ASK_EDIT, Decision(True, "session")),
        (canned.ASK_RUN, Decision(False, reason="use the test runner")),
    ):
        renderer.show_approval(request)
        renderer.show_decision(request, decision)
    renderer.end()


def record_scene(
    scene: str, width: int, color: bool = False, live: bool = False
) -> EmulatedTerminal:
    terminal = EmulatedTerminal(width, 24)
    screen = Screen(LiveTerminal(terminal) if live else terminal, color)
    renderer = Renderer(screen, lambda: 100.0)
    match scene:
        case "turn":
            play(renderer, canned.events())
        case "approval":
            play_approval(renderer)
        case "expanded":
            finished: list[Event] = [
                event for event in canned.events() if isinstance(event, ToolFinished)
            ]
            play(renderer, finished[:3])
            renderer.unfold()
    return terminal


def text_of(terminal: EmulatedTerminal) -> str:
    return "\n".join(terminal.everything()).rstrip("\n") + "\n"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scene", ["turn", "approval", "expanded"])
def test_the_screen_equals_the_recording(scene: str, width: int) -> None:
    shown = text_of(record_scene(scene, width))
    path = GOLDEN / f"{scene}-{width}.txt"
    if os.environ.get("RECORD_SCREENS"):
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scene", ["turn", "approval", "expanded"])
def test_no_line_is_wider_than_the_screen(scene: str, width: int) -> None:
    raw = "".join(record_scene(scene, width).raw)
    assert max(cell_len(line) for line in raw.split("\n")) <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_a_live_region_and_colours_print_the_same_text_as_plain_output(width: int) -> None:
    """Except for the marks that replace colour: the hashes of headings and the backticks of code."""
    plain = text_of(record_scene("turn", width)).replace("`", "").replace("## ", "")
    lively = text_of(record_scene("turn", width, color=True, live=True))
    assert lively.split() == plain.split()
