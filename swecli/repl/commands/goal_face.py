"""Shows a goal on the screen: its turns as all others, and a line for each run of its command."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from swecli.actions.goal import GoalFace
from swecli.models.errors import BusyElsewhere
from swecli.models.events import Event
from swecli.repl.commands.base import CommandContext
from swecli.repl.commands.open_elsewhere import load_foreign_turns

_WAIT_INTERVAL = 0.5  # seconds between two looks at what another process does


class ScreenGoalFace(GoalFace):
    """The screen of a session."""

    def __init__(self, ctx: CommandContext) -> None:
        self._ctx = ctx

    def show(self, event: Event) -> None:
        self._ctx.program.show(event)

    @contextmanager
    def working(self, label: str) -> Iterator[None]:
        renderer = self._ctx.renderer
        renderer.begin(label)
        try:
            yield
        except asyncio.CancelledError:
            renderer.interrupt()
            raise
        finally:
            renderer.end()

    async def store_query(self, query: str, fields: Mapping[str, str]) -> None:
        ctx = self._ctx
        reported: set[str] = set()

        async def wait(busy: BusyElsewhere) -> None:
            if busy.message not in reported:
                reported.add(busy.message)
                ctx.screen.note(f"{busy.message} Waiting for its end.")
            await asyncio.sleep(_WAIT_INTERVAL)

        async def load() -> None:
            await load_foreign_turns(ctx)

        await ctx.runtime.store_query(query, wait, load, **fields)

    async def end_turn(self, interaction: int) -> None:
        program = self._ctx.program
        for line in self._ctx.runtime.agent.pop_unsent_lines():
            program.queue.put(line)
        if interaction:
            program.start_learning(interaction)
