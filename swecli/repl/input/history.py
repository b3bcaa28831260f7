"""The history of typed lines, kept across sessions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import FileHistory

from swecli.repl.input.pastes import Pastes


class LineHistory(FileHistory):
    """A history file that several programs may append to. I/O errors are not raised: see `pop_error`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._path = path
        self.pastes = Pastes()
        self._has_failed = False
        self._error = ""  # the first one, until it is reported

    def append_string(self, string: str) -> None:
        """Append a line, unless it repeats the last one. The file gets it with its pastes expanded."""
        if string.strip() and self._loaded_strings[:1] != [string]:
            super().append_string(string)

    def pop_error(self) -> str:
        """Return the first I/O error, once; "" if there is none."""
        error = self._error
        self._error = ""
        return error

    def load_history_strings(self) -> Iterable[str]:
        try:
            return super().load_history_strings()
        except OSError as error:
            self._record_error("read", error)
            return []

    def store_string(self, string: str) -> None:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
            super().store_string(self.pastes.expand(string))
        except OSError as error:
            self._record_error("written", error)

    def _record_error(self, action: str, error: OSError) -> None:
        if not self._has_failed:
            self._has_failed = True
            self._error = f"the line history cannot be {action}: {error.strerror} ({self._path})"
