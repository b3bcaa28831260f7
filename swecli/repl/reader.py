"""What lines are read with: the prompt with its history, keys, completions, pastes, and the queue behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.application import get_app
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.input import Input
from prompt_toolkit.output import Output

from swecli.repl.footer import Footer
from swecli.repl.input.by_line import PromptByLine
from swecli.repl.input.completer import FileIndex, LineCompleter
from swecli.repl.input.history import LineHistory
from swecli.repl.input.keys import make_keys
from swecli.repl.input.prompt import PromptLine
from swecli.repl.input.terminal import Terminal
from swecli.repl.program import LineQueue, Program
from swecli.repl.render.formatting import is_dumb, wants_color
from swecli.repl.render.known_terminal import known_as, notification
from swecli.repl.render.theme import Theme
from swecli.repl.startup import Startup

if TYPE_CHECKING:
    from swecli.config.load import Start


class LineReader:
    """Puts the prompt together. `queue` holds the lines that were sent and not begun."""

    def __init__(
        self,
        start: Start,
        startup: Startup,
        footer: Footer,
        program: Program,
        keyboard: Input | None,
        output: Output | None,
    ) -> None:
        self.queue = LineQueue((["/sessions"] if start.pick else []) + ([start.prompt] if start.prompt else []))
        self._files, self._history = FileIndex(start.cwd), LineHistory(start.paths.history)
        self._footer, self.theme = footer, Theme(start.settings.theme, start.environ)
        self.prompt: PromptLine | PromptByLine
        if is_dumb(start.environ):
            self.prompt = PromptByLine(self._history, program, keyboard)
            return
        color = wants_color(start.environ, terminal=True, setting=start.settings.color)
        keys, completer = make_keys(program, self._history.pastes, start.environ), LineCompleter(startup, self._files)
        known, settings = bool(known_as(start.environ)), start.settings
        waiting = notification(settings.notify, start.environ, "a question waits for you")
        terminal = Terminal(color, keyboard, output, self.theme, known and color, waiting, settings.notify_after)
        self.prompt = PromptLine(program, self._history, keys, completer, self._footer_line, terminal)
        if settings.editing_mode == "vi":
            self.prompt.app.editing_mode = EditingMode.VI
        self.prompt.app.key_processor.before_key_press += lambda _: startup.key_pressed()

    def _footer_line(self, width: int) -> list[tuple[str, str]]:
        """The footer, with the mode of vi where its keys are in use."""
        app = get_app()
        if app.editing_mode is EditingMode.VI:
            self._footer.state.editing = app.vi_state.input_mode.value.replace("-", " ")
        return self._footer.line(width)

    async def next_line(self) -> str:
        """The next line to do, as it stood in the prompt."""
        line = await self.queue.next()
        self._files.forget()
        if problem := self._history.take_problem():
            self.prompt.write(f"! {problem}\n")
        return line

    def expand(self, line: str) -> str:
        """The line with its pastes written out."""
        return self._history.pastes.expand(line)

    def give_up(self, error: Exception) -> None:
        """There will be no more lines: the one being typed is kept in the history, and reading raises `error`."""
        self._history.append_string(self.prompt.draft)
        self.prompt.end(error)
