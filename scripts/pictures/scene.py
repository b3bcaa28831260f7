"""A first session with the tour, played for real: a small project with a mistake, put right and remembered."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts.pictures.screen import Shot, replay, squeezed, unfolded
from tests.support.project import make_project
from tests.support.terminal import Terminal

COLUMNS, ROWS = 100, 120  # so high that nothing scrolls away
RIGHT, WRONG = "net * (1 + TAX)", "net * TAX"
QUIET = 8  # twentieths of a second without a word: it has finished


def play() -> Shot:
    """Play it; the whole session, with the first approval as it stood before it was answered."""
    with _home() as home:
        project = make_project(home / "shop")
        prices = project / "shop" / "prices.py"
        prices.write_text(prices.read_text().replace(RIGHT, WRONG))
        with Terminal(command=_command(home, project), columns=COLUMNS, rows=ROWS) as terminal:
            return _session(terminal)


def _session(terminal: Terminal) -> Shot:
    terminal.wait(r"window 5\+3: 0")
    _settle(terminal)
    _say(terminal, "list shop", r"window 5\+3: 1")
    _say(terminal, f'change "{WRONG}" to "{RIGHT}" in shop/prices.py', "Answer with a number")
    asked = replay(terminal.raw, COLUMNS, ROWS)
    _press(terminal, "1\r", r"allowed: Edit[^~]*no cost")
    _say(terminal, 'run the tests with "python3 -m pytest -q"', "Run this[^~]*Answer with a number")
    _press(terminal, "1\r", r"allowed: Run[^~]*no cost")
    _say(terminal, "remember that prices are rounded only when shown", "learned: ")
    _say(terminal, "/playbook", r"P-1 +active")
    return squeezed(unfolded(asked, replay(terminal.raw, COLUMNS, ROWS)))


def _say(terminal: Terminal, line: str, until: str) -> None:
    _press(terminal, f"{line}\r", until)


def _press(terminal: Terminal, keys: str, until: str) -> None:
    terminal.keys(keys)
    terminal.wait(until)
    _settle(terminal)


def _settle(terminal: Terminal) -> None:
    """Until it has nothing more to say."""
    quiet = 0
    while quiet < QUIET:
        before = len(terminal.raw)
        assert terminal.pump(0.05), f"it ended\n{terminal.text}"
        quiet = quiet + 1 if len(terminal.raw) == before and "learning" not in terminal.text else 0


def _command(home: Path, project: Path) -> list[str]:
    """swecli in that project, with nothing of the caller's environment."""
    python = Path(sys.executable)
    environ = {
        "HOME": str(home),
        "PATH": f"{python.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "SWECLI_HOME": str(home / ".swecli"),
        "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
    }
    pairs = [f"{name}={value}" for name, value in environ.items()]
    return ["/usr/bin/env", "-i", *pairs, str(python), "-m", "swecli", "--cwd", str(project)]


@contextmanager
def _home() -> Iterator[Path]:
    """A temporary home, of the same name each time where that is free: it is seen in the picture."""
    with tempfile.TemporaryDirectory(prefix="swecli-") as spare:
        home = Path(tempfile.gettempdir()) / "home"
        try:
            home.mkdir()
        except FileExistsError:
            yield Path(spare)
            return
        try:
            yield home
        finally:
            shutil.rmtree(home)
