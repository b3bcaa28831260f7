"""Work behind the prompt: started by whoever asks, waited for or cancelled in one place; learning is most of it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from swecli.repl.program import Program

if TYPE_CHECKING:
    from swecli.agent.agent import Agent
    from swecli.models.events import Event
    from swecli.playbook.learning.service import LearningService


CLOSING = 0.5  # seconds that work is given to stop when the program ends


class Background:
    """Tasks of one running program, and the reflections among them, one at a time."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._tasks: set[asyncio.Task[None]] = set()
        self._one_by_one = asyncio.Lock()
        self._held: list[Event] = []

    @property
    def busy(self) -> bool:
        """Whether anything goes on."""
        return bool(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin; the prompt does not wait."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        self._program.background_changed()

    async def drain(self) -> None:
        """Wait until all of it has ended. Cancelling the wait leaves the work alone."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def cancel(self, timeout: float | None = None) -> int:
        """Cancel what goes on, and wait until it has stopped, at most `timeout` seconds; how much it was."""
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=timeout)
        return len(tasks)

    def learn(self, learning: LearningService, interaction: int) -> None:
        """Learn from a turn that has ended: what the rules see at once, before the next prompt can be made."""
        part = learning.after_turn(interaction)
        self.show(part.events)
        if part.needs_model:
            self.start(self._reflect(learning, interaction))

    def name(self, agent: Agent) -> None:
        """Let the small model, where there is one, name a session that has no title."""
        # late: behind the first turn
        from swecli.agent.turn import generate_title, needs_title  # noqa: PLC0415

        small = agent.condense_model
        if small is not None and needs_title(agent.sessions.current_session):
            self.start(generate_title(agent.sessions, small))

    def catch_up(self, learning: LearningService) -> None:
        """Reflect on turns that earlier runs left unlearned; a turn of now has to wait for one of them at most."""
        self.start(self._catch_up(learning))

    def pop_deferred(self) -> list[Event]:
        """The events that came while a turn was drawn; asking for them empties the list."""
        events, self._held = self._held, []
        return events

    async def _reflect(self, learning: LearningService, interaction: int) -> None:
        async with self._one_by_one:
            events = await learning.reflect(interaction)
        self.show(events)

    async def _catch_up(self, learning: LearningService) -> None:
        pending = learning.pending()
        self.show(await learning.check_anchors())
        for item in pending:
            async with self._one_by_one:
                events = await learning.resume(item)
            self.show(events)

    def show(self, events: Sequence[Event]) -> None:
        """Draw events, after the turn where one is drawn."""
        for event in events:
            if self._program.working:
                self._held.append(event)
            else:
                self._program.show(event)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._program.background_changed()
        if not task.cancelled() and (error := task.exception()) is not None:
            if not isinstance(error, Exception):
                raise error
            self._program.report(error)


_Result = TypeVar("_Result")


def run_in_thread(work: Callable[[], _Result], name: str) -> asyncio.Future[_Result]:
    """Start `work` in a daemon thread; the future, of the running loop, gets its result or its exception. Waiting for
    the future through `asyncio.shield` leaves it whole when the waiter is cancelled; the thread itself cannot be
    stopped."""
    done: Future[_Result] = Future()
    done.set_running_or_notify_cancel()
    loop = asyncio.get_running_loop()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - it travels to whoever waits for the future
            if not loop.is_closed():  # else the program is leaving, nobody waits
                done.set_exception(error)
        else:
            if not loop.is_closed():
                done.set_result(result)

    threading.Thread(target=run, name=name, daemon=True).start()
    future = asyncio.wrap_future(done)
    future.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # seen: one may leave before it ends
    return future


_PAUSE, _TYPING = 0.002, 0.3


class ImportThrottle:
    """Finds no module; makes threads beside the loop's pause before each while keys are coming in and nobody waits for
    what they load, so that typing stays quick: before the tokeniser, whose table is made in one go, until they stop.
    `last_key` by `time.monotonic`."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.last_key = float("-inf")

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Pause, if somebody types."""
        beside = threading.current_thread() is not threading.main_thread()
        while beside and not self._program.working and time.monotonic() - self.last_key < _TYPING:
            time.sleep(_PAUSE)
            beside = fullname == "tiktoken"
