"""The line editor: prompt-toolkit's session, inline, with its footer, menu and look."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, create_app_session, run_in_terminal
from prompt_toolkit.completion import Completer
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.output.plain_text import PlainTextOutput
from prompt_toolkit.styles import Style

from swecli.repl.completer import wants_menu
from swecli.repl.footer import Fragments

MARK = "> "
MENU_ROWS = 8

_COLOURS = {
    "mark": "bold ansicyan",
    "bottom-toolbar": "noreverse",
    "footer": "fg:ansibrightblack",
    "footer.plan": "fg:ansicyan",
    "footer.edits": "fg:ansigreen",
    "footer.auto": "fg:ansired",
    "footer.hint": "fg:ansiyellow",
    "footer.busy": "fg:ansibrightblack italic",
    "completion-menu": "bg:default fg:default",
    "completion-menu.completion": "bg:default fg:default",
    "completion-menu.completion.current": "bg:default fg:ansicyan bold noreverse",
    "completion-menu.meta.completion": "bg:default fg:ansibrightblack",
    "completion-menu.meta.completion.current": "bg:default fg:ansicyan noreverse",
    "scrollbar.background": "bg:default",
    "scrollbar.button": "bg:ansibrightblack",
}
_PLAIN = {"bottom-toolbar": "noreverse", "completion-menu.completion.current": "reverse"}


class Prompt:
    """Reads lines. `footer` is called at each drawing with the width in columns; `dumb`: the cursor cannot be moved."""

    def __init__(
        self,
        *,
        history: History,
        keys: KeyBindings,
        completer: Completer,
        footer: Callable[[int], Fragments],
        color: bool = True,
        dumb: bool = False,
        keyboard: Input | None = None,
        output: Output | None = None,
    ) -> None:
        # prompt-toolkit has a prompt of its own for dumb terminals, for which nobody may name an output
        with create_app_session(output=PlainTextOutput(sys.stdout)) if dumb else nullcontext():
            self.session: PromptSession[str] = PromptSession(
                [("class:mark", MARK)],
                multiline=True,
                completer=completer,
                history=history,
                key_bindings=keys,
                search_ignore_case=True,
                enable_suspend=True,
                prompt_continuation=" " * len(MARK),
                reserve_space_for_menu=0,
                bottom_toolbar=lambda: [*footer(self.width)],
                tempfile_suffix=".md",
                style=Style.from_dict(_COLOURS if color else _PLAIN),
                color_depth=None if color else ColorDepth.DEPTH_1_BIT,
                input=keyboard,
                output=output,
            )
        app = self.session.app
        app.ttimeoutlen = 0.05
        app.timeoutlen = 0.3
        app.before_render += self._keep_room

    @property
    def input(self) -> Input:
        """Where keys come from."""
        return self.session.input

    @property
    def output(self) -> Output:
        """Where the line is drawn."""
        return self.session.output

    @property
    def width(self) -> int:
        """Columns of the terminal, now."""
        return self.session.output.get_size().columns

    @property
    def draft(self) -> str:
        """What stands in the line now."""
        return self.session.default_buffer.text

    async def read(self, draft: str = "") -> str | None:
        """One line, with `draft` in it to begin with; None when the user leaves.

        Raises what `end` was given.
        """
        try:
            return await self.session.prompt_async(default=draft, set_exception_handler=False)
        except (EOFError, KeyboardInterrupt):
            return None

    def end(self, error: Exception) -> bool:
        """End the reading: with EOFError as when the user leaves, else raising. False when nothing is being read."""
        app = self.session.app
        if not app.is_running or app.is_done:
            return False
        app.exit(exception=error)
        return True

    async def above(self, draw: Callable[[], None]) -> None:
        """Print something above the line; what is being typed stays as it is. Prints at once when nothing is read."""
        await run_in_terminal(draw)

    def redraw(self) -> None:
        """Draw footer and line again, soon."""
        self.session.app.invalidate()

    def once_drawn(self, do: Callable[[], object]) -> None:
        """Call `do` once, after the line was drawn for the first time."""
        drawn = False

        def first(app: Application[str]) -> None:  # it stays: taken out while called, its neighbour would be left out
            nonlocal drawn
            if not drawn:
                drawn = True
                do()

        self.session.app.after_render += first

    def on_key(self, do: Callable[[], None]) -> None:
        """Call `do` at each key."""
        self.session.app.key_processor.before_key_press += lambda processor: do()

    def on_typed(self, do: Callable[[], None]) -> None:
        """Call `do` when the line has changed and is not empty."""
        self.session.default_buffer.on_text_changed += lambda buffer: do() if buffer.text else None

    def _keep_room(self, app: Application[str]) -> None:
        """Room below the line only while a menu may open there: otherwise the footer stands right under it."""
        buffer = self.session.default_buffer
        menu = buffer.complete_state is not None or wants_menu(buffer.document.text_before_cursor)
        self.session.reserve_space_for_menu = MENU_ROWS if menu else 0
