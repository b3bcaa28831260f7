"""What the parts of the REPL ask of it: keys, lines, commands, turns and the work behind the prompt; the line queue."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # the prompt is drawn before these are loaded
    from swecli.agent.agent import Agent
    from swecli.models.events import Event
    from swecli.repl.render.renderer import Renderer
    from swecli.repl.render.terminal_features import Theme
    from swecli.store.session_manager import SessionManager


class LineQueue:
    """First in, first out. `held`: what was queued before an interrupt stays until `release`; new lines go first."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self._lines = list(lines)
        self._fresh = 0  # how many, the first ones, were sent since the others are held
        self._changed = asyncio.Event()
        self.idle = asyncio.Event()  # set while somebody waits for a line and there is none
        self.held = False

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def lines(self) -> tuple[str, ...]:
        """What waits, oldest first."""
        return tuple(self._lines)

    def put(self, line: str) -> None:
        """Append a line."""
        if self.held:
            self._lines.insert(self._fresh, line)
            self._fresh += 1
        else:
            self._lines.append(line)
        self.idle.clear()
        self._changed.set()

    def pop_newest(self) -> str | None:
        """Remove the newest line that is not ahead of held ones, to be edited; None when there is none."""
        line = self._lines.pop() if len(self._lines) > self._fresh else None
        if len(self._lines) == self._fresh:
            self.release()
        return line

    def clear(self) -> None:
        """Remove all."""
        self._lines.clear()
        self.release()

    def hold(self) -> None:
        """Keep what waits until `release`; does nothing when nothing waits."""
        self.held, self._fresh = bool(self._lines), 0

    def release(self) -> None:
        """Go on."""
        self.held, self._fresh = False, 0
        self._changed.set()

    async def get(self) -> str:
        """The oldest line, as soon as there is one that is not held."""
        while not (self._fresh if self.held else self._lines):
            self._changed.clear()
            self.idle.set()
            await self._changed.wait()
        self.idle.clear()
        self._fresh = max(0, self._fresh - 1)
        return self._lines.pop(0)


class Program(Protocol):
    """The running program. What only the loaded one has may be asked for once `start_loading` is done."""

    queue: LineQueue
    """The lines that were sent and not begun."""
    theme: Theme
    """The colours on the screen."""

    @property
    def session_manager(self) -> SessionManager:
        """The store, once loaded."""

    @property
    def agent(self) -> Agent:
        """What runs turns, once loaded."""

    @property
    def renderer(self) -> Renderer:
        """What draws events, once loaded."""

    @property
    def working(self) -> bool:
        """Whether something runs in the foreground, which Esc interrupts."""

    def start_loading(self) -> asyncio.Future[None]:
        """Load what is slow, once; what is waited for before a line can be done."""

    def key_pressed(self) -> None:
        """Let keys go before loading."""

    def submit(self, typed: str) -> None:
        """Take a line that was sent, its pastes not written out yet."""

    def line_done(self, seconds: float) -> None:
        """A line was done: draw what had to wait for its end, and notify where it took long (0: not wanted)."""

    def interrupt(self) -> None:
        """Stop what runs; the queue is held."""

    def steer(self, text: str) -> None:
        """Put a line into the running turn; without one it is the next line."""

    def quit(self, code: int = 0) -> None:
        """End the program; what runs is stopped."""

    def expand_last(self) -> None:
        """Print the last tool's whole output."""

    def set_draft(self, text: str) -> None:
        """Put a text into the input line."""

    def cycle_mode(self) -> None:
        """Go on to the next permission mode."""

    @property
    def current_hint(self) -> str:
        """The line that stands in place of the footer; "" for none."""

    def hint(self, text: str) -> None:
        """Show a line in place of the footer; "" takes it away."""

    def report(self, error: BaseException | str) -> None:
        """Print what went wrong in a line."""

    def start_learning(self, interaction: int) -> None:
        """Reflect on a finished turn behind the prompt."""

    def show(self, event: Event) -> None:
        """Draw an event above the prompt, and what of it the footer shows."""

    def background_changed(self) -> None:
        """Work behind the prompt began or ended."""
