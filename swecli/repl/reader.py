"""Where lines come from: those given at the start, then the prompt with its history, keys, completions and pastes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from prompt_toolkit.input import Input
from prompt_toolkit.output import Output

from swecli.repl.banner import is_dumb, wants_color
from swecli.repl.completer import LineCompleter
from swecli.repl.files import FileIndex
from swecli.repl.gauge import Gauge
from swecli.repl.history import LineHistory
from swecli.repl.keys import TwiceToLeave, make_keys
from swecli.repl.loading import Loading
from swecli.repl.paste import Pastes
from swecli.repl.prompt import MARK, Prompt

if TYPE_CHECKING:
    from swecli.config.start import Start


class LineReader:
    """Reads lines, and writes the plain text that stands between them.

    `begin_loading` is called once the first prompt is drawn; `expand_last` prints the last tool's whole output.
    """

    def __init__(
        self,
        start: Start,
        loading: Loading,
        gauge: Gauge,
        expand_last: Callable[[], None],
        begin_loading: Callable[[], object],
        keyboard: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self.color, self.dumb = wants_color(start.environ, start.settings.color), is_dumb(start.environ)
        self._given = deque((["/sessions"] if start.pick else []) + ([start.prompt] if start.prompt else []))
        self._draft = ""
        self._pastes, self._files = Pastes(), FileIndex(start.cwd)
        self._history = LineHistory(start.paths.history, self._pastes.expand)
        self._begin_loading = begin_loading
        twice = TwiceToLeave(time.monotonic)
        self.prompt = Prompt(
            history=self._history,
            keys=make_keys(gauge, expand_last, self._pastes, start.environ, twice),
            completer=LineCompleter(loading.table, loading.values, self._files.paths),
            footer=gauge.footer,
            color=self.color,
            dumb=self.dumb,
            keyboard=keyboard,
            output=output,
        )
        self.prompt.on_key(loading.key_pressed)

        def typed() -> None:
            twice.typed()
            gauge.hint("")

        self.prompt.on_typed(typed)
        self.prompt.once_drawn(begin_loading)

    async def next_line(self) -> str | None:
        """The next line, with its pastes written out; None when the user leaves. Raises what ended the prompt."""
        if self._given:
            self.write(f"{MARK}{self._given[0]}\n")
            return self._given.popleft()
        if self.dumb:
            self._begin_loading()  # such a terminal is never drawn on
        self._files.forget()
        draft, self._draft = self._draft, ""
        typed = await self.prompt.read(draft)
        if problem := self._history.take_problem():
            self.write(f"! {problem}\n")
        return None if typed is None else self._pastes.expand(typed)

    def set_draft(self, text: str) -> None:
        """Begin the next line with this."""
        self._draft = text

    def give_up(self, error: Exception) -> None:
        """There will be no more lines: the one being typed is kept in the history, and reading raises `error`."""
        self._history.append_string(self.prompt.draft)
        self.prompt.end(error)

    def write(self, text: str) -> None:
        """Plain text straight to the terminal."""
        self.prompt.output.write_raw(text)
        self.prompt.output.flush()
