"""Test in a real terminal that nothing is written while nothing changes on the screen."""

from __future__ import annotations

import pytest

from tests.support.question_kinds import ENVIRON, QUESTION_KINDS
from tests.support.shell import HELLO
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow
QUIET_SECONDS = 1.5  # what waits, looks each half second


@pytest.mark.parametrize("kind", QUESTION_KINDS)
def test_an_open_question_writes_nothing(kind: str) -> None:
    with QUESTION_KINDS[kind].open(columns=100, rows=30) as terminal:
        terminal.wait_until_quiet(QUIET_SECONDS)


@pytest.mark.parametrize("draft", ["", "half a line", "/pl", "@"])
def test_the_input_line_writes_nothing_until_a_key_is_pressed(draft: str) -> None:
    with Terminal("-m", HELLO, environ=ENVIRON) as terminal:
        terminal.wait("turns sent")
        terminal.keys(draft)
        terminal.wait_until_quiet(QUIET_SECONDS)
        assert f"> {draft}".rstrip() in terminal.text
