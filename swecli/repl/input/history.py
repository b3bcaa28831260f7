"""Lines typed at the prompt, kept across sessions in a file that only its owner can read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from prompt_toolkit.history import History

from swecli.repl.input.lines import Pastes

NEWEST_BYTES = 400_000


class LineHistory(History):
    """A history file: per entry a `# time` line, then the entry's lines, each behind a `+`.

    Several programs may append to one file. Only the newest part is read, so that a long life does not slow
    the start. A history that cannot be kept must not cost the user the line: `take_problem` reports it instead.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path, self.pastes = path, Pastes()
        self._problem: str | None = None  # "" once it was reported

    def append_string(self, string: str) -> None:
        """Keep a line, with its pastes written out; the same line twice in a row is kept once."""
        line = self.pastes.expand(string)
        if line.strip() and self._loaded_strings[:1] != [line]:
            super().append_string(line)

    def take_problem(self) -> str:
        """The first failure to read or write, once; "" when there was none, or it was taken."""
        if not self._problem:
            return ""
        problem, self._problem = self._problem, ""
        return problem

    def load_history_strings(self) -> Iterable[str]:
        """The newest entries, newest first."""
        try:
            with self._path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - NEWEST_BYTES))
                text = file.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return []
        except OSError as error:
            self._failed("read", error)
            return []
        return reversed(_entries(text))

    def store_string(self, string: str) -> None:
        """Append one entry in a single write."""
        lines = "".join(f"+{line}\n" for line in string.split("\n"))
        entry = f"\n# {datetime.now()}\n{lines}".encode("utf-8", "replace")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as file:
                file.write(entry)
        except OSError as error:
            self._failed("written", error)

    def _failed(self, what: str, error: OSError) -> None:
        if self._problem is None:
            self._problem = f"the line history cannot be {what}: {error.strerror} ({self._path})"


def _entries(text: str) -> list[str]:
    """The entries in a piece of the file, oldest first; a first one that is cut off is left out."""
    pieces = re.split(r"^#.*$", text, flags=re.MULTILINE)[1:]
    entries = ["\n".join(line[1:] for line in piece.split("\n") if line.startswith("+")) for piece in pieces]
    return [entry for entry, piece in zip(entries, pieces, strict=True) if "\n+" in piece]
