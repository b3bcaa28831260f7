"""The line history, kept across sessions in a file that only its owner can read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import FileHistory

from swecli.repl.input.pastes import Pastes


class LineHistory(FileHistory):
    """A history file that several programs may append to. I/O errors are not raised: see `pop_error`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._path, self.pastes = path, Pastes()
        self._error: str | None = None  # "" after it was reported

    def append_string(self, string: str) -> None:
        """Append a line with its pastes expanded, unless it repeats the last one."""
        line = self.pastes.expand(string)
        if line.strip() and self._loaded_strings[:1] != [line]:
            super().append_string(line)

    def pop_error(self) -> str:
        """Return the first I/O error, once; "" if there is none."""
        if not self._error:
            return ""
        error, self._error = self._error, ""
        return error

    def load_history_strings(self) -> Iterable[str]:
        """Return the entries, newest first."""
        try:
            return super().load_history_strings()
        except OSError as error:
            self._record_error("read", error)
            return []

    def store_string(self, string: str) -> None:
        """Append one entry to the file."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
            super().store_string(string)
        except OSError as error:
            self._record_error("written", error)

    def _record_error(self, action: str, error: OSError) -> None:
        if self._error is None:
            self._error = f"the line history cannot be {action}: {error.strerror} ({self._path})"
