"""What a typed line is: a command, a shell line, the wish to leave, or a query."""

from __future__ import annotations

import re
from typing import Literal

from swecli.values import dataclass

LineKind = Literal["empty", "command", "shell", "leave", "text"]

_EXIT_WORDS = frozenset({"exit", "quit", ":q"})
# The first word starts with a slash and contains no second one: `/usr/bin` and `/* note */` are text.
_COMMAND = re.compile(r"/(?P<name>[A-Za-z?][^\s/]*)?(?:\s+(?P<args>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """A parsed line."""

    kind: LineKind
    text: str = ""  # of a command: its arguments
    name: str = ""  # of a command, without its slash
    shared: bool = False  # the model gets the output of the shell line


def parse_line(typed_line: str) -> ParsedLine:
    """Parse a typed line. A lone `/` or `?` is the command `help`; a query keeps its inner whitespace."""
    text = typed_line.strip()
    if not text:
        return ParsedLine("empty")
    if text == "?":
        return ParsedLine("command", name="help")
    if text in _EXIT_WORDS:
        return ParsedLine("leave")
    if text.startswith("!!"):
        return ParsedLine("shell", text[2:].strip())
    if text.startswith("!"):
        return ParsedLine("shell", text[1:].strip(), shared=True)

    match = _COMMAND.fullmatch(text)
    if match is not None:
        args = match["args"] or ""
        return ParsedLine("command", args.strip(), name=match["name"] or "help")
    return ParsedLine("text", text)
