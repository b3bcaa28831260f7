"""Test the tutorial: its project, and a person who takes every line with Tab in a real terminal."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from swecli.actions.tutorial import FILES, STEPS
from tests.support.repositories import make_repository
from tests.support.shell import Run
from tests.support.terminal import Terminal

# what each line prints; a question before that is answered with yes
OUTPUTS = {
    "look around": "Nothing tests discounted",
    "what does gross do?": "the tax alone: 19 for 100",
    "remember that the tests run with `python3 -m unittest`": r"\+ The tests run with .*P-1",
    "run the tests": r"The test fails \[P-1\]",
    "fix it and run them again": r"the test passes \[P-1\]",
    "/playbook": r"P-1 +active +this project +you +helped 1 +The tests run",
    "/playbook edit P-1 The tests run with `python3 -m unittest -v`": "P-1 is changed",
    "/undo": r"Undone: \"fix it and run them again\" \(1 file: prices\.py\)",
    "/redo": r"Redone: \"fix it and run them again\"",
    "/window 1": "^window 1: 1 turn sent",
    "how do the tests run?": "My playbook says: The tests run with python3 -m unittest -v",
    "/review prices.py": r"checked against the code: 1 confirmed",
    "/review --fix F-1": "before, it was -1900",
}
EDITS = ("fix it and run them again", "/review --fix F-1")  # each is a question
QUESTION = "no, and tell it what to do instead"


def test_the_project_is_made_in_a_new_folder(run: Run) -> None:
    outcome = run("tutorial", "--make", "shop")
    made = "Made prices.py and test_prices.py in shop. Next: cd shop\n"
    assert (outcome.code, outcome.out) == (0, made)
    assert {path.name for path in Path("shop").iterdir()} == set(FILES)
    again = run("tutorial", "--make", "shop")
    assert (again.code, "shop is there already" in again.err) == (42, True)


def test_in_a_repository_the_project_is_made_in_the_home_folder_and_each_one_anew(run: Run) -> None:
    Path(".git").mkdir()
    Path("src").mkdir()
    for name in ("swecli-tutorial", "swecli-tutorial-2"):
        made = run("tutorial", "--make", "-C", "src")
        assert f"in {Path.home() / name}." in made.out
    assert not list(Path("src").iterdir())


def test_without_a_terminal_nothing_is_made(run: Run) -> None:
    outcome = run("tutorial", "shop")
    assert (outcome.code, "This is not a terminal" in outcome.err) == (2, True)
    assert not Path("shop").exists()


def wait_until_read(terminal: Terminal) -> None:
    """Wait for a second, since a key that comes with a question is no answer to it."""
    until = time.monotonic() + 1.0
    while time.monotonic() < until:
        terminal.pump()


def take(terminal: Terminal, line: str) -> None:
    """Take the line with Tab, send it, say yes to its question and wait for what it shows."""
    terminal.keys("\t")
    terminal.wait(rf"^> {re.escape(line)}$")
    terminal.keys("\r")
    if line in EDITS:
        terminal.wait(QUESTION)
        assert "Tab takes it" not in terminal.text, "the next line is no answer"
        wait_until_read(terminal)
        terminal.keys("1")
        terminal.wait_until_gone(QUESTION)
    terminal.wait(OUTPUTS[line])


@pytest.mark.slow
def test_a_person_takes_every_line_with_tab_also_in_a_repository() -> None:
    make_repository(Path.cwd())
    with Terminal("tutorial", "shop", columns=100, rows=60) as terminal:
        terminal.wait("the answers are recorded ones, everything else is real")
        for number, step in enumerate(STEPS[:-1], 1):
            terminal.wait(rf"{re.escape(step.line)}   \(Tab takes it\)|Tab takes {step.line}")
            terminal.wait(f"step {number} of 14: ")
            take(terminal, step.line)
        text = Path("shop/prices.py").read_text()
        assert "net * (1 + TAX)" in text
        assert "net * percent / 100" in text
        terminal.wait(r"/exit   \(Tab takes it\)")
        terminal.keys("\t\r")
        assert terminal.wait_for_exit() == 0


@pytest.mark.slow
def test_anything_else_gets_two_honest_lines() -> None:
    with Terminal("tutorial", "shop", columns=100, rows=40) as terminal:
        terminal.wait(r"\(Tab takes it\)")
        terminal.keys("write me a poem\r")
        terminal.wait("The tutorial's answers are recorded, and there is none for this line")
        terminal.wait("look around   .Tab takes it")


@pytest.mark.slow
def test_on_a_narrow_screen_the_offer_is_whole_and_each_hint_begins_a_row() -> None:
    with Terminal("tutorial", "shop", columns=40, rows=40) as terminal:
        for step in STEPS[:2]:
            terminal.wait(rf"{re.escape(step.line)}   \(Tab takes it\)")
            take(terminal, step.line)
        terminal.wait(r"\(Tab takes it\)")
        terminal.keys("/undo\r")
        terminal.wait(r"^your last message: edit it")
        terminal.wait(r"^Tab takes remember that")
        terminal.wait(r"^step 3 of 14: ")
