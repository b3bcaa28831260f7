"""Run queries and shell lines, and show their events."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing

from swecli.models.errors import BadInput
from swecli.models.events import (
    ContextMeasured,
    ReasoningDelta,
    TextDelta,
    ToolStarted,
    TurnStarted,
)
from swecli.models.message import ApiMessage
from swecli.repl.program import Program
from swecli.tools.limits import HeadTail, strip_terminal_codes

_OUTPUT = (TextDelta, ReasoningDelta, ToolStarted)  # what a user waits for
_SHARED = 4_000, 6_000  # characters of the head and the tail of a shared output


class AsyncQueryProcessor:
    """Runs the user's queries and shell lines."""

    def __init__(self, repl: Program) -> None:
        self.repl = repl

    def _prepare_messages(self, query: str, enhanced_query: str) -> list[ApiMessage]:
        """Return the messages of the request that a query would begin its turn with. `enhanced_query` is the query
        with the contents of its @files; if it is "", they are read now."""
        return self.repl.agent.prepare(query, enhanced=enhanced_query).messages

    def measure_next(self) -> None:
        """After the first request, show in the footer how full the next one will be, as `/context` does. Its tokens may
        be estimated."""
        footer = self.repl.footer
        if footer.context is None:
            return
        messages = self._prepare_messages("", "")
        size = self.repl.agent.make_fitter().measure(messages)
        footer.observe(ContextMeasured(size.tokens, size.limit, size.estimated))

    async def process_query(self, query: str) -> None:
        """Run one turn and show its events. Cancelling interrupts the turn, with a note; before any output the line is
        given back. Raises SwecliError if the turn cannot start."""
        repl = self.repl
        interaction = 0
        has_output = False
        try:
            turn = repl.agent.prepare(query)
        except BadInput:  # nothing was sent: put the query back into the input line
            repl.session_manager.drop_query()
            repl.set_draft(query)
            raise
        repl.renderer.begin()
        try:
            async with aclosing(repl.agent.run(turn)) as events:
                async for event in events:
                    if isinstance(event, TurnStarted):
                        interaction = event.interaction
                        repl.start_reflecting()
                    has_output = has_output or isinstance(event, _OUTPUT)
                    repl.show(event)
        except asyncio.CancelledError:
            repl.renderer.interrupt()
            if (
                not has_output and not repl.queue
            ):  # else Enter on the empty line sends what is queued
                repl.set_draft(query, offered=True)
            raise
        finally:
            repl.renderer.end()
            for line in repl.agent.pop_unsent_lines():
                repl.queue.put(line)
            if interaction:
                repl.start_learning(interaction)

    async def run_shell(self, command: str, share: bool = True) -> None:
        """Run the user's command and print its output, of a long one the end; with `share` add it to the next message.
        If interrupted, use the output so far."""
        repl, collected, started = self.repl, HeadTail(), time.monotonic()
        repl.renderer.begin(command)
        try:
            text, exit_code = await repl.agent.kit.shell(command, collected)
        except asyncio.CancelledError:
            repl.renderer.end()
            how = f"interrupted after {time.monotonic() - started:.0f} s"
            text = strip_terminal_codes(collected.text())
            self._print_output(text, collected)
            self._report_shell(command, text, how, how, share)
            raise
        finally:
            repl.renderer.end()
        code = f"exit code {exit_code}"
        self._print_output(text, collected)
        self._report_shell(command, text, code, "" if exit_code == 0 else code, share)

    def _print_output(self, text: str, collected: HeadTail) -> None:
        """Print an output, and what of it was not even kept."""
        screen = self.repl.renderer.screen
        text = text.rstrip("\n")
        if not collected.loss:
            if text.strip():
                screen.line(text)
            return
        screen.line(text, lost=collected.line_ends - text.count("\n") - 1)
        screen.note(collected.loss.strip("[]"))

    def _report_shell(self, command: str, text: str, how: str, remark: str, share: bool) -> None:
        repl = self.repl
        if share:
            output = HeadTail(*_SHARED)
            output.add(text)
            repl.agent.notes.append(
                f"The user ran `{command}` in a shell ({how}). Its output:\n{output.text()}"
            )
        shared = "will be sent with your next message" if share else ""
        if note := " · ".join(part for part in (remark, shared) if part):
            repl.renderer.screen.note(note)
