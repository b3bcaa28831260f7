"""Test an answer that streams while the window changes its size, in tmux, which breaks and joins lines itself."""

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


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path, as a socket needs."""
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as path:
        yield Path(path)


@pytest.mark.parametrize("name", TEXTS)
def test_each_line_of_an_answer_stays_once_however_the_window_is_resized(
    name: str, folder: Path
) -> None:
    reply = {"text": TEXTS[name] + "\nthe end.", "piece": 40, "delay": 0.02}
    command = [sys.executable, "-m", "swecli", "-m", script("s.json", reply)]
    environ = {"PYTHONPATH": ON_PATH, "SWECLI_REFLECT_WITH_MODEL": "false"}
    with Tmux(command, folder, 100, 30, environ) as window:
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
