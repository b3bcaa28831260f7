"""Lines typed at the prompt, kept across sessions in a file that only its owner can read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import FileHistory

from swecli.repl.input.lines import Pastes


class LineHistory(FileHistory):
    """prompt-toolkit's file; several programs may append to one. A history that cannot be kept must not cost the user
    the line: `pop_error` reports it instead."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._path, self.pastes = path, Pastes()
        self._problem: str | None = None  # "" once it was reported

    def append_string(self, string: str) -> None:
        """Keep a line, with its pastes written out; the same line twice in a row is kept once."""
        line = self.pastes.expand(string)
        if line.strip() and self._loaded_strings[:1] != [line]:
            super().append_string(line)

    def pop_error(self) -> str:
        """The first failure to read or write, once; "" when there was none, or it was taken."""
        if not self._problem:
            return ""
        problem, self._problem = self._problem, ""
        return problem

    def load_history_strings(self) -> Iterable[str]:
        """The entries, newest first."""
        try:
            return super().load_history_strings()
        except OSError as error:
            return self._failed("read", error)

    def store_string(self, string: str) -> None:
        """Append one entry."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
            super().store_string(string)
        except OSError as error:
            self._failed("written", error)

    def _failed(self, what: str, error: OSError) -> list[str]:
        if self._problem is None:
            self._problem = f"the line history cannot be {what}: {error.strerror} ({self._path})"
        return []
