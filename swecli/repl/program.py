"""The interface of the REPL to its components; the submitted lines: their queue, and what each is; background work:
tasks (mostly learning) and daemon threads, started while the prompt stays usable."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

if TYPE_CHECKING:  # the prompt is drawn before these are loaded
    from swecli.agent.agent import Agent
    from swecli.models.events import Event
    from swecli.playbook.learning.service import LearningService
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

    def leaving_stops(self) -> str:
        """Return what quitting now would stop or drop, as words; "" for nothing."""

    def quit(self, code: int = 0) -> None:
        """End the program, and cancel the running line."""

    def unfold(self) -> None:
        """Print what was folded last, then all of the turn, then fold again."""

    def set_draft(self, text: str) -> None:
        """Set the text of the input line."""

    def report(self, error: BaseException | str) -> None:
        """Print an error in one line."""

    def start_learning(self, interaction: int) -> None:
        """Learn from a finished turn, and start its title in the background."""

    def start_reflecting(self) -> None:
        """Start reflecting, in the background, on the turns to which the query of the running turn is the reaction."""

    def show(self, event: Event) -> None:
        """Draw an event above the prompt, and update the footer from it."""

    def background_changed(self) -> None:
        """Update the footer after a line or a background task started or ended."""


CLOSE_TIMEOUT = 0.5  # seconds that tasks get to stop when the program ends


class Background:
    """The background tasks of one program. Reflections run one at a time."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._tasks: set[asyncio.Task[None]] = set()
        self._reflecting = asyncio.Lock()
        self._deferred: list[Event] = []

    @property
    def busy(self) -> bool:
        return bool(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)
        self._program.background_changed()

    async def drain(self) -> None:
        """Wait until all tasks are done. Cancelling the wait does not cancel the tasks."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def cancel(self, timeout: float | None = None) -> int:
        """Cancel the running tasks, wait at most `timeout` seconds for them to stop, and return their number."""
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=timeout)
        return len(tasks)

    def learn(self, learning: LearningService, interaction: int) -> None:
        """Learn from a finished turn by the rules, before the next request is built. The model is asked when the user
        has reacted: see `react`."""
        self.show(learning.after_turn(interaction).events)

    def react(self, learning: LearningService, due: Sequence[int] | None = None) -> None:
        """Ask the model, in a task, about the turns `due`: by default those to which the newest query reacts."""
        numbers = learning.due() if due is None else due
        if numbers:
            self.start(self._reflect(learning, numbers))

    def pop_deferred(self) -> list[Event]:
        """Return and clear the events that were deferred while a turn was running."""
        events, self._deferred = self._deferred, []
        return events

    async def _reflect(self, learning: LearningService, numbers: Sequence[int]) -> None:
        async with self._reflecting:
            events = await learning.reflect(*numbers, asked=True)
        self.show(events)

    async def reflect_pending(self, learning: LearningService) -> None:
        """Check the anchors, and reflect on turns that earlier runs left."""
        pending = await asyncio.to_thread(
            learning.pending_by_session
        )  # its first queries are compiled for 20 ms
        self.show(await learning.check_anchors())
        await self._resume(learning, pending)
        await self._consolidate(learning)

    async def reflect_ended(self, learning: LearningService) -> None:
        """Reflect on the turns of sessions that were left."""
        await self._resume(learning, await asyncio.to_thread(learning.pending_by_session))
        await self._consolidate(learning)

    async def _consolidate(self, learning: LearningService) -> None:
        """Tidy the playbook after the session that was left; what it found concerns the whole project."""
        async with self._reflecting:
            events = await learning.consolidate()
        self.show(events)

    async def _resume(
        self, learning: LearningService, pending: Iterable[tuple[str, Sequence[int]]]
    ) -> None:
        """Reflect on pending turns; a new turn waits for one request at most."""
        for session_id, numbers in pending:
            async with self._reflecting:
                events = await learning.resume(session_id, numbers)
            self.show(events)

    def show(self, events: Sequence[Event]) -> None:
        """Show events, or defer them until the running turn is done."""
        for event in events:
            if self._program.working:
                self._deferred.append(event)
            else:
                self._program.show(event)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._program.background_changed()
        if not task.cancelled() and (error := task.exception()) is not None:
            if not isinstance(error, Exception):
                raise error
            self._program.report(error)


_Result = TypeVar("_Result")


def run_in_thread(work: Callable[[], _Result], name: str) -> asyncio.Future[_Result]:
    """Run `work` in a daemon thread and return a future of the running loop with its result or exception. Await it
    through `asyncio.shield` to keep it when the waiter is cancelled; the thread itself cannot be stopped."""
    done: Future[_Result] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised where the future is awaited
            done.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    future = asyncio.wrap_future(done)
    future.add_done_callback(
        lambda done: done.cancelled() or done.exception()
    )  # retrieved, even if nobody waits
    return future
