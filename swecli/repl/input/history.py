"""The history of typed lines, kept across sessions: those of the folder come first, then those of others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from prompt_toolkit.history import FileHistory

from swecli.repl.input.pastes import Pastes

_IN_FOLDER = "# in "


class LineHistory(FileHistory):
    """A history file that several programs may append to. I/O errors are not raised: see `pop_error`."""

    def __init__(self, path: Path, folder: Path | None = None) -> None:
        super().__init__(path)
        self._path = path
        self._folder = "" if folder is None else json.dumps(str(folder))
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
            entries = list(self._read_entries())
        except FileNotFoundError:
            return []
        except OSError as error:
            self._record_error("read", error)
            return []
        entries.reverse()  # the newest first; the sort keeps that order
        entries.sort(key=lambda entry: entry[0] != self._folder)
        return [line for _, line in entries]

    def _read_entries(self) -> Iterator[tuple[str, str]]:
        """Yield the folder of each line, "" if an earlier version stored it, and the line, the oldest first. Raises
        OSError."""
        folder = ""
        lines = list[str]()
        # `splitlines` would break lines at other characters too
        for row in [*self._path.read_bytes().decode("utf-8", "replace").split("\n"), ""]:
            if row.startswith("+"):
                lines.append(row[1:])
                continue
            if lines:
                yield folder, "\n".join(lines)
                folder = ""
                lines.clear()
            if row.startswith(_IN_FOLDER):
                folder = row.removeprefix(_IN_FOLDER)

    def store_string(self, string: str) -> None:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
            text = "".join(f"+{row}\n" for row in self.pastes.expand(string).split("\n"))
            place = f"{_IN_FOLDER}{self._folder}\n" if self._folder else ""
            with self._path.open("ab") as file:
                file.write(f"\n# {datetime.now()}\n{place}{text}".encode("utf-8", "replace"))
        except OSError as error:
            self._record_error("written", error)

    def _record_error(self, action: str, error: OSError) -> None:
        if not self._has_failed:
            self._has_failed = True
            self._error = f"the line history cannot be {action}: {error.strerror} ({self._path})"
