"""What becomes of a line for the model: prepared, run, drawn as it happens; and the question before a call runs."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from typing import Literal

from swecli.context.epochs import strip_keys
from swecli.context.prepare import prepare_messages
from swecli.models.errors import BadInput
from swecli.models.events import TurnStarted
from swecli.models.message import ApiMessage, AskRequest, Decision
from swecli.repl.input.question import Asker, Option
from swecli.repl.program import Program
from swecli.repl.render.renderer import Renderer
from swecli.tools.limits import HeadTail, strip_terminal_codes

_SHARED = 4_000, 6_000  # characters of an output's head and of its tail, where errors stand


class AsyncQueryProcessor:
    """Runs the user's queries and shell lines."""

    def __init__(self, repl: Program) -> None:
        self.repl = repl

    def _prepare_messages(self, query: str, enhanced_query: str) -> list[ApiMessage]:
        """The messages for a query: system prompt with the playbook, the reflection window, the query."""
        session, prompt = self.repl.session_manager.current_session, self.repl.agent.system_prompt
        return strip_keys(prepare_messages(session, prompt, query, enhanced_query))

    async def process_query(self, query: str) -> None:
        """Run one turn and draw it. Cancelling it is how the user interrupts: it prints so, and raises on. Raises
        SwecliError: when the turn could not begin."""
        repl, interaction = self.repl, 0
        try:
            turn = repl.agent.prepare(query)
        except BadInput:  # nothing was sent: it is the user's again
            repl.session_manager.drop_query()
            repl.set_draft(query)
            raise
        repl.renderer.begin()
        try:
            async with aclosing(repl.agent.run(turn)) as events:
                async for event in events:
                    if isinstance(event, TurnStarted):
                        interaction = event.interaction
                    repl.show(event)
        except asyncio.CancelledError:
            repl.renderer.end()
            repl.renderer.screen.note("interrupted")
            raise
        finally:
            repl.renderer.end()
            for line in repl.agent.pop_unsent_lines():
                repl.queue.put(line)
            if interaction:
                repl.start_learning(interaction)

    async def run_shell(self, command: str, share: bool = True) -> None:
        """Run the user's own command line and print its output; `share`: the model gets it with the next message.
        Interrupted, it does both with the output until then."""
        repl, kept, begun = self.repl, HeadTail(), time.monotonic()
        repl.renderer.begin(command)
        try:
            text, exit_code = await repl.agent.kit.shell(command, kept)
        except asyncio.CancelledError:
            repl.renderer.end()
            how = f"interrupted after {time.monotonic() - begun:.0f} s"
            self._ran(command, strip_terminal_codes(kept.text()), how, how, share)
            raise
        finally:
            repl.renderer.end()
        code = f"exit code {exit_code}"
        self._ran(command, text, code, "" if exit_code == 0 else code, share)

    def _ran(self, command: str, text: str, how: str, remark: str, share: bool) -> None:
        repl = self.repl
        if text.strip():
            repl.renderer.screen.line(text.rstrip("\n"))
        if share:
            output = HeadTail(*_SHARED)
            output.add(text)
            repl.agent.notes.append(f"The user ran `{command}` in a shell ({how}). Its output:\n{output.text()}")
        shared = "will be sent with your next message" if share else ""
        if note := " · ".join(part for part in (remark, shared) if part):
            repl.renderer.screen.note(note)


Answer = Literal["once", "session", "project", "no", "instead"]


class Approver:
    """Shows a call on the renderer's screen and asks; one question at a time, however many calls wait."""

    def __init__(self, renderer: Renderer, asker: Asker) -> None:
        self._renderer, self._asker = renderer, asker
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, request: AskRequest) -> Decision:
        """The user's answer; none at all, as when the terminal is gone, is a no."""
        async with self._one_at_a_time:
            self._renderer.show_approval(request)
            decision = None
            try:
                decision = await self._ask(request)
            finally:
                self._renderer.show_decision(request, decision)
        return decision

    async def _ask(self, request: AskRequest) -> Decision:
        answers = _answers(request)
        options = [option for _, option in answers]
        picked = await self._asker.choose(request.question, options, guarded=True)
        answer = "no" if picked is None else answers[picked][0]
        if answer == "instead":
            return Decision(allow=False, reason=await self._asker.ask_text("What to do instead?") or "")
        if answer == "no":
            return Decision(allow=False)
        return Decision(allow=True, scope=answer)


def _answers(request: AskRequest) -> list[tuple[Answer, Option]]:
    """The answers there are. A number means the same in every question: 3 is never anything but no."""
    answers: list[tuple[Answer, Option]] = [("once", Option("yes", "1", "y"))]
    covered = request.session_label or request.session_rule
    if request.session_rule:
        answers.append(("session", Option(f"yes, and don't ask again this session for {covered}", "2")))
    answers.append(("no", Option("no", "3", "n")))
    answers.append(("instead", Option("no, and tell it what to do instead", "4")))
    if request.session_rule and request.project_file:
        saved = f"yes, always in this project for {covered} (saved in {request.project_file})"
        answers.append(("project", Option(saved, "5")))
    return answers
