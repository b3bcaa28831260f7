"""A question above the input line: what it offers, when it can be answered, by which keys; a long list to search."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from textwrap import wrap
from typing import Protocol

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, Filter, completion_is_selected, has_completions
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from swecli.repl.render.formatting import one_line, sanitize

QUIET_SECONDS = 0.7  # seconds without a key, after a guarded question was drawn, until it can be answered
_HOLD = 0.5  # seconds that a lone letter or digit waits for a second key: what goes on is text, not an answer
_PREVIEW = 6  # lines of what the selected row is about, at most
_LEAST = 6  # rows of a screen that has room for a preview
_MOVES = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}
_Line = tuple[str, str]  # style, text


@dataclass(frozen=True, slots=True)
class Option:
    """One answer. `mark` is the digit that gives it, `letter` another key for it; "" where there is none."""

    label: str
    mark: str = ""
    letter: str = ""


class Asker(Protocol):
    """What puts a question to the user."""

    async def choose(
        self, title: str, options: Sequence[Option], details: Sequence[Sequence[str]] = (), *, guarded: bool = False
    ) -> int | None:
        """The index of the option that was picked; None for no answer. With `details`, lines about each option, a long
        list is searched as one types."""

    async def ask_text(self, label: str) -> str | None:
        """A line that the user types; None for none."""

    async def run_program(self, argv: Sequence[str]) -> None:
        """Let another program have the terminal until it ends. Raises OSError: it cannot be started."""


class Question:
    """One question. `result` gets the option's place, the text typed (where there are no options), or None: no answer.
    A `guarded` one ignores keys until it was on the screen for `QUIET_SECONDS` without any key, so that nothing typed
    before it could be read answers it, and Enter alone takes no option of it."""

    def __init__(self, title: str, options: Sequence[Option] = (), *, guarded: bool = False) -> None:
        self.title = sanitize(title).strip()
        self.options = [Option(one_line(one.label), one.mark, one.letter) for one in options]
        self.guarded = guarded
        self.at = None if guarded or not options else 0  # the option that Enter takes
        self.pending: int | None = None  # the one whose letter or digit was typed a moment ago
        self.drafting = False  # whether a line is being typed, so that letters are text
        self._loop = asyncio.get_running_loop()
        self.result: asyncio.Future[int | str | None] = self._loop.create_future()
        self._shown = range(0)
        self._quiet_since: float | None = None
        self._open = not guarded

    def typed(self, text: str) -> None:
        """What stands in the line now."""
        self.drafting = bool(text)

    def drawn(self) -> float | None:
        """It is on the screen. When it opens if no key comes before, in the loop's seconds; None if it is open."""
        if self._quiet_since is None:
            self._quiet_since = self._loop.time()
        return None if self.is_open else self._quiet_since + QUIET_SECONDS

    def key_pressed(self) -> None:
        """A key came: one that comes too early keeps the question closed for longer."""
        if not self.is_open and self._quiet_since is not None:
            self._quiet_since = self._loop.time()

    def close_again(self) -> None:
        """The screen was away: it has to be read again."""
        self._open, self._quiet_since, self.pending = not self.guarded, None, None

    @property
    def is_open(self) -> bool:
        """Whether keys may answer it."""
        if not self._open:
            self._open = self._quiet_since is not None and self._loop.time() - self._quiet_since >= QUIET_SECONDS
        return self._open

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
        if isinstance(given, int) and given not in self._shown:
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

    def lines(self, columns: int, rows: int) -> list[_Line]:
        """The question in at most `rows` lines."""
        style = "" if self.is_open else "class:quiet"
        gap: list[_Line] = [("", "")] if rows > len(self.options) + 3 else []
        title: list[_Line] = [("class:title", line) for part in self.title.splitlines() for line in wrap(part, columns)]
        hint = self._hint()
        title, tail = gap + title[: max(1, rows - 2)], [("class:quiet", hint[:columns])] if hint and rows > 3 else []
        room = max(1, rows - len(title) - len(tail))
        options = [self._option(place, columns, style) for place in range(len(self.options))]
        if sum(map(len, options)) > room:
            options = [[(style, f"{text[: columns - 1]}…" if more else text)] for (style, text), *more in options]
        first = max(0, min((self.at or 0) - room // 2, len(options) - room))
        self._shown = range(first, min(first + room, len(options)))
        shown = islice(options, first, first + room)
        return [*title, *(line for lines in shown for line in lines), *tail]

    def _option(self, place: int, columns: int, style: str) -> list[_Line]:
        option, picked = self.options[place], place in (self.at, self.pending)
        lead = f"{'>' if picked else ' '} {option.mark + ' ' if option.mark else ''}"
        lines = wrap(option.label, columns, initial_indent=lead, subsequent_indent=" " * len(lead)) or [lead]
        return [("class:picked" if picked else style, line) for line in lines]

    def _hint(self) -> str:
        if not self.options:
            return "Enter to send · Esc to skip"
        if not self.guarded:
            return ""
        if not self.is_open:
            return "You can answer once you stop typing."
        if self.drafting:
            return "Typing a line: answer with Alt+number or ↑↓ + Enter"
        keys = "a number" if any(option.mark.isdigit() for option in self.options) else "a letter"
        return f"Answer with {keys} or ↑↓ + Enter · Esc to interrupt"


class Picker(Question):
    """A question whose options are narrowed to those that hold every typed word, in their label or their details.
    `details` are the lines about each option; `result` gets the place in the whole list, or None."""

    def __init__(self, title: str, options: Sequence[Option], details: Sequence[Sequence[str]]) -> None:
        super().__init__(title, options)
        self._all, self._details = self.options, [[one_line(line) for line in lines] for lines in details]
        self._found = list(range(len(options)))
        self._typed = ""

    def typed(self, text: str) -> None:
        """Narrow the list to what holds these words."""
        if text == self._typed:
            return
        self._typed, words = text, text.lower().split()
        whole = [" ".join([one.label, *more]).lower() for one, more in zip(self._all, self._details, strict=True)]
        self._found = [place for place, text in enumerate(whole) if all(word in text for word in words)]
        self.options, self.at = [self._all[place] for place in self._found], 0 if self._found else None

    def answer(self, given: int | str | None) -> None:
        """Settle it with a row's place in the whole list; a text that no row holds is not an answer."""
        if isinstance(given, int) and given in self._shown and not self.result.done():
            self.result.set_result(self._found[given])
        elif not isinstance(given, str):
            super().answer(given)

    def lines(self, columns: int, rows: int) -> list[tuple[str, str]]:
        """The list and the preview in at most `rows` lines."""
        about = self._details[self._found[self.at]] if self.at is not None and rows > _LEAST else []
        parts = (wrap(line, max(1, columns - 4), max_lines=2, placeholder=" …") for line in about)
        preview = [part for line in parts for part in line][: min(_PREVIEW, rows // 3)]
        head = super().lines(columns, rows - len(preview))
        return [*head, *(("class:quiet", f"  │ {line}") for line in preview)]

    def _hint(self) -> str:
        found = f"{len(self._found)} of {len(self._all)}" if self._typed else "type to search"
        return f"{found} · ↑↓ + Enter to choose · Esc to cancel"


class _Asking(Protocol):
    """A line with a question above it, or none."""

    question: Question | None
    buffer: Buffer


def make_answer_keys(prompt: _Asking) -> KeyBindings:
    """The bindings of whatever question `prompt` shows. They hold only while it is open, and leave the draft alone."""
    keys = KeyBindings()
    is_open = _when(prompt, lambda question: question.is_open and bool(question.options)) & ~has_completions
    _typing_keys(keys, prompt, is_open)
    for key, by in _MOVES.items():
        keys.add(key, filter=is_open)(lambda event, by=by: _shown(prompt).move(by))

    def answer_digit(event: KeyPressEvent) -> None:
        question = _shown(prompt)
        if (place := question.option_of(event.data)) is not None and question.is_open:
            question.answer(place)

    for digit in "123456789":  # while it is closed, too: Esc and a digit by themselves would interrupt
        keys.add("escape", digit, filter=_when(prompt, lambda _: True))(answer_digit)

    @keys.add("enter", filter=is_open & _when(prompt, lambda at: at.picked is not None) & ~completion_is_selected)
    def take(event: KeyPressEvent) -> None:
        question, place = _shown(prompt), _shown(prompt).picked
        if question.pending is not None:
            prompt.buffer.reset()
        question.answer(place)

    @keys.add("enter", filter=_when(prompt, lambda question: not question.options))
    def send_text(event: KeyPressEvent) -> None:
        text = prompt.buffer.text.strip()
        prompt.buffer.reset()
        _shown(prompt).answer(text)

    @keys.add("escape", filter=_when(prompt, lambda question: not question.guarded) & ~has_completions)
    def decline(event: KeyPressEvent) -> None:
        _shown(prompt).answer(None)

    return keys


def _typing_keys(keys: KeyBindings, prompt: _Asking, is_open: Filter) -> None:
    """A lone digit or letter is an answer once nothing follows it; it stands in the line until then."""
    buffer = prompt.buffer

    @keys.add(Keys.Any, filter=is_open & Condition(lambda: not buffer.text))
    def propose(event: KeyPressEvent) -> None:
        question, place = _shown(prompt), _shown(prompt).option_of(event.data)
        if place is not None and not question.guarded:
            question.answer(place)
            return
        buffer.insert_text(event.data)
        if place is not None:
            question.pending = place
            asyncio.get_running_loop().call_later(_HOLD, confirm, question, event.data)

    def confirm(question: Question, typed: str) -> None:
        if question.pending is not None and buffer.text == typed and prompt.question is question:
            buffer.reset()
            question.answer(question.pending)

    def withdraw(_: object) -> None:
        if (question := prompt.question) is not None and question.guarded and question.options:
            question.pending = question.at = None

    buffer.on_text_changed += withdraw


def _shown(prompt: _Asking) -> Question:
    assert prompt.question is not None
    return prompt.question


def _when(prompt: _Asking, holds: Callable[[Question], bool]) -> Filter:
    return Condition(lambda: prompt.question is not None and holds(prompt.question))
