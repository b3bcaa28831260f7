"""Learning behind the prompt: one turn after the other, and each outcome told where it disturbs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swecli.agent.learning import Learner
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
        """Reflect on a turn that has ended."""
        self._background(self._learn(learner, interaction))

    def catch_up(self, learner: Learner) -> None:
        """Reflect on turns that earlier runs left unlearned."""
        self._background(self._catch_up(learner))

    def untold(self) -> list[Event]:
        """What came up while it could not be told; asking for it empties the list."""
        events, self._untold = self._untold, []
        return events

    async def _learn(self, learner: Learner, interaction: int) -> None:
        async with self._one_by_one:
            events = await learner.learn(interaction)
        for event in events:
            await self._told(event)

    async def _catch_up(self, learner: Learner) -> None:
        async with self._one_by_one:
            events = await learner.catch_up()
        for event in events:
            await self._told(event)

    async def _told(self, event: Event) -> None:
        if self._busy():
            self._untold.append(event)
        else:
            await self._tell(event)
