"""The model's question to the user: its choices, another answer, or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from swecli.models.approval import AskRequest, Decision
from swecli.repl.input.question import Option

_TITLE = "Your answer?"


class Asker(Protocol):
    async def choose(
        self, title: str, options: Sequence[Option], *, guarded: bool = False
    ) -> int | None: ...

    async def ask_text(self, label: str) -> str | None: ...


async def answer_question(asker: Asker, request: AskRequest) -> Decision:
    """Return the user's answer: one of the request's choices, or a text. The question itself is on the screen above.
    Guarded like an approval: keys that were typed before it could be read do not answer it."""
    choices = request.choices or ()
    no_answer = f"no answer (its default: {request.default})" if request.default else "no answer"
    labels = [*choices, "another answer" if choices else "write an answer", no_answer]
    options = [Option(label, str(number)) for number, label in enumerate(labels, 1)]
    picked = await asker.choose(_TITLE, options, guarded=True)
    if picked is None or picked == len(choices) + 1:
        return Decision(allow=False)
    if picked < len(choices):
        return Decision(allow=True, answer=choices[picked])
    text = await asker.ask_text(_TITLE)
    return Decision(allow=bool(text), answer=text or "")
