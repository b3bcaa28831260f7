"""The figures of the status line: the names that the setting `status_line` puts in braces, and that the setting
`status_command` gets as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from string import Formatter
from typing import Any

from swecli.config.parsers import closest_name, string

FIGURES = {
    "model": "name of the model",
    "mode": "ask, edits, plan or auto",
    "window": "reflection window, as 5+3",
    "turns": "turns in the window",
    "context": "used share of the model's context, in percent",
    "tokens": "tokens of the session's requests and answers",
    "cost": "cost of the session, in US dollars",
    "next_price": "price of the next request, if it is to be shown",
    "jobs": "background commands that run",
    "branch": "git branch of the folder, or the commit's beginning",
    "folder": "folder in which swecli works",
    "title": "title of the session",
    "session": "id of the session",
    "activity": "what runs in the background, as learning",
}


def parse_template(value: Any) -> str:
    """Parse a status line with figures in braces, as "{model} · {cost}". Raises ValueError."""
    template = string(value)
    for name in names_in(template):
        if name not in FIGURES:
            closest = closest_name(name, FIGURES)
            hint = f"did you mean {closest}?" if closest else f"there are {', '.join(FIGURES)}"
            raise ValueError(f"there is no figure {{{name}}} ({hint})")
    if "\n" in template:
        raise ValueError("takes one line")
    return template


def names_in(template: str) -> Iterator[str]:
    """Return the names in braces; doubled braces are text. Raises ValueError for a single brace."""
    for _, name, format_spec, conversion in Formatter().parse(template):
        if format_spec or conversion:
            raise ValueError("a figure takes no format: write {cost}")
        if name is not None:
            yield name
