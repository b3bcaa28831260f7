"""Play a first session with the tour in a terminal: a small project with a mistake, its fix and a lesson."""

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

COLUMNS, ROWS = 100, 120  # high enough that nothing scrolls
RIGHT, WRONG = "net * (1 + TAX)", "net * TAX"
QUIET = 8  # twentieths of a second without output, after which the program is idle


def play() -> Shot:
    """Play the session; return the whole of it, with the first approval as it was before its answer."""
    with _home() as home:
        project = make_project(home / "shop")
        prices = project / "shop" / "prices.py"
        prices.write_text(prices.read_text().replace(RIGHT, WRONG))
        # else pytest warns that the sandbox lets it write no cache, and names paths of this machine
        (project / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
        with Terminal(command=_command(home, project), columns=COLUMNS, rows=ROWS) as terminal:
            return _session(terminal)


def _session(terminal: Terminal) -> Shot:
    terminal.wait(r"0 turns sent")
    _settle(terminal)
    _say(terminal, "list shop", r"1 turn sent")
    _say(terminal, f'change "{WRONG}" to "{RIGHT}" in shop/prices.py', "Answer with a number")
    asked = replay(terminal.raw, COLUMNS, ROWS)
    _press(terminal, "1\r", r"allowed: Edit[^~]*no cost")
    _say(terminal, 'run the tests with "python3 -m pytest -q"', r"passed[^~]*no cost")
    _say(terminal, "remember that prices are rounded only when shown", "✎ T4: ")
    _say(terminal, "/playbook", r"P-1 +active")
    return squeezed(unfolded(asked, replay(terminal.raw, COLUMNS, ROWS)))


def _say(terminal: Terminal, line: str, until: str) -> None:
    _press(terminal, f"{line}\r", until)


def _press(terminal: Terminal, keys: str, until: str) -> None:
    terminal.keys(keys)
    terminal.wait(until)
    _settle(terminal)


def _settle(terminal: Terminal) -> None:
    """Wait until the program writes nothing more."""
    quiet = 0
    while quiet < QUIET:
        before = len(terminal.raw)
        assert terminal.pump(0.05), f"it ended\n{terminal.text}"
        quiet = quiet + 1 if len(terminal.raw) == before and "learning" not in terminal.text else 0


def _command(home: Path, project: Path) -> list[str]:
    """Return the command for swecli in that project, without the caller's environment."""
    python = Path(sys.executable)
    environ = {
        "SWECLI_MODEL": "demo",
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
    """Create a temporary home, with a fixed name if that is free, because it appears in the picture."""
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
