"""Work behind the prompt: started by whoever asks, waited for or cancelled in one place; learning is most of it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from swecli.repl.program import Program

if TYPE_CHECKING:
    from swecli.models.events import Event
    from swecli.playbook.learning.service import LearningService

CLOSING = 0.5
"""Seconds that work is given to stop when the program ends."""


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

    async def settle(self) -> None:
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

    def catch_up(self, learning: LearningService) -> None:
        """Reflect on turns that earlier runs left unlearned; a turn of now has to wait for one of them at most."""
        self.start(self._catch_up(learning))

    def take_held(self) -> list[Event]:
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
