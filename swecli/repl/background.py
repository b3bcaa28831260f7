"""Background work of the REPL: tasks (mostly learning) and daemon threads, started while the prompt stays usable."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from swecli.repl.program import Program

if TYPE_CHECKING:
    from swecli.models.events import Event
    from swecli.playbook.learning.service import LearningService


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
        """Learn from a finished turn: by the rules now, before the next request is built, by the model in a task."""
        part = learning.after_turn(interaction)
        self.show(part.events)
        if part.needs_model:
            self.start(self._reflect(learning, interaction))

    def pop_deferred(self) -> list[Event]:
        """Return and clear the events that were deferred while a turn was running."""
        events, self._deferred = self._deferred, []
        return events

    async def _reflect(self, learning: LearningService, interaction: int) -> None:
        async with self._reflecting:
            events = await learning.reflect(interaction)
        self.show(events)

    async def reflect_pending(self, learning: LearningService) -> None:
        """Reflect on pending turns of earlier runs; a new turn waits for one of them at most."""
        pending = learning.pending()
        self.show(await learning.check_anchors())
        for item in pending:
            async with self._reflecting:
                events = await learning.resume(item)
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
    future.add_done_callback(lambda done: done.cancelled() or done.exception())  # retrieved, even if nobody waits
    return future
