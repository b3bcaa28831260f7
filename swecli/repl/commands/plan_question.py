"""The question whether a plan is accepted, which the user may edit before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol

from swecli.models.approval import AskRequest, Decision
from swecli.models.errors import BadInput
from swecli.repl.input.question import Option
from swecli.repl.input.user_question import Asker
from swecli.values import dataclass

if TYPE_CHECKING:
    from swecli.repl.render.renderer import Renderer

_ACCEPT = Option("yes, and change files without asking (mode edits)", "1", "y")
_ACCEPT_ASKING = Option("yes, and ask me for each change (mode ask)", "2")
_EDIT = Option("edit it first", "e", needs_enter=True)
_REFUSE = Option("no", "3", "n")
_CHANGE = Option("no, and tell it what to change", "4")
_OPTIONS = (_ACCEPT, _ACCEPT_ASKING, _EDIT, _REFUSE, _CHANGE)  # 1 to 4 are as in every question


class EditingAsker(Asker, Protocol):
    async def open_editor(self, environ: Mapping[str, str], path: Path, line: int) -> None: ...


@dataclass(frozen=True, slots=True)
class PlanQuestion:
    """Asks about one plan, which is on the screen above, until there is an answer other than to edit it."""

    asker: EditingAsker
    renderer: Renderer
    environ: Mapping[str, str]

    async def ask(self, request: AskRequest) -> Decision:
        """Return the user's answer; a yes carries the plan as it was accepted, and the mode to carry it out in."""
        text = request.plan
        while True:
            index = await self.asker.choose(request.question, _OPTIONS, guarded=True)
            option = _REFUSE if index is None else _OPTIONS[index]
            if option is _ACCEPT:
                return Decision(True, answer=text)
            if option is _ACCEPT_ASKING:
                return Decision(True, answer=text, plan_mode="ask")
            if option is _REFUSE:
                return Decision(False)
            if option is _CHANGE:
                reason = await self.asker.ask_text("What should it change?")
                return Decision(False, reason=reason or "")
            edited = await self._edit(text)
            if edited != text:
                text = edited
                self.renderer.show_approval(replace(request, summary="Plan, edited", plan=text))

    async def _edit(self, text: str) -> str:
        """Return the text as the user leaves it in the editor; unchanged, with a warning, if that cannot be used."""
        with TemporaryDirectory(prefix="swecli-") as folder:
            file = Path(folder, "plan.md")
            file.write_text(f"{text}\n", encoding="utf-8")
            try:
                await self.asker.open_editor(self.environ, file, 0)
                edited = file.read_text(encoding="utf-8").strip()
            except BadInput as error:
                self.renderer.screen.error(str(error), error.hint)
                return text
            except (OSError, UnicodeDecodeError) as error:
                self.renderer.screen.warn(f"the edited plan cannot be read: {error}")
                return text
        if not edited:
            self.renderer.screen.warn("the edited plan is empty, so it stays as it was")
            return text
        return edited
