"""Takes one sent line after another to its place, while the prompt stays open for the next."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from swecli.models.errors import SwecliError
from swecli.repl.crash import fault
from swecli.repl.input.lines import Line, read_line
from swecli.repl.startup_banner import wait_visibly

if TYPE_CHECKING:
    from swecli.repl.program import Program


CLOSING = 10.0
"""Seconds that the end waits for the store, to keep a line that was sent before it was open."""


class LineWorker:
    """Does the lines of a running REPL."""

    def __init__(self, repl: Program) -> None:
        self._repl = repl
        self._waiting: Line | None = None

    def submit(self, typed: str) -> None:
        """Take a line that was sent: a command that needs no agent is done at once, all else waits for its turn."""
        repl, line = self._repl, read_line(self._repl.reader.expand(typed))
        command = repl.table.find(line.name) if line.kind == "command" and repl.table else None
        if command is not None and repl.work.busy and repl.runtime is not None and command.at_once(line.text):
            repl.prompt.echo(typed)
            repl.behind.start(self._do(line))
        else:
            repl.queue.put(typed)

    async def run(self) -> None:
        """Do line after line, until cancelled."""
        while True:
            typed = await self._repl.reader.next_line()
            self._repl.prompt.echo(typed)
            await self._take(typed)

    async def _take(self, typed: str) -> None:
        """Do one line. Interrupted while it still waits for the loading, it goes back into the prompt."""
        repl, line = self._repl, read_line(self._repl.reader.expand(typed))
        if line.kind == "leave":
            repl.leave()
        if line.kind in ("leave", "empty"):
            return
        self._waiting = line
        try:
            waited = await repl.work.run(self._wait_for(line))
        except SwecliError:  # it could not be built: the prompt ends with that error
            return
        self._waiting = None
        if not waited:
            if repl.runtime is not None:
                repl.runtime.sessions.drop_query()
            repl.prompt.set_draft(typed)
            return
        await repl.work.run(self._do(line))
        for event in repl.after.untold():
            repl.parts.renderer.show(event)
        repl.prompt.write("\n")
        repl.gauge.refresh()
        repl.prompt.redraw()
        if repl.runtime is not None:
            repl.loading.warm(repl.runtime.agent)

    async def _wait_for(self, line: Line) -> None:
        """Wait, at full speed, until what the line needs is loaded."""
        repl = self._repl
        repl.loading.hurry()
        await wait_visibly(repl.begin_loading(), "starting", repl.prompt)
        if line.kind == "text" and repl.runtime is not None:
            self._store_waiting()
            warm = asyncio.ensure_future(repl.loading.warmed(repl.runtime.agent))
            await wait_visibly(warm, "warming up", repl.prompt)

    def _store_waiting(self) -> None:
        """Store the user's words before anything else is waited for: whatever happens now, they were sent."""
        line, self._waiting = self._waiting, None
        if line is not None and line.kind == "text" and self._repl.runtime is not None:
            self._repl.runtime.sessions.store_query(line.text)

    async def close(self) -> None:
        """The program ends: a line that was sent while it still loaded is stored yet."""
        if self._waiting is not None:
            with suppress(SwecliError, TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._repl.begin_loading()), CLOSING)
                self._store_waiting()

    async def _do(self, line: Line) -> None:
        """Do the line; what goes wrong in one command or turn is one line and does not take the session along."""
        # late: loaded behind the prompt
        from swecli.repl.dispatch import do  # noqa: PLC0415

        repl = self._repl
        assert repl.table is not None
        try:
            await do(line, repl.parts, repl.table)
        except SwecliError as error:
            repl.parts.screen.error(error.message, error.hint)
        except Exception as error:  # noqa: BLE001 - see above
            seen = fault(repl.start.paths.log, error)
            repl.parts.screen.error(seen.message, seen.hint)
