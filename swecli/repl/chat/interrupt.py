"""The keyboard while there is no prompt: Esc and Ctrl-C interrupt, everything else is kept for the next prompt."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any

from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output

# a lone Esc looks like the beginning of an arrow key until nothing has followed it for so long (seconds)
ESCAPE_WAIT = 0.05
AGAIN_AFTER = 1.0
_NOT_TYPED = (Keys.CPRResponse, Keys.Ignore, Keys.Vt100MouseEvent)


class TurnKeys:
    """Holds the terminal in raw mode while work goes on; enter it as a context manager in a running loop.

    `interrupt` is called, in the loop, for Esc, Ctrl-C, SIGINT, and when the terminal went away.
    """

    def __init__(self, keyboard: Input, output: Output, interrupt: Callable[[], None]) -> None:
        self._input, self._output, self._interrupt = keyboard, output, interrupt
        self._held: ExitStack | None = None
        self._flush: asyncio.TimerHandle | None = None

    def __enter__(self) -> TurnKeys:
        self._hold()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._release()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """The terminal is someone else's: a dialog's, that reads keys itself.

        Keys typed before the dialog was seen are not its answer: they wait for the next prompt.
        """
        if self._held is None:
            yield
            return
        self._release()
        waiting = get_typeahead(self._input)
        try:
            yield
        finally:
            store_typeahead(self._input, [*waiting, *get_typeahead(self._input)])
            self._hold()

    def _hold(self) -> None:
        with ExitStack() as stack:
            stack.enter_context(self._input.raw_mode())
            stack.enter_context(self._input.attach(self._read))
            stack.enter_context(_on_sigint(self._interrupt))
            self._output.enable_bracketed_paste()  # a paste of several lines is one thing, not several lines sent
            self._output.flush()
            stack.callback(self._output.flush)
            stack.callback(self._output.disable_bracketed_paste)
            self._held = stack.pop_all()

    def _release(self) -> None:
        if self._flush is not None:
            self._flush.cancel()
        if self._held is not None:
            self._take([*self._input.read_keys(), *self._input.flush_keys()])
            self._held.close()
            self._held = None

    def _read(self) -> None:
        self._take(self._input.read_keys())
        if self._flush is not None:
            self._flush.cancel()
        self._flush = asyncio.get_running_loop().call_later(ESCAPE_WAIT, lambda: self._take(self._input.flush_keys()))
        if self._input.closed:
            self._interrupt()

    def _take(self, keys: list[KeyPress]) -> None:
        kept: list[KeyPress] = []
        for place, press in enumerate(keys):
            following = keys[place + 1].key if place + 1 < len(keys) else None
            # Esc with another key right behind it is that key with Alt, for the prompt
            if press.key is Keys.ControlC or (press.key is Keys.Escape and following in (None, Keys.Escape)):
                self._interrupt()
            elif press.key is Keys.ControlZ:
                self._suspend()
            elif press.key not in _NOT_TYPED:
                kept.append(press)
        store_typeahead(self._input, kept)

    def _suspend(self) -> None:
        """Ctrl-Z: give the terminal back as it was, stop, and take it again when continued."""
        held, self._held = self._held, None
        if held is None or not hasattr(signal, "SIGTSTP"):
            return
        held.close()
        os.kill(os.getpid(), signal.SIGTSTP)
        self._hold()


@contextmanager
def _on_sigint(interrupt: Callable[[], None]) -> Iterator[None]:
    """Answer SIGINT too (from `kill`, or typed while the terminal is not raw); the old handler comes back."""
    loop = asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGINT)
    try:
        loop.add_signal_handler(signal.SIGINT, interrupt)
    except (ValueError, RuntimeError, NotImplementedError):  # not the main thread
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        if before is not None:
            signal.signal(signal.SIGINT, before)


class Work:
    """Runs one thing at a time, so that the user can interrupt it from the keyboard."""

    def __init__(self, keyboard: Input, output: Output) -> None:
        self._input, self._output = keyboard, output
        self._task: asyncio.Task[None] | None = None
        self._keys: TurnKeys | None = None
        self._asked = float("-inf")

    @property
    def busy(self) -> bool:
        """Whether something runs, and the terminal is its."""
        return self._task is not None

    async def run(self, work: Coroutine[Any, Any, None]) -> bool:
        """Do it; false when it was interrupted. Raises what it raises."""
        self._task = task = asyncio.get_running_loop().create_task(work)
        self._asked = float("-inf")
        try:
            with TurnKeys(self._input, self._output, self.interrupt) as self._keys:
                await asyncio.wait([task])
        finally:
            self._task = self._keys = None
            task.cancel()  # only where the wait itself was cancelled: the program is ending
        if task.cancelled():
            return False
        task.result()
        return True

    def interrupt(self) -> None:
        """Cancel what runs. Pressed again and again it counts once a second: tidying up must not be cut short."""
        if self._task is None:
            return
        now = asyncio.get_running_loop().time()
        if now - self._asked >= AGAIN_AFTER:
            self._asked = now
            self._task.cancel()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """The keyboard is a dialog's for a while."""
        if self._keys is None:
            yield
            return
        with self._keys.lent():
            yield
