"""The line history, kept across sessions, and the placeholders of long pastes in its lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import FileHistory

_MAX_CHARS = 1000
_MAX_LINES = 15
_PLACEHOLDER = re.compile(r"\[(?:Pasted text #|image )[^\]\n]*\]")
# C0 without tab and newline, DEL, C1: they would move the cursor or color the screen.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Pastes:
    """The long texts and pictures pasted in this run, by their placeholders."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def add_text(self, pasted: str) -> str:
        """Return the text to insert into the line: the pasted text without controls, or a placeholder if it is long."""
        text = _CONTROL.sub("", pasted.replace("\r\n", "\n").replace("\r", "\n"))
        if len(text) <= _MAX_CHARS and text.count("\n") < _MAX_LINES:
            return text
        placeholder = f"[Pasted text #{len(self._texts) + 1}]"
        self._texts[placeholder] = text
        return placeholder

    def add_picture(self, path: Path) -> str:
        """Return the placeholder of a picture, with its size in pixels. Raises BadInput if it cannot be sent."""
        # late: the first prompt has no pictures
        from swecli.context.mentions import read_picture  # noqa: PLC0415

        placeholder, mention = str(read_picture(path, str(path))["label"]), f'@"{path}"'
        if self._texts.get(placeholder, mention) != mention:
            placeholder = f"{placeholder[:-1]} #{len(self._texts) + 1}]"
        self._texts[placeholder] = mention
        return placeholder

    def expand(self, line: str) -> str:
        """Replace every known placeholder by its text, not recursively."""
        return _PLACEHOLDER.sub(lambda match: self._texts.get(match[0], match[0]), line)


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
