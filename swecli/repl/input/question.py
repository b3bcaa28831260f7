"""A question above the input line: what it offers, when it can be answered, what it looks like."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from textwrap import wrap
from typing import Protocol

from swecli.repl.render.sanitise import clean

QUIET = 0.7
"""Seconds without a key, after a guarded question was drawn, until it can be answered."""
HOLD = 0.5
"""Seconds that a lone letter or digit waits for a second key: what goes on is text, not an answer."""
_Line = tuple[str, str]  # style, text


@dataclass(frozen=True, slots=True)
class Option:
    """One answer. `mark` is the digit that gives it, `letter` another key for it; "" where there is none."""

    label: str
    mark: str = ""
    letter: str = ""


class Asker(Protocol):
    """What puts a question to the user."""

    async def choose(self, title: str, options: Sequence[Option], *, guarded: bool = False) -> int | None:
        """The index of the option that was picked; None for no answer."""

    async def ask_text(self, label: str) -> str | None:
        """A line that the user types; None for none."""

    async def hand_over(self, argv: Sequence[str]) -> None:
        """Let another program have the terminal until it ends. Raises OSError: it cannot be started."""


class Question:
    """One question. `result` gets the option's place, the text typed (where there are no options), or None: no answer.

    A `guarded` one ignores keys until it was on the screen for `QUIET` seconds without any key, so that nothing typed
    before it could be read answers it. `at` is the option that Enter takes; None: Enter takes none.
    """

    def __init__(
        self, title: str, options: Sequence[Option] = (), *, guarded: bool = False, at: int | None = None
    ) -> None:
        self.title = clean(title).strip()
        self.options = [
            Option(clean(option.label, keep_newlines=False), option.mark, option.letter) for option in options
        ]
        self.guarded, self.at = guarded, at
        self.pending: int | None = None
        self.drafting = False  # whether a line is being typed, so that letters are text
        self.result: asyncio.Future[int | str | None] = asyncio.get_running_loop().create_future()
        self.shown: range = range(0)
        self._quiet_since: float | None = None
        self._open = not guarded

    # When it can be answered. Times are the loop's seconds.

    def drawn(self, now: float) -> None:
        """It is on the screen."""
        if self._quiet_since is None:
            self._quiet_since = now

    def key_pressed(self, now: float) -> None:
        """A key came: one that comes too early keeps the question closed for longer."""
        if not self.is_open(now) and self._quiet_since is not None:
            self._quiet_since = now

    @property
    def opens_at(self) -> float:
        """When it can be answered, if no key comes before."""
        return (self._quiet_since or 0.0) + QUIET

    def close_again(self) -> None:
        """The screen was away: it has to be read again."""
        self._open, self._quiet_since, self.pending = not self.guarded, None, None

    def is_open(self, now: float) -> bool:
        """Whether keys may answer it."""
        if not self._open:
            self._open = self._quiet_since is not None and now - self._quiet_since >= QUIET
        return self._open

    # Answers

    @property
    def picked(self) -> int | None:
        """The option that Enter gives."""
        return self.at if self.pending is None else self.pending

    def option_of(self, key: str) -> int | None:
        """The option that a digit or letter stands for."""
        keys = ((option.mark, option.letter) for option in self.options)
        return next((place for place, names in enumerate(keys) if key and key in names), None)

    def answer(self, given: int | str | None) -> None:
        """Settle it, once; an option that is not on the screen is shown instead."""
        if isinstance(given, int) and given not in self.shown:
            self.at, self.pending = given, None
        elif not self.result.done():
            self.result.set_result(given)

    def move(self, by: int) -> None:
        """Select another option; a step off one end comes back at the other."""
        count = len(self.options)
        if self.at is None:
            self.at = 0 if by > 0 else count - 1
        else:
            self.at = (self.at + by) % count if abs(by) == 1 else min(max(0, self.at + by), count - 1)

    # Drawing

    def lines(self, columns: int, rows: int, now: float) -> list[_Line]:
        """The question in at most `rows` lines."""
        style = "" if self.is_open(now) else "class:quiet"
        gap: list[_Line] = [("", "")] if rows > len(self.options) + 3 else []
        title: list[_Line] = [("class:title", line) for part in self.title.splitlines() for line in wrap(part, columns)]
        hint = self._hint(now)
        title, tail = gap + title[: max(1, rows - 2)], [("class:quiet", hint[:columns])] if hint and rows > 3 else []
        room = max(1, rows - len(title) - len(tail))
        options = [self._option(place, columns, style) for place in range(len(self.options))]
        if sum(map(len, options)) > room:
            options = [[lines[0]] if len(lines) == 1 else [_cut(lines[0], columns)] for lines in options]
        first = max(0, min((self.at or 0) - room // 2, len(options) - room))
        self.shown = range(first, min(first + room, len(options)))
        shown = islice(options, first, first + room)
        return [*title, *(line for lines in shown for line in lines), *tail]

    def _option(self, place: int, columns: int, style: str) -> list[_Line]:
        option, picked = self.options[place], place in (self.at, self.pending)
        lead = f"{'>' if picked else ' '} {option.mark + ' ' if option.mark else ''}"
        lines = wrap(option.label, columns, initial_indent=lead, subsequent_indent=" " * len(lead)) or [lead]
        return [("class:picked" if picked else style, line) for line in lines]

    def _hint(self, now: float) -> str:
        if not self.options:
            return "Enter to send · Esc to skip"
        if not self.guarded:
            return ""
        if not self.is_open(now):
            return "You can answer once you stop typing."
        if self.drafting:
            return "Typing a line: answer with Alt+number or ↑↓ + Enter"
        keys = "a number" if any(option.mark.isdigit() for option in self.options) else "a letter"
        return f"Answer with {keys} or ↑↓ + Enter · Esc to interrupt"


def _cut(line: _Line, columns: int) -> _Line:
    style, text = line
    return style, f"{text[: columns - 1]}…"
