"""Test each kind of question in a window that is resized at random, from one cell to 400 columns: it is answered."""

from __future__ import annotations

import random

import pytest

from tests.support.question_kinds import QUESTION_KINDS

pytestmark = pytest.mark.slow
RESIZES = 40
COLUMNS, ROWS = (1, 2, 3, 7, 19, 40, 80, 132, 399), (1, 2, 3, 5, 9, 24, 60)  # and one more
PAUSES = (0.0, 0.01, 0.1, 0.5)  # seconds; the last is longer than the program waits until it draws


@pytest.mark.parametrize("kind", QUESTION_KINDS)
def test_a_question_is_answered_after_any_resizes(kind: str) -> None:
    chance = random.Random(kind)
    question = QUESTION_KINDS[kind]
    with question.open(columns=100, rows=30) as terminal:
        for _ in range(RESIZES):
            columns, rows = chance.choice(COLUMNS), chance.choice(ROWS)
            terminal.resize(columns + chance.randint(0, 1), rows + chance.randint(0, 1))
            terminal.pump(chance.choice(PAUSES))
        terminal.resize(100, 30)
        terminal.wait(question.title.replace("?", "[?]"))
        terminal.wait_until_quiet(1.0)
        terminal.keys(question.answer)
        screen = terminal.wait(question.answered)
    assert b"Traceback" not in terminal.raw
    assert b"Internal error" not in terminal.raw, screen
