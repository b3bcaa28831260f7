"""The question before a call runs: what it would do, whole, and the answers."""

from __future__ import annotations

import asyncio
from typing import Literal

from swecli.models.message import AskRequest, Decision
from swecli.repl.input.question import Asker, Option
from swecli.repl.render.renderer import Renderer

Answer = Literal["once", "session", "project", "no", "instead"]


class Approver:
    """Shows a call on the renderer's screen and asks; one question at a time, however many calls wait."""

    def __init__(self, renderer: Renderer, asker: Asker) -> None:
        self._renderer, self._asker = renderer, asker
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, request: AskRequest) -> Decision:
        """The user's answer; none at all, as when the terminal is gone, is a no."""
        async with self._one_at_a_time:
            self._renderer.ask(request)
            decision = None
            try:
                decision = await self._ask(request)
            finally:
                self._renderer.answer(request, decision)
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
