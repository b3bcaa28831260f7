"""Test the lines of a review on the screen."""

from __future__ import annotations

import io

import pytest

from swecli.models.finding import Finding
from swecli.models.review_events import (
    FindingsAccumulated,
    LoopWindowApplied,
    ReviewEvent,
    ReviewFinished,
    ReviewProgressed,
    ReviewStarted,
)
from swecli.repl.render.event_lines import render_remark
from swecli.repl.render.screen import Screen
from tests.screen.emulated import TextSurface

ODD = Finding(
    "a\x1b[31m.py",
    3,
    "DEAD_CODE",
    "bad [bold]\x07 words",
    id="F-1",
    verified=False,
    why="no such file",
)


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (ReviewStarted("R-1", "shop", 3, 20, checks=1), "Reviewing shop (R-1) · 3 files · 1 check"),
        (ReviewStarted("R-1", "shop", 3, 20, 12), "Reviewing shop (R-1) · 3 files · continued"),
        (ReviewProgressed(2, 20, 1, 3, 4, 1_234, None), "4 findings · 1,234 tokens · price not known"),
        (FindingsAccumulated(1, 1, 1, (ODD,)), "(medium) bad [bold] words · open, unverified · not in its file"),
        (LoopWindowApplied(6, 5, 11), "keeping the last 11 messages (5 older ones left out); findings stay"),
        (ReviewFinished(3, 2, 6, {"A": 2}, "R-1", "interrupted"), "2 findings · interrupted"),
        (ReviewFinished(0, 0, 1, {}, "R-1", "done", lost=("x",) * 7), "not usable: 2 more"),
    ],
)  # fmt: skip
def test_each_review_event_is_printed_as_its_line(event: ReviewEvent, line: str) -> None:
    paper = io.StringIO()
    screen = Screen(TextSurface(paper, 200), False)
    drawing = render_remark(event)
    assert drawing is not None
    screen.print(drawing)
    assert line in paper.getvalue()
    assert "\x1b" not in paper.getvalue()
