"""What a typed line is: a command, a shell line, a way out, or words for the model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_LineKind = Literal["empty", "command", "shell", "leave", "text"]

_LEAVING = frozenset({"exit", "quit", ":q"})
# a first word that opens with a slash and has no second one: `/usr/bin` and `/* note */` are plain text
_COMMAND = re.compile(r"/(?P<name>[A-Za-z?][^\s/]*)?(?:\s+(?P<args>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Line:
    """A line, read. `name` is a command's name without its slash; `text` its arguments, the shell line, or the words.

    `shared` is set for a shell line whose output the model will see.
    """

    kind: _LineKind
    text: str = ""
    name: str = ""
    shared: bool = False


def read_line(typed: str) -> Line:
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
