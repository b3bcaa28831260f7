"""Key bindings of the prompt beyond those of prompt-toolkit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from prompt_toolkit.application import Application, get_app, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import (
    Always,
    Condition,
    Filter,
    completion_is_selected,
    has_completions,
    has_focus,
    is_searching,
    vi_insert_mode,
)
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.bindings import search
from prompt_toolkit.key_binding.bindings.named_commands import get_by_name
from prompt_toolkit.key_binding.key_bindings import KeyHandlerCallable
from prompt_toolkit.keys import Keys

from swecli.actions.editor import edit_text
from swecli.models.errors import BadInput
from swecli.repl.input.buffer import LineBuffer
from swecli.repl.input.clipboard_picture import find_dropped_pictures, save_clipboard_picture
from swecli.repl.input.history import MAX_LINE, LineHistory
from swecli.repl.key_map import KeyMap
from swecli.repl.program import Program

_QUIT_TIMEOUT = 2.0  # seconds for the second key press


_ALWAYS = Always()
_TYPING = has_focus(DEFAULT_BUFFER)
_EMPTY = Condition(lambda: not get_app().current_buffer.text)
_ENTER = ("c-m",)  # a key that prompt-toolkit needs for itself: it begins a line
_ESCAPE = ("escape",)
# actions that prompt-toolkit has by itself: its command, and when it can be given
_BUILT_IN: dict[str, tuple[str, Filter]] = {
    "complete": ("menu-complete", _TYPING & ~_EMPTY),
    "redraw": ("clear-screen", _ALWAYS),
}
# they hold a terminal's output elsewhere; prompt-toolkit begins a search and quotes the next key
_HARMLESS = ("c-s", "c-q")
_CUT_PASTE = (
    "Not sent: part of a paste's mark is missing. Undo that, or delete the rest of the mark."
)


class _ActionKeys:
    """Binds handlers to the keys of actions; they override prompt-toolkit's own."""

    def __init__(self, key_map: KeyMap) -> None:
        self.bindings = KeyBindings()
        self.key_map = key_map

    def bind(
        self, action: str, condition: Filter
    ) -> Callable[[KeyHandlerCallable], KeyHandlerCallable]:
        """Return a decorator that binds a handler to each key of an action."""

        def add(handler: KeyHandlerCallable) -> KeyHandlerCallable:
            for key in self.key_map.keys_of(action):
                self.bindings.add(*key, filter=condition)(handler)
            return handler

        return add

    def add_moved(self) -> None:
        """Bind the actions that prompt-toolkit has by itself to the keys that the user chose for them. A Ctrl key that
        has lost its action does nothing."""
        for key in self.key_map.freed:
            if key[0].startswith("c-") and key != _ENTER:
                self.bindings.add(*key, filter=_TYPING)(lambda _: None)
        for action, (command, condition) in _BUILT_IN.items():
            if not self.key_map.is_default(action):
                self.bind(action, condition)(get_by_name(command).handler)
        if not self.key_map.is_default("history_search"):
            self.bind("history_search", _TYPING)(search.start_reverse_incremental_search.handler)
            self.bind("history_search", is_searching)(search.reverse_incremental_search.handler)


def make_keys(
    program: Program, history: LineHistory, environ: Mapping[str, str], key_map: KeyMap
) -> KeyBindings:
    """Return the bindings; they override prompt-toolkit's own."""
    keys = _ActionKeys(key_map)
    keys.bindings.add("c-@")(_do_nothing)
    for key in _HARMLESS:
        keys.bindings.add(key, filter=_TYPING)(_do_nothing)
    keys.add_moved()
    _add_enter_keys(keys, program)
    _add_paste_keys(keys, program, history)
    _add_stop_keys(keys, program)
    _add_interrupt_keys(keys, program)
    has_queue = Condition(lambda: bool(program.queue))

    keys.bind("next_mode", _TYPING & ~has_completions)(lambda _: program.footer.cycle_mode())
    keys.bind("expand", _TYPING)(lambda _: program.unfold())
    keys.bind("left_turns", _TYPING)(lambda _: program.submit("/window left"))
    keys.bind("suspend", _ALWAYS)(lambda event: event.app.suspend_to_background())

    @keys.bind("edit_queued", _TYPING & _EMPTY & has_queue)
    def edit_queued(event: KeyPressEvent) -> None:
        event.app.current_buffer.document = Document(program.queue.pop_newest() or "")

    @keys.bind("steer", _TYPING & ~_EMPTY)
    def steer(event: KeyPressEvent) -> None:
        buffer = event.app.current_buffer
        text = buffer.text
        if _can_send(buffer, program):
            buffer.reset(append_to_history=True)
            program.steer(text)

    @keys.bind("editor", _TYPING)
    async def edit(event: KeyPressEvent) -> None:
        buffer = event.app.current_buffer
        draft = history.pastes.expand(buffer.text)
        try:
            with event.app.suspended():  # type: ignore[attr-defined]  # an InlineApplication
                edited = await run_in_terminal(lambda: edit_text(environ, draft), in_executor=True)
        except BadInput as error:
            program.footer.hint = f"{error.message} {error.hint}".strip()
            event.app.invalidate()
            return
        if len(edited) > MAX_LINE:
            edited = history.pastes.add_text(edited)
        buffer.document = Document(edited)

    return keys.bindings


def _do_nothing(event: KeyPressEvent) -> None:
    """Leave a key without an effect. At NUL and Ctrl+Space prompt-toolkit begins a selection, which the next letter
    would replace."""


def _add_interrupt_keys(keys: _ActionKeys, program: Program) -> None:
    """Bind what Esc does: it closes the menu, else it interrupts, else twice it goes back to before a turn."""
    is_free = _TYPING & ~has_completions
    is_working = Condition(lambda: program.working)

    @keys.bindings.add("escape", filter=_TYPING & has_completions)
    def close_menu(event: KeyPressEvent) -> None:
        event.app.current_buffer.cancel_completion()

    for action, condition, handler in (
        ("interrupt", is_working, lambda _: program.interrupt()),
        ("rewind", _EMPTY & ~is_working, lambda _: program.submit("/rewind")),
    ):
        for key in keys.key_map.keys_of(action):
            needs_esc = key[0] == "escape"  # with which vi leaves the insert mode
            is_vi_free = ~vi_insert_mode if needs_esc else _ALWAYS
            keys.bindings.add(*key, filter=is_free & is_vi_free & condition)(handler)

    def interrupt_and_type(event: KeyPressEvent) -> None:
        program.interrupt()
        event.current_buffer.insert_text(event.data)

    if _ESCAPE in keys.key_map.keys_of("interrupt"):
        for digit in "123456789":  # a numbered list typed right after Esc is no Alt key
            keys.bindings.add("escape", digit, filter=is_free & ~vi_insert_mode & is_working)(
                interrupt_and_type
            )


def _add_stop_keys(keys: _ActionKeys, program: Program) -> None:
    """`stop` clears the draft, else the queue, else interrupts or quits; `quit` quits."""

    def confirm_quit(action: str, consequence: str = "") -> None:
        key = keys.key_map.hint(action, "again") or "Ctrl+C again"
        hint = f"Press {key} to quit{consequence}"
        if program.footer.hint == hint:
            program.quit()
            return
        program.footer.hint = hint
        asyncio.get_running_loop().call_later(_QUIT_TIMEOUT, remove_hint, get_app())

    def remove_hint(app: Application[object]) -> None:
        program.footer.hint = ""
        app.invalidate()

    @keys.bind("stop", _TYPING)
    @keys.bindings.add("<sigint>")
    def stop(event: KeyPressEvent) -> None:
        buffer = event.app.current_buffer
        if buffer.text:
            buffer.reset(append_to_history=True)
            if not program.working:
                confirm_quit("stop")
        elif program.queue:
            program.queue.clear()
        elif program.working:
            program.interrupt()
        else:
            confirm_quit("stop")

    @keys.bind("quit", _TYPING & _EMPTY)
    def quit(event: KeyPressEvent) -> None:
        if stops := program.leaving_stops():
            confirm_quit("quit", f" ({stops})")
        else:
            program.leave()


def _add_enter_keys(keys: _ActionKeys, program: Program) -> None:
    is_held = Condition(lambda: program.queue.is_held)

    @keys.bind("newline", _TYPING)
    def begin_line(event: KeyPressEvent) -> None:
        event.app.current_buffer.insert_text("\n")

    @keys.bind("send", _TYPING)
    def send(event: KeyPressEvent) -> None:
        buffer = event.app.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        elif buffer.text.strip() and _can_send(buffer, program):
            buffer.validate_and_handle()

    @keys.bind("send", _TYPING & completion_is_selected)
    def accept_completion(event: KeyPressEvent) -> None:
        """Send the line with the completion; after a folder, go on with what is in it."""
        buffer = event.app.current_buffer
        buffer.complete_state = None
        is_folder = buffer.document.text_before_cursor.endswith(("/", '/"'))
        if not is_folder and _can_send(buffer, program):
            buffer.validate_and_handle()

    keys.bind("send", _TYPING & _EMPTY & is_held)(lambda _: program.queue.release())


def _can_send(buffer: Buffer, program: Program) -> bool:
    """Return True if the line may be sent; else the footer has the reason, or the user has not read the line yet."""
    if not isinstance(buffer, LineBuffer):
        return True
    if buffer.has_cut_paste:
        program.footer.hint = _CUT_PASTE
        return False
    return not buffer.is_unread


def _add_paste_keys(keys: _ActionKeys, program: Program, history: LineHistory) -> None:
    """Paste texts and pictures; the reason why a picture cannot be pasted is shown in the footer."""

    @keys.bind("paste_picture", _TYPING)
    @keys.bindings.add(Keys.BracketedPaste, filter=_TYPING)
    def paste(event: KeyPressEvent) -> None:
        pastes = history.pastes
        is_text = event.key_sequence[0].key == Keys.BracketedPaste
        text = event.data if is_text else ""
        try:
            pictures = find_dropped_pictures(text) if text else [save_clipboard_picture()]
            placeholders = [pastes.add_picture(picture) for picture in pictures]
            inserted = " ".join(placeholders) or pastes.add_text(text)
        except BadInput as error:
            inserted = pastes.add_text(text)
            program.footer.hint = f"{error.message} {error.hint}".strip()
        event.app.current_buffer.insert_text(inserted)
