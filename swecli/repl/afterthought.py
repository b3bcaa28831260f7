"""Learning behind the prompt: a model is asked about one turn after the other, and each outcome told where it disturbs
nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swecli.agent.learning import Begun, Learner
    from swecli.models.events import Event


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

    def learn(self, learner: Learner, interaction: int) -> None:
        """Learn from a turn that has ended: what the rules see at once, before the next prompt can be made."""
        self._background(self._finish(learner, learner.begin(interaction)))

    def catch_up(self, learner: Learner) -> None:
        """Reflect on turns that earlier runs left unlearned; a turn of now has to wait for one of them at most."""
        self._background(self._catch_up(learner))

    def untold(self) -> list[Event]:
        """What came up while it could not be told; asking for it empties the list."""
        events, self._untold = self._untold, []
        return events

    async def _finish(self, learner: Learner, begun: Begun) -> None:
        await self._tell_all(begun.events)
        if begun.more:
            async with self._one_by_one:
                events = await learner.finish(begun.interaction)
            await self._tell_all(events)

    async def _catch_up(self, learner: Learner) -> None:
        waiting = learner.waiting()
        await self._tell_all(await learner.look_around())
        for item in waiting:
            async with self._one_by_one:
                events = await learner.take_up(item)
            await self._tell_all(events)

    async def _tell_all(self, events: Sequence[Event]) -> None:
        for event in events:
            await self._told(event)

    async def _told(self, event: Event) -> None:
        if self._busy():
            self._untold.append(event)
        else:
            await self._tell(event)
