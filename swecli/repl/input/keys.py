"""The keys of the prompt that are not an ordinary editor's."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
from collections.abc import Mapping

from prompt_toolkit.application import get_app
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, completion_is_selected, has_completions, has_focus, vi_insert_mode
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from swecli.config.paths import find_paths
from swecli.models.errors import BadInput
from swecli.repl.input.clipboard import clipboard_picture, pasted_picture
from swecli.repl.input.lines import Pastes
from swecli.repl.program import Program

_LEAVE_WITHIN = 2.0
_TYPING, _EMPTY = has_focus(DEFAULT_BUFFER), Condition(lambda: not get_app().current_buffer.text)
_EDITORS = ("editor", "nano", "pico", "vi", "emacs")


def make_keys(program: Program, pastes: Pastes, environ: Mapping[str, str]) -> KeyBindings:
    """The bindings; they win over prompt-toolkit's own."""
    keys = KeyBindings()
    _line_keys(keys)
    _paste_keys(keys, program, pastes, environ)
    _queue_keys(keys, program)
    _stopping_keys(keys, program)

    @keys.add("s-tab", filter=_TYPING & ~has_completions)
    def next_mode(event: KeyPressEvent) -> None:
        program.cycle_mode()

    idle = _EMPTY & Condition(lambda: not program.working)

    @keys.add("escape", "escape", filter=_TYPING & idle & ~has_completions & ~vi_insert_mode)
    def rewind(event: KeyPressEvent) -> None:
        program.submit("/rewind")

    @keys.add("c-o", filter=_TYPING)
    def expand(event: KeyPressEvent) -> None:
        program.expand_last()

    @keys.add("c-@")
    def ignore(event: KeyPressEvent) -> None:
        """NUL and Ctrl+Space: the editor would begin a selection, and drop each letter typed after it."""

    @keys.add("c-z")
    def suspend(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()

    @keys.add("c-g", filter=_TYPING)
    async def edit(event: KeyPressEvent) -> None:
        """Let the user's editor have the terminal; what is printed meanwhile comes after it."""
        buffer = event.app.current_buffer
        if _editor(environ) is None:
            program.hint("No editor found: set $EDITOR")
            return
        buffer.text = pastes.expand(buffer.text)
        with event.app.away():  # type: ignore[attr-defined]  # an InlineApplication
            await buffer.open_in_editor(validate_and_handle=False)

    return keys


def _stopping_keys(keys: KeyBindings, program: Program) -> None:
    """Ctrl-C takes away the draft, then the queue, then stops what runs; Esc only stops; Ctrl-D leaves."""

    def leave_at_second(key: str, what: str) -> None:
        hint = f"Press {key} again to quit{what}"
        if program.current_hint == hint:
            program.quit()
            return
        program.hint(hint)
        asyncio.get_running_loop().call_later(_LEAVE_WITHIN, program.hint, "")

    @keys.add("c-c", filter=_TYPING)
    @keys.add("<sigint>")
    def stop(event: KeyPressEvent) -> None:
        buffer = event.app.current_buffer
        if buffer.text:
            buffer.reset()
            if not program.working:
                leave_at_second("Ctrl+C", "")
        elif program.queue:
            program.queue.clear()
        elif program.working:
            program.interrupt()
        else:
            leave_at_second("Ctrl+C", "")

    @keys.add("c-d", filter=_TYPING & _EMPTY)
    def quit(event: KeyPressEvent) -> None:
        if program.working or program.queue:
            leave_at_second("Ctrl+D", " (stops what is running)" if program.working else " (drops the queued lines)")
        else:
            program.quit()

    @keys.add("escape", filter=_TYPING & has_completions)
    def close_menu(event: KeyPressEvent) -> None:
        event.app.current_buffer.cancel_completion()

    @keys.add("escape", filter=_TYPING & ~has_completions & ~vi_insert_mode & Condition(lambda: program.working))
    def interrupt(event: KeyPressEvent) -> None:
        program.interrupt()


def _queue_keys(keys: KeyBindings, program: Program) -> None:
    waiting = Condition(lambda: bool(program.queue))

    @keys.add("up", filter=_TYPING & _EMPTY & waiting)
    def pop_newest(event: KeyPressEvent) -> None:
        line = program.queue.pop_newest() or ""
        event.app.current_buffer.document = Document(line)

    @keys.add("enter", filter=_TYPING & _EMPTY & Condition(lambda: program.queue.held))
    def release(event: KeyPressEvent) -> None:
        program.queue.release()

    @keys.add("c-t", filter=_TYPING & ~_EMPTY)
    def steer(event: KeyPressEvent) -> None:
        buffer = event.app.current_buffer
        text = buffer.text
        buffer.append_to_history()
        buffer.reset()
        program.steer(text)


def _line_keys(keys: KeyBindings) -> None:
    @keys.add("enter", filter=_TYPING)
    def send(event: KeyPressEvent) -> None:
        buffer = event.app.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        elif buffer.text.strip():
            buffer.validate_and_handle()

    @keys.add("enter", filter=_TYPING & completion_is_selected)
    def take(event: KeyPressEvent) -> None:
        """A chosen file goes into the line; a chosen command is sent at once."""
        buffer = event.app.current_buffer
        buffer.complete_state = None
        if buffer.text.startswith("/"):
            buffer.validate_and_handle()
        elif not buffer.document.text_before_cursor.endswith("/"):
            buffer.insert_text(" ")

    @keys.add("escape", "enter", filter=_TYPING)
    @keys.add("c-j", filter=_TYPING)
    def new_line(event: KeyPressEvent) -> None:
        event.app.current_buffer.insert_text("\n")


def _paste_keys(keys: KeyBindings, program: Program, pastes: Pastes, environ: Mapping[str, str]) -> None:
    """Texts and pictures. Of a picture its size stands in the line; one that cannot be sent is named in the footer."""

    @keys.add(Keys.BracketedPaste, filter=_TYPING)
    @keys.add("c-v", filter=_TYPING)
    def paste(event: KeyPressEvent) -> None:
        text = event.data if event.key_sequence[0].key == Keys.BracketedPaste else ""
        try:
            path = pasted_picture(text) if text else clipboard_picture(find_paths(environ).cache / "pictures")
            inserted = pastes.take_picture(path) if path else pastes.take(text)
        except BadInput as error:
            inserted = pastes.take(text)
            program.hint(f"{error.message} {error.hint}".strip())
        event.app.current_buffer.insert_text(inserted)


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """The words of that editor's command line. Raises BadInput: there is none, or it cannot be read."""
    try:
        words = shlex.split(_editor(environ) or "")
    except ValueError as error:
        raise BadInput(f"$VISUAL or $EDITOR cannot be read: {error}.", "Set EDITOR to one of yours.") from error
    if not words:
        raise BadInput("No editor was found.", "Set EDITOR to one of yours.")
    return words


def _editor(environ: Mapping[str, str]) -> str | None:
    """The editor that Ctrl+G opens: $VISUAL, $EDITOR, or one that is usually there; None when there is none."""
    named = environ.get("VISUAL") or environ.get("EDITOR")
    return named or next((name for name in _EDITORS if shutil.which(name, path=environ.get("PATH", os.defpath))), None)
