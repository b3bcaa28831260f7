"""The keys of the prompt that are not an ordinary editor's."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping
from typing import Protocol

from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import completion_is_selected, has_completions, has_focus
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from swecli.repl.paste import Pastes

LEAVE_WITHIN = 2.0
_EDITORS = ("editor", "nano", "pico", "vi", "emacs")


class Desk(Protocol):
    """What the keys can do besides editing."""

    def cycle_mode(self) -> None:
        """Go on to the next permission mode."""

    def hint(self, text: str) -> None:
        """Show a line in place of the footer; "" takes it away."""


class TwiceToLeave:
    """Ctrl-C pressed twice within two seconds leaves. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last = float("-inf")

    def typed(self) -> None:
        """Something else was typed: the next press is a first one."""
        self._last = float("-inf")

    def press(self) -> bool:
        """Count a press; true when it is the second one."""
        now = self._clock()
        leaves = now - self._last <= LEAVE_WITHIN
        self._last = float("-inf") if leaves else now
        return leaves


def make_keys(
    desk: Desk,
    expand_last: Callable[[], None],
    pastes: Pastes,
    environ: Mapping[str, str],
    twice: TwiceToLeave,
) -> KeyBindings:
    """The bindings; they win over prompt-toolkit's own. `expand_last` prints the last tool's whole output."""
    keys = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)
    _line_keys(keys, pastes)

    @keys.add("c-c", filter=typing)
    @keys.add("<sigint>")
    def clear_or_leave(event: KeyPressEvent) -> None:
        buffer = event.app.current_buffer
        if twice.press():
            event.app.exit(exception=EOFError())
            return
        buffer.reset() if buffer.text else None
        desk.hint("Press Ctrl+C again to leave")
        asyncio.get_running_loop().call_later(LEAVE_WITHIN, desk.hint, "")

    @keys.add("s-tab", filter=typing & ~has_completions)
    def next_mode(event: KeyPressEvent) -> None:
        desk.cycle_mode()

    @keys.add("c-o", filter=typing)
    def expand(event: KeyPressEvent) -> None:
        run_in_terminal(expand_last)

    @keys.add("c-g", filter=typing)
    def edit(event: KeyPressEvent) -> None:
        buffer = event.app.current_buffer
        if editor(environ) is None:
            desk.hint("No editor found: set $EDITOR")
            return
        buffer.text = pastes.expand(buffer.text)
        buffer.open_in_editor(validate_and_handle=False)

    return keys


def _line_keys(keys: KeyBindings, pastes: Pastes) -> None:
    """Sending, new lines, the menu, pasting."""
    typing = has_focus(DEFAULT_BUFFER)

    @keys.add("enter", filter=typing)
    def send(event: KeyPressEvent) -> None:
        buffer = event.app.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("enter", filter=typing & completion_is_selected)
    def take(event: KeyPressEvent) -> None:
        """A chosen file goes into the line; a chosen command is sent at once."""
        buffer = event.app.current_buffer
        buffer.complete_state = None
        if buffer.text.startswith("/"):
            buffer.validate_and_handle()
        elif not buffer.document.text_before_cursor.endswith("/"):
            buffer.insert_text(" ")

    @keys.add("escape", filter=typing & has_completions)
    def close_menu(event: KeyPressEvent) -> None:
        event.app.current_buffer.cancel_completion()

    @keys.add("escape", "enter", filter=typing)
    @keys.add("c-j", filter=typing)
    def new_line(event: KeyPressEvent) -> None:
        event.app.current_buffer.insert_text("\n")

    @keys.add(Keys.BracketedPaste, filter=typing)
    def paste(event: KeyPressEvent) -> None:
        event.app.current_buffer.insert_text(pastes.take(event.data))


def editor(environ: Mapping[str, str]) -> str | None:
    """The editor that Ctrl+G opens: $VISUAL, $EDITOR, or one that is usually there; None when there is none."""
    named = environ.get("VISUAL") or environ.get("EDITOR")
    return named or next((name for name in _EDITORS if shutil.which(name, path=environ.get("PATH", os.defpath))), None)
