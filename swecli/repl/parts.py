"""The parts of the REPL that draw and act: put together once the slow modules are there."""

from __future__ import annotations

from dataclasses import dataclass

from swecli.app import Runtime
from swecli.repl.chat.approval import Approver
from swecli.repl.chat.async_query_processor import AsyncQueryProcessor, Chat
from swecli.repl.commands.context import CommandDesk, Door
from swecli.repl.input.by_line import PromptByLine
from swecli.repl.input.prompt import PromptLine
from swecli.repl.render.renderer import Renderer
from swecli.repl.render.resume_banner import show_tail
from swecli.repl.render.screen import Screen


@dataclass(slots=True)
class Parts:
    """What draws, asks and acts, for one run."""

    screen: Screen
    renderer: Renderer
    approver: Approver
    processor: AsyncQueryProcessor
    desk: CommandDesk

    def greet(self) -> None:
        """What only the loaded program can say: notices, and where a resumed session stands."""
        runtime = self.desk.runtime
        for notice in runtime.notices:
            self.screen.warn(notice)
        session = runtime.sessions.current_session
        if runtime.start.resume is not None and session is not None:
            show_tail(self.screen, session)
            self.screen.line()


def make_parts(runtime: Runtime, repl: Chat, door: Door, prompt: PromptLine | PromptByLine) -> Parts:
    """The parts for a runtime.

    `repl` is what the processor works for, `door` what commands may do with it; all is drawn above `prompt`, which asks
    the questions.
    """
    screen = Screen.above(prompt, runtime.start.environ, runtime.settings.color)
    renderer = Renderer(screen)
    desk = CommandDesk(runtime, screen, renderer, door, prompt)
    return Parts(screen, renderer, Approver(renderer, prompt), AsyncQueryProcessor(repl), desk)
