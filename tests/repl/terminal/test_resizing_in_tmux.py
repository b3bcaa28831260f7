"""Test an answer that streams, and a question, while the window changes its size, in tmux, which breaks and joins lines
itself."""

from __future__ import annotations

import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.shell import ON_PATH, script
from tests.support.tmux import Tmux

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]
WORDS = "and some more words, so that each line is broken when the window becomes narrow"
COUNT = 60
TEXTS = {
    "list": "".join(f"- item{number:02}x **bold** {WORDS}\n" for number in range(COUNT)),
    "numbers": "".join(f"1. item{number:02}x {WORDS}\n" for number in range(COUNT)),
    "code": "```python\n"
    + "".join(f"item{number:02}x = 'a string'  # {WORDS}\n" for number in range(COUNT))
    + "```\n",
    "table": "| name | words |\n|---|---|\n"
    + "".join(f"| item{number:02}x | {WORDS} |\n" for number in range(COUNT)),
    "paragraphs": "".join(f"item{number:02}x {WORDS}.\n\n" for number in range(COUNT)),
    "one line": " ".join(f"item{number:02}x {WORDS}." for number in range(COUNT)) + "\n",
}
_chance = random.Random(5)
SIZES = [(_chance.randint(20, 110), _chance.randint(14, 30)) for _ in range(20)] + [(100, 30)]
PAUSES = (0.02, 0.1, 0.3)
DRAWN = 1.0  # seconds after which the program has drawn itself for a new size
RUN = {
    "text": "I run it.",
    "calls": [
        {
            "name": "run_command",
            "arguments": {
                "command": f"echo {WORDS}",
                "access": "outside",
                "why": "It needs the network.",
            },
        }
    ],
}
ENVIRON = {"PYTHONPATH": ON_PATH, "SWECLI_REFLECT_WITH_MODEL": "false"}


def run_script(*replies: object) -> list[str]:
    """Return the command that starts the program with a model that gives these replies."""
    return [sys.executable, "-m", "swecli", "-m", script("s.json", *replies)]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path, as a socket needs."""
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as path:
        yield Path(path)


@pytest.mark.parametrize(
    "sizes",
    [
        [(100, 8), (100, 30)],
        [(40, 12), (100, 30)],
        [(100, 5), (100, 30)],
        [(100, 3), (100, 6), (100, 30)],
        [(30, 6), (100, 30)],
        [(72, 2), (67, 29), (41, 2), (81, 25), (19, 7), (45, 2), (100, 30)],
    ],
)
def test_a_question_stays_once_however_the_window_is_resized(
    sizes: list[tuple[int, int]], folder: Path
) -> None:
    above = "".join(f"- item{number:02}x\n" for number in range(COUNT))
    with Tmux(run_script(above, RUN, "Done."), folder, 100, 30, ENVIRON) as window:
        window.wait(lambda text: "· ask ·" in text)
        window.keys("list")
        window.enter()
        window.wait(lambda text: "no cost" in text)
        window.keys("go")
        window.enter()
        window.wait(lambda text: "Answer with a number" in text)
        for columns, rows in sizes:
            window.resize(columns, rows)
            time.sleep(DRAWN)
        window.wait(lambda text: "Esc to interrupt\n> \n" in text)
        text = window.text
        for part in ("I run it.", "Run this?", "  1 yes\n", "  3 no\n", "Answer with", "· ask ·"):
            assert text.count(part) == 1, (part, text)
        assert text.count("item") == COUNT, text
        window.keys("3")
        window.wait(lambda text: "refused" in text)


@pytest.mark.parametrize("name", TEXTS)
def test_each_line_of_an_answer_stays_once_however_the_window_is_resized(
    name: str, folder: Path
) -> None:
    reply = {"text": TEXTS[name] + "\nthe end.", "piece": 40, "delay": 0.02}
    with Tmux(run_script(reply), folder, 100, 30, ENVIRON) as window:
        window.wait(lambda text: "· ask ·" in text)
        window.keys("go")
        window.enter()
        window.wait(lambda text: "item01x" in text)
        for columns, rows in SIZES:
            window.resize(columns, rows)
            time.sleep(_chance.choice(PAUSES))
        text = window.wait(lambda text: "no cost" in text)
    seen = re.findall(r"item(\d\d)x", re.sub(r"(?<=item)\n|(?<=item\d)\n", "", text))
    assert seen == [f"{number:02}" for number in range(COUNT)], text
    assert text.count("Esc to interrupt") == 0, text
    assert text.count("· ask ·") == 1, text
