"""The question before a call runs: what it would do, whole, and the four answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

from prompt_toolkit.input import Input
from prompt_toolkit.output import Output

from swecli.models.tool import AskRequest, Decision
from swecli.repl.chat.choose import ask_line, choose
from swecli.repl.render.renderer import Renderer
from swecli.repl.render.sanitise import one_line

Answer = Literal["yes", "session", "no", "tell"]
_QUESTIONS = {"edit": "Make this change?", "run": "Run this?", "allow": "Allow this?"}


class Approver:
    """Asks on the renderer's screen; one question at a time, however many calls wait.

    `lend` gives the terminal to the dialog for as long as it is entered; `keyboard` and `output` replace the
    terminal in tests.
    """

    def __init__(
        self,
        renderer: Renderer,
        lend: Callable[[], AbstractContextManager[None]] = nullcontext,
        keyboard: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self._renderer, self._lend = renderer, lend
        self._keyboard, self._output = keyboard, output
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, request: AskRequest) -> Decision:
        """The user's answer. Esc is no; Ctrl-C raises CancelledError, which interrupts the turn."""
        async with self._one_at_a_time:
            self._renderer.pause()
            try:
                self._renderer.ask(request)
                with self._lend():
                    decision = await self._ask(request)
                self._renderer.answer(request, decision)
            finally:
                self._renderer.resume()
        return decision

    async def _ask(self, request: AskRequest) -> Decision:
        answers = self._answers(request)
        picked = await choose(
            _QUESTIONS[request.permission],
            [text for _, _, text in answers],
            marks=[mark for mark, _, _ in answers],
            keys={"y": 0, "n": [mark for mark, _, _ in answers].index("3")},
            color=self._renderer.screen.look.color,
            keyboard=self._keyboard,
            output=self._output,
        )
        answer = "no" if picked is None else answers[picked][1]
        if answer == "tell":
            return Decision(allow=False, reason=await self._reason())
        return Decision(allow=answer != "no", scope="session" if answer == "session" else "once")

    async def _reason(self) -> str:
        color = self._renderer.screen.look.color
        typed = await ask_line("What to do instead:", color=color, keyboard=self._keyboard, output=self._output)
        return typed or ""

    def _answers(self, request: AskRequest) -> list[tuple[str, Answer, str]]:
        """(number, answer, text); the numbers stay what fingers know where there is nothing to allow for longer."""
        answers: list[tuple[str, Answer, str]] = [("1", "yes", "yes")]
        if request.session_rule:
            label = one_line(request.session_label or request.session_rule)
            answers.append(("2", "session", f"yes, for this session ({label})"))
        return [*answers, ("3", "no", "no"), ("4", "tell", "no, and tell it what to do instead")]
