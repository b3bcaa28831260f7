"""Every character, and the places where foreign text is made safe to show: those that remove what cannot be seen, and
those that spell it out."""

from __future__ import annotations

from collections.abc import Callable

from swecli.llm.errors import one_line as service_line
from swecli.playbook.ranking import clean
from swecli.repl.render.formatting import escape_invisible
from swecli.text import complaint, escape_hidden, one_line, sanitize
from swecli.tools.limits import one_line as approval_line

EVERY = [chr(code) for code in range(0x110000)]
# format characters of Unicode that have a shape
VISIBLE_FORMATS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u0890\u0891\u08e2\U000110bd\U000110cd"
JOINERS = "\u200c\u200d"
# what becomes of a character between two letters
REMOVING: dict[str, Callable[[str], str]] = {
    "the screen and stdout": sanitize,
    "one line": one_line,
    "a strategy": clean,
    "an error of a service": service_line,
    "an error line": lambda text: complaint(text, "").removeprefix("swecli: "),
}
ESCAPING: dict[str, Callable[[str], str]] = {
    "a name or a command": escape_hidden,
    "an approval": escape_invisible,
    "the summary of an approval": approval_line,
}
