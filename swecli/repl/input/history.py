"""The history of typed lines, kept across sessions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from prompt_toolkit.history import FileHistory

from swecli.file_names import write_name
from swecli.repl.input.pastes import Pastes

# Characters of a line that later runs have: in a longer one a key takes 0.15 s and more (measured), and each start
# reads them all.
MAX_LINE = 100_000
_FOLDER = "# in "  # begins the line of an entry that names its folder


class LineHistory(FileHistory):
    """A history file that several programs may append to. The lines that were typed in the same folder come first. A
    line with a very long paste is in this run's history only. I/O errors are not raised: see `pop_error`."""

    def __init__(self, path: Path, folder: Path = Path()) -> None:
        super().__init__(path)
        self._path = path
        self._folder = write_name(str(folder))
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
        """Return the lines of this folder, then those of others, the newest of each first."""
        try:
            entries = list(self._read_entries())
        except FileNotFoundError:
            return []
        except OSError as error:
            self._record_error("read", error)
            return []
        entries.reverse()
        here = [line for folder, line in entries if folder == self._folder]
        return [*here, *(line for folder, line in entries if folder != self._folder)]

    def _read_entries(self) -> Iterator[tuple[str, str]]:
        """Yield the folder and the text of each entry; the folder is "" in those of earlier versions."""
        folder = ""
        lines: list[str] = []
        for row in [*self._path.read_bytes().decode("utf-8", "replace").split("\n"), ""]:
            if row.startswith("+"):
                lines.append(row[1:])
                continue
            if lines:
                line = "\n".join(lines)
                yield folder, line if len(line) <= MAX_LINE else self.pastes.add_text(line)
                folder = ""
                lines = []
            if row.startswith(_FOLDER):
                folder = row.removeprefix(_FOLDER)

    def store_string(self, string: str) -> None:
        line = self.pastes.expand(string)
        if len(line) > MAX_LINE:
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
            rows = line.split("\n")
            head = f"\n# {datetime.now()}\n{_FOLDER}{self._folder}\n"
            entry = head + "".join(f"+{row}\n" for row in rows)
            with self._path.open("ab") as file:
                file.write(entry.encode("utf-8", "replace"))
        except OSError as error:
            self._record_error("written", error)

    def _record_error(self, action: str, error: OSError) -> None:
        if not self._has_failed:
            self._has_failed = True
            self._error = f"the line history cannot be {action}: {error.strerror} ({self._path})"
