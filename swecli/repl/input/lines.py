"""Parse a typed line: a command, a shell line, an exit word, or text for the model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_LineKind = Literal["empty", "command", "shell", "leave", "text"]

_EXIT_WORDS = frozenset({"exit", "quit", ":q"})
# The first word starts with a slash and contains no second one: `/usr/bin` and `/* note */` are text.
_COMMAND = re.compile(r"/(?P<name>[A-Za-z?][^\s/]*)?(?:\s+(?P<args>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """A parsed line: `name` of a command without its slash, `text` the arguments, the shell line or the query.

    `shared`: the model gets the output of the shell line.
    """

    kind: _LineKind
    text: str = ""
    name: str = ""
    shared: bool = False


def parse_line(typed: str) -> ParsedLine:
    """Parse a typed line. A lone `/` is the command `help`; a query keeps its inner whitespace."""
    text = typed.strip()
    if not text:
        return ParsedLine("empty")
    if text in _EXIT_WORDS:
        return ParsedLine("leave")
    if text.startswith("!!"):
        return ParsedLine("shell", text[2:].strip())
    if text.startswith("!"):
        return ParsedLine("shell", text[1:].strip(), shared=True)
    if match := _COMMAND.fullmatch(text):
        return ParsedLine("command", (match["args"] or "").strip(), name=match["name"] or "help")
    return ParsedLine("text", text)
