"""Test where lines of the program stand while an answer is written."""

from __future__ import annotations

import io

from swecli.models.events import Notice, TextDelta
from swecli.repl.render.renderer import Renderer
from swecli.repl.render.screen import Screen
from swecli.repl.repl import _wrap_notice
from tests.screen.emulated import TextSurface


def test_a_notice_stands_below_the_list_that_it_came_in() -> None:
    paper = io.StringIO()
    renderer = Renderer(Screen(TextSurface(paper, 80), False))
    renderer.show(TextDelta("- first point\n"))
    renderer.show(Notice("the server is odd", "warning"))
    renderer.show(TextDelta("- second point\n"))
    renderer.end()
    printed = paper.getvalue()
    assert printed.index("first point") < printed.index("second point")
    assert printed.index("second point") < printed.index("the server is odd")


def test_a_notice_of_the_first_screen_breaks_between_words() -> None:
    assert _wrap_notice("`swecli tutorial` shows swecli in ten minutes", 30) == [
        "! `swecli tutorial` shows",
        "  swecli in ten minutes",
    ]
