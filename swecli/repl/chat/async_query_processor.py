"""Run queries and shell lines, and show their events."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

from swecli.models.errors import BadInput
from swecli.models.events import (
    ContextMeasured,
    ReasoningDelta,
    TextDelta,
    ToolStarted,
    TurnStarted,
)
from swecli.repl.program import Program
from swecli.tools.keyboard import Keyboard
from swecli.tools.limits import HeadTail, strip_terminal_codes

if TYPE_CHECKING:
    from swecli.agent.agent import Agent
    from swecli.tools.user_shell import UserShell

_OUTPUT = (TextDelta, ReasoningDelta, ToolStarted)  # what a user waits for
_SHARED = 4_000, 6_000  # characters of the head and the tail of a shared output


def _format_price(agent: Agent) -> str:
    """Return the price of the next request in few words."""
    # late: shown to those who ask for it
    from swecli.actions.next_price import price_next

    return price_next(agent).short


class AsyncQueryProcessor:
    """Runs the user's queries and shell lines."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._user_shell: UserShell | None = None  # None: no line has been run

    def measure_next(self) -> None:
        """After the first request, show in the footer how full the next one will be, as `/context` does. Its tokens may
        be estimated. If the user asked for it, show its price too, also of the first one."""
        footer = self._program.footer
        agent = self._program.agent
        footer.next_price = _format_price(agent) if footer.shows_price else ""
        if footer.context is None:
            return
        request = agent.prepare("").request
        session = agent.sessions.current_session
        if session is not None:
            footer.measured(session, request.window[0])
        size = agent.make_fitter().measure(request.messages)
        footer.observe(ContextMeasured(size.tokens, size.limit, size.estimated))

    async def process_query(self, query: str) -> None:
        """Run one turn and show its events. Cancelling interrupts the turn, with a note; before any output the line is
        given back. Raises SwecliError if the turn cannot start."""
        program = self._program
        interaction = 0
        has_output = False
        try:
            await self._admit(query)
            turn = program.agent.prepare(query)
            program.agent.require_room(turn)
        except (BadInput, asyncio.CancelledError):
            # nothing was sent: put the query back into the input line
            program.session_manager.drop_query()
            program.set_draft(query)
            raise
        program.renderer.begin()
        try:
            async with aclosing(program.agent.run(turn)) as events:
                async for event in events:
                    if isinstance(event, TurnStarted):
                        interaction = event.interaction
                    has_output = has_output or isinstance(event, _OUTPUT)
                    program.show(event)
        except asyncio.CancelledError:
            program.renderer.interrupt()
            if not has_output and not program.queue:  # else Enter sends what is queued
                program.set_draft(query, offered=True)
            raise
        finally:
            program.renderer.end()
            for line in program.agent.pop_unsent_lines():
                program.queue.put(line)
            if interaction:
                program.start_learning(interaction)

    async def _admit(self, query: str) -> None:
        """Ask the hooks on a query, which may take a while. Raises BadInput if one refuses it."""
        hooks = self._program.agent.toolkit.hooks
        if hooks is not None and hooks.exist:
            with self._program.renderer.working("Asking the hooks"):
                await self._program.agent.admit(query)

    async def run_shell(self, command: str, share: bool = True) -> None:
        """Run the user's command and print its output, of a long one the end; with `share` add it to the next message.
        If interrupted, use the output so far."""
        program = self._program
        collected = HeadTail()
        started = time.monotonic()
        program.renderer.begin(command)
        keyboard = Keyboard(partial(self._report_keys, command))
        try:
            shell = self._find_shell()
            result = await program.agent.toolkit.shell(command, collected, keyboard, shell)
        except asyncio.CancelledError:
            program.renderer.end()
            if keyboard.is_taken:  # what it has printed is a drawn screen, or a question
                program.set_draft(f"!!{command}")
                raise
            outcome = f"interrupted after {time.monotonic() - started:.0f} s"
            text = strip_terminal_codes(collected.text())
            self._print_output(text, collected)
            self._report_shell(command, text, outcome, remark=outcome, share=share)
            raise
        finally:
            program.renderer.end()
            self._report_shell_problem()
        text = result.for_user.body
        outcome = " · ".join([f"exit code {result.exit_code or 0}", *result.failed_parts])
        self._print_output(text, collected)
        remark = outcome if result.exit_code else " · ".join(result.failed_parts)
        self._report_shell(command, text, outcome, remark=remark, share=share)

    def _find_shell(self) -> UserShell:
        """Return the user's shell: one for the run, as it remembers whether its configuration can be read."""
        # late: few lines are such
        from swecli.tools.environment import own_environment
        from swecli.tools.shell import shell_program
        from swecli.tools.user_shell import UserShell

        if self._user_shell is None:
            ctx = self._program.agent.toolkit.ctx
            environ = own_environment(ctx.commands.environ)
            self._user_shell = UserShell.find(environ, ctx.root, shell_program())
        return self._user_shell

    def _report_shell_problem(self) -> None:
        if self._user_shell is not None and (problem := self._user_shell.pop_problem()):
            self._program.renderer.screen.note(problem)

    def _report_keys(self, command: str) -> None:
        """Say that a command line waits for keys, which it does not get here."""
        self._program.renderer.screen.note(f"It waits for keys, which only !!{command} gets")

    def _print_output(self, text: str, collected: HeadTail) -> None:
        """Print an output, and what of it was not even kept."""
        screen = self._program.renderer.screen
        text = text.rstrip("\n")
        if not collected.loss:
            if text.strip():
                screen.line(text)
            return
        screen.line(text, lost_lines=collected.line_ends - text.count("\n") - 1)
        screen.note(collected.loss.strip("[]"))

    def _report_shell(
        self, command: str, text: str, outcome: str, *, remark: str, share: bool
    ) -> None:
        program = self._program
        if share:
            output = HeadTail(*_SHARED)
            output.add(text)
            program.agent.notes.append(
                f"The user ran `{command}` in a shell ({outcome}). Its output:\n{output.text()}"
            )
        sharing = "will be sent with your next message" if share else ""
        if remark or sharing:
            program.renderer.screen.note(" · ".join(filter(None, (remark, sharing))))
