"""A question above the input line: its options, and the keys that answer it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from textwrap import wrap

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, completion_is_selected, has_completions
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from swecli.text import one_line, sanitize
from swecli.values import dataclass

# without a key press after a guarded question was drawn, before it accepts an answer
_QUIET_SECONDS = 0.7
_CONFIRM_DELAY = 0.5  # seconds in which a second key turns a lone letter or digit into text
_LEAST_COLUMNS = len(
    "[...]"
)  # which textwrap needs behind what it cuts; a narrower window shows a part
_MOVES = {"up": -1, "down": 1}
_PAGES = {"pageup": -10, "pagedown": 10}
StyledText = tuple[str, str]  # style, text


@dataclass(frozen=True, slots=True)
class Option:
    """One answer. `key` is the key that selects it, mostly a digit, and `letter` another one; "" for none.

    To a guarded question the key answers alone unless `needs_enter`, the letter only with Enter: words begin with it.
    `confirmation` says what the answer changes for longer than this question; "" if it changes nothing. It is read
    first, and a second key confirms it.
    """

    label: str
    key: str = ""
    letter: str = ""
    needs_enter: bool = False
    confirmation: str = ""


class Question:
    """A question. `result` is an option's index, the typed text if there are no options, or None for no answer.

    A `guarded` question ignores keys until it was on the screen for `_QUIET_SECONDS` without any, so that keys typed
    before it could be read never answer it, and none of its options but the `default`, which changes nothing, is
    selected for Enter. Enter on an option with a
    `confirmation` shows that text, and only the next Enter answers. Its Esc calls `stop`, and no key answers it
    afterwards: what is typed after "stop" is a new line, whatever its first letter. Without `stop` Esc is no answer,
    and `escape` says in words what that leads to.
    """

    def __init__(
        self,
        title: str,
        options: Sequence[Option] = (),
        *,
        guarded: bool = False,
        default: int | None = None,
        stop: Callable[[], None] | None = None,
        escape: str = "to cancel",
    ) -> None:
        self.title = sanitize(title).strip()
        self.options = [
            replace(
                option, label=one_line(option.label), confirmation=one_line(option.confirmation)
            )
            for option in options
        ]
        self.guarded = guarded
        self._stop = stop
        self._escape = "to interrupt" if stop is not None else escape
        self._is_stopped = False
        # index of the highlighted option
        self.cursor = default if guarded or not options else 0
        # index of the option whose letter or digit awaits confirmation
        self.pending: int | None = None
        self._is_confirming = False  # whether Enter was pressed on the highlighted option
        self._has_draft = False
        self._loop = asyncio.get_running_loop()
        self.result: asyncio.Future[int | str | None] = self._loop.create_future()
        self._visible = range(0)  # indices of the options on the screen
        self._quiet_since: float | None = None  # None before it is drawn
        self._has_opened = not guarded
        self.keys = self._make_keys()

    def update_draft(self, text: str) -> None:
        """Update the text in the input line; while there is one, letters and digits are text."""
        self._has_draft = bool(text)

    def deselect(self) -> None:
        """Deselect the option of a guarded question, because the draft has changed."""
        if self.guarded and self.options:
            self.pending = None
            self.cursor = None
            self._is_confirming = False

    def mark_drawn(self) -> float | None:
        """Start the quiet time; return when it ends, in the loop's seconds, or None if nothing is waited for."""
        if self._quiet_since is None:
            self._quiet_since = self._loop.time()
        if self.is_open or self._is_stopped:
            return None
        return self._quiet_since + _QUIET_SECONDS

    def key_pressed(self) -> None:
        """Restart the quiet time unless the question is open."""
        if not self.is_open and self._quiet_since is not None:
            self._quiet_since = self._loop.time()

    def close_again(self) -> None:
        """Guard the question again after the screen was hidden."""
        self._has_opened = not self.guarded
        self._quiet_since = None
        self.pending = None
        self._is_confirming = False

    @property
    def is_open(self) -> bool:
        """Return True if keys may answer."""
        if self._is_stopped:
            return False
        if not self._has_opened and self._quiet_since is not None:
            self._has_opened = self._loop.time() - self._quiet_since >= _QUIET_SECONDS
        return self._has_opened

    @property
    def selected(self) -> int | None:
        """Return the index of the option that Enter answers with."""
        return self.cursor if self.pending is None else self.pending

    def find_option(self, key: str) -> int | None:
        """Return the index of the option that a digit or letter selects."""
        keys = ((option.key, option.letter) for option in self.options)
        return next((index for index, names in enumerate(keys) if key and key in names), None)

    def answer(self, value: int | str | None) -> None:
        """Set the result, once; an option that is not on the screen is highlighted instead."""
        if isinstance(value, int) and value not in self._visible:
            self.cursor = value
            self.pending = None
        elif not self.result.done():
            self.result.set_result(value)

    def move(self, step: int) -> None:
        """Move the cursor, not beyond the first and the last option. While there is none, down is the way to the first
        option, and up, which elsewhere repeats the last line, does nothing."""
        self.pending = None
        self._is_confirming = False
        if self.cursor is not None:
            self.cursor = min(max(0, self.cursor + step), len(self.options) - 1)
        elif step > 0:
            self.cursor = 0

    def _make_keys(self) -> KeyBindings:
        keys = KeyBindings()
        is_open = Condition(lambda: self.is_open and bool(self.options)) & ~has_completions
        is_guarded = Condition(lambda: self.guarded)
        is_empty = Condition(lambda: not get_app().current_buffer.text)
        for key, step in _MOVES.items():

            @keys.add(key, filter=is_open)
            def move(event: KeyPressEvent, step: int = step) -> None:
                if self.pending is not None:
                    event.current_buffer.reset()  # takes back the typed letter or digit
                self.move(step)

        for key, step in _PAGES.items():  # they scroll: they do not choose what Enter approves
            keys.add(key, filter=is_open & ~is_guarded)(lambda event, step=step: self.move(step))

        @keys.add(
            "enter",
            filter=is_open & Condition(lambda: self.selected is not None) & ~completion_is_selected,
        )
        def answer_selected(event: KeyPressEvent) -> None:
            if self.pending is not None:
                event.current_buffer.reset()  # the typed letter or digit; an arrow keeps the draft
            elif self._confirmation and not self._is_confirming:
                self._is_confirming = True
                return
            self.answer(self.selected)

        @keys.add("enter", filter=Condition(lambda: not self.options))
        def answer_text(event: KeyPressEvent) -> None:
            text = event.current_buffer.text.strip()
            event.current_buffer.reset()
            self.answer(text)

        @keys.add("escape", filter=~is_guarded & ~has_completions)
        def decline(event: KeyPressEvent) -> None:
            self.answer(None)

        # Eager: the next key must not make it an Alt key. Alt has no use while there is no draft.
        is_proposed = Condition(lambda: self.pending is not None)

        @keys.add("escape", filter=is_guarded & (is_empty | is_proposed), eager=True)
        def stop(event: KeyPressEvent) -> None:
            event.current_buffer.reset()
            self._is_stopped = True
            self.pending = None
            self.cursor = None
            if self._stop is not None:
                self._stop()
            else:
                self.answer(None)

        @keys.add(Keys.Any, filter=is_open & is_empty)
        def propose(event: KeyPressEvent) -> None:
            index = self.find_option(event.data)
            if index is not None and not self.guarded:
                self.answer(index)
                return
            event.current_buffer.insert_text(event.data)  # which deselects
            self.pending = index
            if index is not None and self._answers_alone(event.data, self.options[index]):
                self._loop.call_later(
                    _CONFIRM_DELAY, self._confirm, event.current_buffer, event.data
                )

        return keys

    @staticmethod
    def _answers_alone(key: str, option: Option) -> bool:
        return key == option.key and not option.needs_enter and not option.confirmation

    def _confirm(self, buffer: Buffer, typed: str) -> None:
        """Answer with a lone digit or letter, unless a second key has made it text."""
        if self.pending is not None and buffer.text == typed and not self.result.done():
            buffer.reset()
            self.answer(self.pending)

    def render(self, columns: int, rows: int) -> list[StyledText]:
        """Render in at most `rows` lines, where there is room for title and options. Lines may be longer than `columns`
        in a window of a few."""
        columns = max(columns, _LEAST_COLUMNS)
        style = "" if self.is_open else "class:quiet"
        title: list[StyledText] = [
            ("class:title", line)
            for paragraph in self.title.splitlines()
            for line in wrap(paragraph, columns)
        ]
        title = title[: max(1, rows - 2)]
        if rows > len(self.options) + 3:
            title.insert(0, ("", ""))
        hint = self._hint()
        footer: list[StyledText] = []
        if self._asks_to_confirm:
            footer = [("class:title", line) for line in wrap(hint, columns)]
        elif hint and rows > 3:
            footer = [("class:quiet", line) for line in wrap(hint, columns, max_lines=2)]
        max_options = max(1, rows - len(title) - len(footer))
        options = [self._render_option(index, columns, style) for index in range(len(self.options))]
        if sum(map(len, options)) > max_options:
            options = [
                [(style, f"{text[: columns - 1]}…" if more else text)]
                for (style, text), *more in options
            ]
        first = max(0, min((self.cursor or 0) - max_options // 2, len(options) - max_options))
        self._visible = range(first, min(first + max_options, len(options)))
        return [
            *title,
            *(line for lines in islice(options, first, first + max_options) for line in lines),
            *footer,
        ]

    def _render_option(self, index: int, columns: int, style: str) -> list[StyledText]:
        option = self.options[index]
        is_selected = index in (self.cursor, self.pending)
        prefix = "> " if is_selected else "  "
        if option.key:
            prefix += f"{option.key} "
        indent = " " * len(prefix)
        lines = wrap(option.label, columns, initial_indent=prefix, subsequent_indent=indent)
        lines = lines or [prefix]
        return [("class:selected" if is_selected else style, line) for line in lines]

    @property
    def _confirmation(self) -> str:
        """What the selected option would change for longer, "" if nothing."""
        return "" if self.selected is None else self.options[self.selected].confirmation

    @property
    def _asks_to_confirm(self) -> bool:
        """Whether the next Enter confirms an answer that lasts."""
        return bool(self._confirmation) and (self.pending is not None or self._is_confirming)

    def _hint(self) -> str:
        if not self.options:
            return f"Enter to answer · Esc {self._escape}"
        if not self.is_open:
            return "You can answer once you stop typing."
        if self._asks_to_confirm:
            return f"{self._confirmation} Enter to confirm"
        if self.pending is not None:
            return "Enter to answer"
        if self._has_draft and self.guarded:
            return "Typing a line: answer with ↑↓ + Enter"
        return f"Answer with {self._name_keys()}↑↓ + Enter · Esc {self._escape}"

    def _name_keys(self) -> str:
        """Return what kind of keys answer beside the arrows: all that are needed before the options are read."""
        has_numbers = any(option.key.isdigit() for option in self.options)
        has_letters = any(option.key.isalpha() for option in self.options)
        if has_numbers and has_letters:
            return "a number or letter, or "
        if has_numbers:
            return "a number or "
        return "a letter or " if has_letters else ""
