"""A goal without a screen: its turns are written like one turn, whose result says how the goal ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from swecli.actions.goal import Goal, GoalFace, GoalRun, exit_code
from swecli.headless.writers.base import Writer
from swecli.models.events import Event
from swecli.values import dataclass

if TYPE_CHECKING:
    from swecli.app import Runtime


@dataclass(frozen=True, slots=True)
class WriterGoalFace(GoalFace):
    """Writes the events of a goal. `store` stores a query, `finish_turn` does what follows each turn."""

    writer: Writer
    store: Callable[..., Awaitable[None]]
    finish_turn: Callable[[], Awaitable[None]]

    def show(self, event: Event) -> None:
        self.writer.write(event)

    def working(self, label: str) -> AbstractContextManager[None]:
        return nullcontext()

    async def store_query(self, query: str, fields: Mapping[str, str]) -> None:
        await self.store(query, **fields)

    async def end_turn(self, interaction: int) -> None:
        await self.finish_turn()


async def pursue(runtime: Runtime, goal: Goal, face: WriterGoalFace) -> int:
    """Run a goal to its end, and return the exit code. Raises SwecliError if it cannot begin."""
    run = GoalRun(runtime, goal, face)
    ended = await run.run()
    return exit_code(ended, run.failure)
