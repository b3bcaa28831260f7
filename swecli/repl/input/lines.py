"""What a typed line is: a command, a shell line, a way out, or words for the model; long pastes in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_LineKind = Literal["empty", "command", "shell", "leave", "text"]

_LEAVING = frozenset({"exit", "quit", ":q"})
# a first word that opens with a slash and has no second one: `/usr/bin` and `/* note */` are plain text
_COMMAND = re.compile(r"/(?P<name>[A-Za-z?][^\s/]*)?(?:\s+(?P<args>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Line:
    """A line, read. `name` is a command's name without its slash; `text` its arguments, the shell line, or the words.
    `shared` is set for a shell line whose output the model will see."""

    kind: _LineKind
    text: str = ""
    name: str = ""
    shared: bool = False


def parse_line(typed: str) -> Line:
    """Say what a typed line is. A lone `/` asks for help. Words keep their inner line breaks and spaces."""
    text = typed.strip()
    if not text:
        return Line("empty")
    if text in _LEAVING:
        return Line("leave")
    if text.startswith("!!"):
        return Line("shell", text[2:].strip())
    if text.startswith("!"):
        return Line("shell", text[1:].strip(), shared=True)
    if match := _COMMAND.fullmatch(text):
        return Line("command", (match["args"] or "").strip(), name=match["name"] or "help")
    return Line("text", text)


_MAX_CHARS = 1000
_MAX_LINES = 15

_PLACEHOLDER = re.compile(r"\[(?:Pasted text #|image )[^\]\n]*\]")
# C0 without tab and newline, DEL, C1: they would move the cursor or colour the screen
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Pastes:
    """The long texts and the pictures pasted in this run, by what stands for them in the line."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def take(self, pasted: str) -> str:
        """What to put into the line for a paste: the text itself, or its placeholder when it is long."""
        text = _plain(pasted)
        if len(text) <= _MAX_CHARS and text.count("\n") < _MAX_LINES:
            return text
        return self._stand_in(f"[Pasted text #{len(self._texts) + 1}]", text)

    def take_picture(self, path: Path) -> str:
        """What to put into the line for a picture: its size in pixels. Raises BadInput for one that cannot be sent."""
        # late: a first drawing pastes nothing
        from swecli.context.pictures import read_picture  # noqa: PLC0415

        label, mention = read_picture(path, str(path))["label"], f'@"{path}"'
        if self._texts.get(label, mention) != mention:
            label = f"{label[:-1]} #{len(self._texts) + 1}]"
        return self._stand_in(label, mention)

    def expand(self, line: str) -> str:
        """The line with every known placeholder replaced by its text, once; unknown ones stay as typed."""
        return _PLACEHOLDER.sub(lambda match: self._texts.get(match[0], match[0]), line)

    def _stand_in(self, label: str, text: str) -> str:
        self._texts[label] = text
        return label


def _plain(pasted: str) -> str:
    return _CONTROL.sub("", pasted.replace("\r\n", "\n").replace("\r", "\n"))
