"""The questions of a turn, asked in the editor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from acp.schema import PermissionOption, PermissionOptionKind, ToolCallUpdate

from swecli.acp.calls import Content
from swecli.acp.editor import Editor
from swecli.acp.turn_view import TurnView
from swecli.models.approval import AskRequest, Decision
from swecli.models.ids import uuid7
from swecli.text import one_line, short_path
from swecli.values import dataclass

_NOBODY = "this editor cannot ask for a text"
_MAX_LABEL = 200  # characters


@dataclass(slots=True)
class Questions:
    """Asks the user of one session. `view` is set before the first turn."""

    view: TurnView | None = None

    async def ask(self, request: AskRequest) -> Decision:
        """Return the user's answer. Raises CancelledError if the editor cancels the question or is gone."""
        view = self.view
        assert view is not None, "a turn has a view"
        tool_call = view.ask_about(request)
        if request.choices is not None:
            decision = await _ask_choice(view.editor, tool_call, request.choices)
        else:
            answers = _plan_answers(request) if request.plan else _answers(request)
            decision = await _ask_which(view.editor, tool_call, answers)
        view.answer(tool_call.tool_call_id, decision)
        return decision


async def confirm(
    editor: Editor, question: str, yes: str, no: str, content: Sequence[Content] = ()
) -> bool:
    """Return whether the user agrees to something that is no call of the model; `content` is shown with it."""
    tool_call = ToolCallUpdate(
        tool_call_id=uuid7(), title=one_line(question), kind="other", content=[*content]
    )
    options = [_option("yes", yes, "allow_once"), _option("no", no, "reject_once")]
    return await editor.choose(tool_call, options) == "yes"


async def _ask_which(
    editor: Editor,
    tool_call: ToolCallUpdate,
    answers: Sequence[tuple[PermissionOption, Decision]],
) -> Decision:
    """Return what the answer decides that the user chose; none is a no."""
    option_id = await editor.choose(tool_call, [option for option, _ in answers])
    for option, decision in answers:
        if option.option_id == option_id:
            return decision
    return Decision(False)


async def _ask_choice(
    editor: Editor, tool_call: ToolCallUpdate, choices: Sequence[str]
) -> Decision:
    """Ask a question of the model: the choices are the options, and a text cannot be typed there."""
    if not choices:
        return Decision(False, reason=_NOBODY, by="headless")
    options = [_option(str(number), choice, "allow_once") for number, choice in enumerate(choices)]
    option_id = await editor.choose(
        tool_call, [*options, _option("no", "no answer", "reject_once")]
    )
    if option_id is None or option_id == "no":
        return Decision(False)
    return Decision(True, answer=choices[int(option_id)])


def _answers(request: AskRequest) -> list[tuple[PermissionOption, Decision]]:
    """Return the possible answers about a call, with what each decides."""
    answers = [(_option("once", "Yes", "allow_once"), Decision(True))]
    covered = request.session_label or ", ".join(request.session_rules)
    if request.session_mode is not None:
        label = f"Yes, and switch to mode {request.session_mode}"
        answers.append((_option("session", label, "allow_always"), Decision(True, "session")))
    elif request.session_rules:
        label = f"Always in this session, also when it is continued: {covered}"
        answers.append((_option("session", label, "allow_always"), Decision(True, "session")))
    if request.session_rules and request.project_file:
        file = short_path(Path(request.project_file))
        label = f"Always in this project, saved in {file}: {covered}"
        answers.append((_option("project", label, "allow_always"), Decision(True, "project")))
    answers.append((_option("no", "No", "reject_once"), Decision(False)))
    return answers


def _plan_answers(request: AskRequest) -> list[tuple[PermissionOption, Decision]]:
    """Return the possible answers about a plan, with what each decides."""
    text = request.plan
    return [
        (
            _option("edits", "Yes, and change files without asking (mode edits)", "allow_always"),
            Decision(True, answer=text),
        ),
        (
            _option("ask", "Yes, and ask me for each change (mode ask)", "allow_once"),
            Decision(True, answer=text, plan_mode="ask"),
        ),
        (_option("no", "No, keep planning", "reject_once"), Decision(False)),
    ]


def _option(name: str, label: str, kind: PermissionOptionKind) -> PermissionOption:
    return PermissionOption(option_id=name, name=one_line(label, _MAX_LABEL), kind=kind)
