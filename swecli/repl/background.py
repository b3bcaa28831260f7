"""Background work while the prompt stays usable: tasks, mostly learning, and daemon threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:  # the prompt is drawn before these are loaded
    from swecli.models.events import Event
    from swecli.playbook.learning.service import LearningService
    from swecli.repl.program import Program

CLOSE_TIMEOUT = 0.5  # seconds that tasks get to stop when the program ends


class Background:
    """The background tasks of one program. Reflections run one at a time."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._tasks: set[asyncio.Task[None]] = set()
        self._commands: list[asyncio.Task[None]] = []  # of the tasks, the oldest first
        self._reflection_lock = asyncio.Lock()
        self._deferred: list[Event] = []

    @property
    def busy(self) -> bool:
        """Whether anything but commands runs."""
        return len(self._tasks) > len(self._commands)

    @property
    def runs_commands(self) -> bool:
        """Whether commands run beside the line that runs, or outlast it."""
        return bool(self._commands)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        self._start(work)

    def start_command(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a command beside the line that runs; `cancel_command` stops it."""
        self._commands.append(self._start(work))
        self._program.background_changed()

    def cancel_command(self) -> bool:
        """Cancel the command that was started last. Returns whether there was one."""
        if self._commands:
            self._commands[-1].cancel()
        return bool(self._commands)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)
        self._program.background_changed()
        return task

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
        """Learn from a finished turn by the rules, before the next request is built, and, in a task, by the model from
        those before it: their reaction is complete."""
        self.show(learning.after_turn(interaction).events)
        if due_turns := learning.due_turns():
            self.start(self._reflect(learning, due_turns, is_requested=False))

    def react(self, learning: LearningService, numbers: Sequence[int]) -> None:
        """Ask the model, in a task, about turns that the user has marked."""
        if numbers:
            self.start(self._reflect(learning, numbers, is_requested=True))

    def pop_deferred(self) -> list[Event]:
        """Return and clear the events that were deferred while a turn was running."""
        events = self._deferred
        self._deferred = []
        return events

    async def _reflect(
        self, learning: LearningService, numbers: Sequence[int], *, is_requested: bool
    ) -> None:
        async with self._reflection_lock:
            events = await learning.reflect(*numbers, is_requested=is_requested)
        self.show(events, is_asked=is_requested)

    async def reflect_pending(self, learning: LearningService) -> None:
        """Check the anchors, and reflect on turns that earlier runs left."""
        # in a thread: its first queries are compiled for 20 ms
        pending = await asyncio.to_thread(learning.pending_by_session)
        self.show(await learning.check_anchors())
        await self._resume(learning, pending)

    async def reflect_ended(self, learning: LearningService) -> None:
        """Reflect on the turns of sessions that were left."""
        pending = await asyncio.to_thread(learning.pending_by_session)
        await self._resume(learning, pending)

    async def _resume(
        self, learning: LearningService, pending: Iterable[tuple[str, Sequence[int]]]
    ) -> None:
        """Reflect on pending turns; a new turn waits for one request at most."""
        for session_id, numbers in pending:
            async with self._reflection_lock:
                events = await learning.resume(session_id, numbers)
            self.show(events)

    def show(self, events: Sequence[Event], *, is_asked: bool = False) -> None:
        """Show events, or defer them until the running turn is done. A reflection that failed is shown only if the user
        asked for it: it is no concern of the work, and /status counts it."""
        for event in events:
            if _is_failure(event) and not is_asked:
                continue
            if self._program.working:
                self._deferred.append(event)
            else:
                self._program.show(event)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task in self._commands:
            self._commands.remove(task)
            if not self._program.working:  # it has outlasted the line
                self.show(self.pop_deferred())
        self._program.background_changed()
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            return
        if not isinstance(error, Exception):
            raise error
        self._program.report(error)


Result = TypeVar("Result")


def run_in_thread(work: Callable[[], Result], name: str) -> asyncio.Future[Result]:
    """Run `work` in a daemon thread and return a future of the running loop with its result or exception. Await it
    through `asyncio.shield` to keep it when the waiter is cancelled; the thread itself cannot be stopped."""
    outcome: Future[Result] = Future()
    outcome.set_running_or_notify_cancel()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised where the future is awaited
            outcome.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    future = asyncio.wrap_future(outcome)
    future.add_done_callback(retrieve)
    return future


def retrieve(future: asyncio.Future[Any]) -> None:
    """Retrieve the exception of a finished future, which would be reported when the loop ends."""
    if not future.cancelled():
        future.exception()


def _is_failure(event: Event) -> bool:
    """Return whether a reflection failed; one that paused says once what is missing."""
    # late: loaded with the runtime
    from swecli.models.learning_events import ReflectionFailed

    return isinstance(event, ReflectionFailed) and not event.paused
