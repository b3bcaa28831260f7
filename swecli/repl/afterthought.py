"""Learning behind the prompt: a model is asked about one turn after the other, and each outcome told where it disturbs
nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swecli.models.events import Event
    from swecli.playbook.learning.service import LearningService, RulesPart


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
