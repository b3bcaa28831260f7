"""A program in a window of tmux, a terminal that breaks and joins lines when its width changes."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

_PATIENCE = 30.0


class Tmux:
    """Runs `command` in a server of its own, whose socket is in `folder`. Leaving the context ends the server."""

    def __init__(
        self, command: Sequence[str], folder: Path, columns: int, rows: int, environ: dict[str, str]
    ) -> None:
        self._socket = folder / "tmux.sock"
        variables = [f"{name}={value}" for name, value in environ.items()]
        line = shlex.join(["env", *variables, *command])
        size = ["-x", str(columns), "-y", str(rows)]
        self._environ = {name: value for name, value in os.environ.items() if name != "TMUX"}
        self._run("-f", "/dev/null", "new-session", "-d", "-s", "s", *size, line)
        self._run("set-option", "-g", "history-limit", "20000")

    def __enter__(self) -> Tmux:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._run("kill-server")

    def keys(self, text: str) -> None:
        """Type a text."""
        self._run("send-keys", "-t", "s", "-l", text)

    def enter(self) -> None:
        self._run("send-keys", "-t", "s", "Enter")

    def resize(self, columns: int, rows: int) -> None:
        self._run("resize-window", "-t", "s", "-x", str(columns), "-y", str(rows))

    @property
    def text(self) -> str:
        """Return scrollback and screen; a line that was broken at the edge is one line."""
        return self._run("capture-pane", "-p", "-J", "-S", "-", "-t", "s")

    def wait(self, is_there: Callable[[str], bool]) -> str:
        """Wait until the text is as wanted, and return it. Raises AssertionError on timeout."""
        deadline = time.monotonic() + _PATIENCE
        while not is_there(self.text):
            assert time.monotonic() < deadline, self.text
            time.sleep(0.05)
        return self.text

    def _run(self, *arguments: str) -> str:
        command = ["tmux", "-S", str(self._socket), *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=20, env=self._environ, check=True
        )
        return done.stdout
