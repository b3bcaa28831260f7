"""Key bindings of the prompt beyond those of prompt-toolkit; the user's editor."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
from collections.abc import Callable, Mapping

from prompt_toolkit.application import get_app
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, Filter, completion_is_selected, has_completions, has_focus, vi_insert_mode
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from swecli.config.paths import find_paths
from swecli.models.errors import BadInput
from swecli.repl.input.pastes import Pastes, parse_picture_path, save_clipboard_picture
from swecli.repl.program import Program

_QUIT_TIMEOUT = 2.0  # seconds for the second key press
_TYPING, _EMPTY = has_focus(DEFAULT_BUFFER), Condition(lambda: not get_app().current_buffer.text)
_EDITORS = ("editor", "nano", "pico", "vi", "emacs")


def make_keys(program: Program, pastes: Pastes, environ: Mapping[str, str]) -> KeyBindings:
    """Return the bindings; they override prompt-toolkit's own."""
    keys = KeyBindings()
    _add_enter_keys(keys)
    _add_paste_keys(keys, program, pastes, environ)
    _add_stop_keys(keys, program)
    is_working, has_queue = Condition(lambda: program.working), Condition(lambda: bool(program.queue))
    is_held, is_escape = Condition(lambda: program.queue.held), _TYPING & ~has_completions & ~vi_insert_mode
    simple_keys: list[tuple[tuple[str, ...], Filter | bool, Callable[[KeyPressEvent], None]]] = [
        (("s-tab",), _TYPING & ~has_completions, lambda _: program.cycle_mode()),
        (("c-o",), _TYPING, lambda _: program.expand_last()),
        (("c-z",), True, lambda event: event.app.suspend_to_background()),
        (("c-@",), True, lambda _: None),  # NUL, Ctrl+Space: a selection, which the next letter would replace
        (("escape",), _TYPING & has_completions, lambda event: event.app.current_buffer.cancel_completion()),
        (("escape",), is_escape & is_working, lambda _: program.interrupt()),
        (("escape", "escape"), is_escape & _EMPTY & ~is_working, lambda _: program.submit("/rewind")),
        (("escape", "enter"), _TYPING, lambda event: event.app.current_buffer.insert_text("\n")),
        (("c-j",), _TYPING, lambda event: event.app.current_buffer.insert_text("\n")),
        (("enter",), _TYPING & _EMPTY & is_held, lambda _: program.queue.release()),
    ]
    for sequence, condition, handler in simple_keys:
        keys.add(*sequence, filter=condition)(handler)

    @keys.add("up", filter=_TYPING & _EMPTY & has_queue)
    def edit_queued(event: KeyPressEvent) -> None:
        event.app.current_buffer.document = Document(program.queue.pop_newest() or "")

    @keys.add("c-t", filter=_TYPING & ~_EMPTY)
    def steer(event: KeyPressEvent) -> None:
        buffer, text = event.app.current_buffer, event.app.current_buffer.text
        buffer.append_to_history()
        buffer.reset()
        program.steer(text)

    @keys.add("c-g", filter=_TYPING)
    async def edit(event: KeyPressEvent) -> None:
        buffer = event.app.current_buffer
        if _find_editor(environ) is None:
            program.hint("No editor found: set $EDITOR")
            return
        buffer.text = pastes.expand(buffer.text)
        with event.app.suspended():  # type: ignore[attr-defined]  # an InlineApplication
            await buffer.open_in_editor(validate_and_handle=False)

    return keys


def _add_stop_keys(keys: KeyBindings, program: Program) -> None:
    """Ctrl+C clears the draft, else the queue, else interrupts or quits; Ctrl+D quits."""

    def confirm_quit(key: str, consequence: str = "") -> None:
        hint = f"Press {key} again to quit{consequence}"
        if program.current_hint == hint:
            program.quit()
            return
        program.hint(hint)
        asyncio.get_running_loop().call_later(_QUIT_TIMEOUT, program.hint, "")

    @keys.add("c-c", filter=_TYPING)
    @keys.add("<sigint>")
    def stop(event: KeyPressEvent) -> None:
        buffer = event.app.current_buffer
        if buffer.text:
            buffer.reset()
            if not program.working:
                confirm_quit("Ctrl+C")
        elif program.queue:
            program.queue.clear()
        elif program.working:
            program.interrupt()
        else:
            confirm_quit("Ctrl+C")

    @keys.add("c-d", filter=_TYPING & _EMPTY)
    def quit(event: KeyPressEvent) -> None:
        if program.working or program.queue:
            confirm_quit("Ctrl+D", " (stops what is running)" if program.working else " (drops the queued lines)")
        else:
            program.quit()


def _add_enter_keys(keys: KeyBindings) -> None:
    @keys.add("enter", filter=_TYPING)
    def send(event: KeyPressEvent) -> None:
        buffer = event.app.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        elif buffer.text.strip():
            buffer.validate_and_handle()

    @keys.add("enter", filter=_TYPING & completion_is_selected)
    def accept_completion(event: KeyPressEvent) -> None:
        """Insert a file; send a command."""
        buffer = event.app.current_buffer
        buffer.complete_state = None
        if buffer.text.startswith("/"):
            buffer.validate_and_handle()
        elif not buffer.document.text_before_cursor.endswith("/"):
            buffer.insert_text(" ")


def _add_paste_keys(keys: KeyBindings, program: Program, pastes: Pastes, environ: Mapping[str, str]) -> None:
    """Paste texts and pictures; the reason why a picture cannot be pasted is shown in the footer."""

    @keys.add(Keys.BracketedPaste, filter=_TYPING)
    @keys.add("c-v", filter=_TYPING)
    def paste(event: KeyPressEvent) -> None:
        text = event.data if event.key_sequence[0].key == Keys.BracketedPaste else ""
        try:
            path = parse_picture_path(text) if text else save_clipboard_picture(find_paths(environ).cache / "pictures")
            inserted = pastes.add_picture(path) if path else pastes.add_text(text)
        except BadInput as error:
            inserted = pastes.add_text(text)
            program.hint(f"{error.message} {error.hint}".strip())
        event.app.current_buffer.insert_text(inserted)


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """Return the command line of the user's editor. Raises BadInput if there is none or it cannot be parsed."""
    try:
        words = shlex.split(_find_editor(environ) or "")
    except ValueError as error:
        raise BadInput(f"$VISUAL or $EDITOR cannot be parsed: {error}.", "Set EDITOR to your editor.") from error
    if not words:
        raise BadInput("No editor was found.", "Set EDITOR to your editor.")
    return words


def _find_editor(environ: Mapping[str, str]) -> str | None:
    """Return $VISUAL, $EDITOR or a common editor, as prompt-toolkit does; None if there is none."""
    named = environ.get("VISUAL") or environ.get("EDITOR")
    return named or next((name for name in _EDITORS if shutil.which(name, path=environ.get("PATH", os.defpath))), None)
