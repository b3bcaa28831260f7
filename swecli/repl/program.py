"""The interface of the REPL to its components, and the submitted lines: their queue, and what each is."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:  # the prompt is drawn before these are loaded
    from swecli.agent.agent import Agent
    from swecli.models.events import Event
    from swecli.repl.footer import Footer
    from swecli.repl.render.renderer import Renderer
    from swecli.store.session_manager import SessionManager


_LineKind = Literal["empty", "command", "shell", "leave", "text"]

_EXIT_WORDS = frozenset({"exit", "quit", ":q"})
# The first word starts with a slash and contains no second one: `/usr/bin` and `/* note */` are text.
_COMMAND = re.compile(r"/(?P<name>[A-Za-z?][^\s/]*)?(?:\s+(?P<args>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """A parsed line: `name` of a command without its slash, `text` the arguments, the shell line or the query.

    `shared`: the model gets the output of the shell line.
    """

    kind: _LineKind
    text: str = ""
    name: str = ""
    shared: bool = False


def parse_line(typed: str) -> ParsedLine:
    """Parse a typed line. A lone `/` is the command `help`; a query keeps its inner whitespace."""
    text = typed.strip()
    if not text:
        return ParsedLine("empty")
    if text in _EXIT_WORDS:
        return ParsedLine("leave")
    if text.startswith("!!"):
        return ParsedLine("shell", text[2:].strip())
    if text.startswith("!"):
        return ParsedLine("shell", text[1:].strip(), shared=True)
    if match := _COMMAND.fullmatch(text):
        return ParsedLine("command", (match["args"] or "").strip(), name=match["name"] or "help")
    return ParsedLine("text", text)


class LineQueue:
    """A FIFO queue of lines. After an interrupt it is `held`: queued lines wait for `release`, new lines go first."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self._lines = list(lines)
        self._fresh = 0  # number of lines at the front that were sent while the rest is held
        self._changed = asyncio.Event()
        self.idle = asyncio.Event()  # set while `get` waits
        self.held = False

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self._lines)

    def put(self, line: str) -> None:
        """Append a line, before held lines if there are any."""
        if self.held:
            self._lines.insert(self._fresh, line)
            self._fresh += 1
        else:
            self._lines.append(line)
        self.idle.clear()
        self._changed.set()

    def pop_newest(self) -> str | None:
        """Remove and return the newest line to edit it; None if the queue is empty. Lines before held ones stay."""
        line = self._lines.pop() if len(self._lines) > self._fresh else None
        if len(self._lines) == self._fresh:
            self.release()
        return line

    def clear(self) -> None:
        self._lines.clear()
        self.release()

    def hold(self) -> None:
        """Hold the queued lines until `release`."""
        self.held, self._fresh = bool(self._lines), 0

    def release(self) -> None:
        self.held, self._fresh = False, 0
        self._changed.set()

    async def get(self) -> str:
        """Wait for a line that is not held, and remove and return the oldest one."""
        while not (self._fresh if self.held else self._lines):
            self._changed.clear()
            self.idle.set()
            await self._changed.wait()
        self.idle.clear()
        self._fresh = max(0, self._fresh - 1)
        return self._lines.pop(0)


class Program(Protocol):
    """The running program. `queue` holds the lines that were sent and are not yet running; `session_manager`, `agent`
    and `renderer` are set once `start_loading` is done."""

    queue: LineQueue
    footer: Footer
    session_manager: SessionManager
    agent: Agent
    renderer: Renderer

    @property
    def working(self) -> bool:
        """Return whether a line is running, which Esc interrupts."""

    def start_loading(self) -> asyncio.Future[None]:
        """Load the slow components, once. The future is done when lines can run."""

    def submit(self, typed: str) -> None:
        """Accept a line that was sent, with its pastes still collapsed."""

    def interrupt(self) -> None:
        """Interrupt the running line, and hold the queue."""

    def steer(self, text: str) -> None:
        """Send a line to the running turn, or queue it."""

    def quit(self, code: int = 0) -> None:
        """End the program, and cancel the running line."""

    def expand_last(self) -> None:
        """Print the full output of the last tool."""

    def set_draft(self, text: str) -> None:
        """Set the text of the input line."""

    def report(self, error: BaseException | str) -> None:
        """Print an error in one line."""

    def start_learning(self, interaction: int) -> None:
        """Start learning from a finished turn in the background."""

    def show(self, event: Event) -> None:
        """Draw an event above the prompt, and update the footer from it."""

    def background_changed(self) -> None:
        """Update the footer after a line or a background task started or ended."""
