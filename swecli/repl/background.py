"""Work behind the prompt: started by whoever asks, waited for or cancelled in one place; learning is most of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swecli.models.events import Event
    from swecli.playbook.learning.service import LearningService, RulesPart

CLOSING = 0.5


class Background:
    """Tasks of one running program. `failed` is told what went wrong in one; `changed` when one begins or ends."""

    def __init__(self, failed: Callable[[Exception], None], changed: Callable[[], None]) -> None:
        self._failed, self._changed = failed, changed
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def busy(self) -> bool:
        """Whether anything goes on."""
        return bool(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin; the prompt does not wait."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        self._changed()

    async def settle(self) -> None:
        """Wait until all of it has ended. Cancelling the wait leaves the work alone."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def cancel(self) -> int:
        """Cancel what goes on, and wait until it has stopped; how much it was."""
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        return len(tasks)

    async def close(self) -> None:
        """Cancel what still goes on, and give it a moment to stop."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=CLOSING)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._changed()
        if not task.cancelled() and (error := task.exception()) is not None:
            if not isinstance(error, Exception):
                raise error
            self._failed(error)


class Afterthought:
    """Starts learning, and tells what came of it through `tell`; while `busy` says that a turn is being drawn, later.

    `background` starts the work.
    """

    def __init__(
        self,
        background: Callable[[Coroutine[Any, Any, None]], None],
        tell: Callable[[Event], Awaitable[None]],
        busy: Callable[[], bool],
    ) -> None:
        self._background, self._tell, self._busy = background, tell, busy
        self._one_by_one = asyncio.Lock()
        self._untold: list[Event] = []

    def learn(self, learning: LearningService, interaction: int) -> None:
        """Learn from a turn that has ended: what the rules see at once, before the next prompt can be made."""
        self._background(self._finish(learning, learning.after_turn(interaction)))

    def catch_up(self, learning: LearningService) -> None:
        """Reflect on turns that earlier runs left unlearned; a turn of now has to wait for one of them at most."""
        self._background(self._catch_up(learning))

    def untold(self) -> list[Event]:
        """What came up while it could not be told; asking for it empties the list."""
        events, self._untold = self._untold, []
        return events

    async def _finish(self, learning: LearningService, part: RulesPart) -> None:
        await self._tell_all(part.events)
        if part.needs_model:
            async with self._one_by_one:
                events = await learning.reflect(part.interaction)
            await self._tell_all(events)

    async def _catch_up(self, learning: LearningService) -> None:
        waiting = learning.pending()
        await self._tell_all(await learning.check_anchors())
        for item in waiting:
            async with self._one_by_one:
                events = await learning.resume(item)
            await self._tell_all(events)

    async def _tell_all(self, events: Sequence[Event]) -> None:
        for event in events:
            await self._told(event)

    async def _told(self, event: Event) -> None:
        if self._busy():
            self._untold.append(event)
        else:
            await self._tell(event)
