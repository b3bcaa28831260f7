"""Test the question about a plan: accept it, edit it first, refuse it."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from swecli.actions.editor import run_editor
from swecli.models.approval import AskRequest, Decision
from swecli.models.message import Display, ToolCall
from swecli.repl.commands.plan_question import PlanQuestion
from swecli.repl.input.question import Option
from swecli.repl.render.renderer import Renderer
from swecli.repl.render.screen import Screen
from tests.screen.emulated import TextSurface

PLAN = "# Fix `add`\n\n## Steps\n\n1. Correct\u202e the sign"


class Keys:
    """Answers with the options of these marks, and opens real editors."""

    def __init__(self, marks: str, reason: str | None = None) -> None:
        self.marks = list(marks)
        self.reason = reason
        self.labels: dict[str, str] = {}

    async def choose(
        self, title: str, options: Sequence[Option], *, guarded: bool = False
    ) -> int | None:
        assert guarded, "a plan can never be accepted before it could be read"
        self.labels = {option.key: option.label for option in options}
        if not self.marks:
            return None
        return [*self.labels].index(self.marks.pop(0))

    async def ask_text(self, label: str) -> str | None:
        return self.reason

    async def open_editor(self, environ: Mapping[str, str], path: Path, line: int) -> None:
        run_editor(environ, path, line)


async def ask(keys: Keys, editor: str = "true") -> tuple[Decision, str]:
    """Return the decision and what was printed."""
    out = io.StringIO()
    renderer = Renderer(Screen(TextSurface(out, 80), False))
    request = AskRequest(
        ToolCall("1", "present_plan"), "Accept this plan?", "Plan", Display(), plan=PLAN
    )
    renderer.show_approval(request)
    decision = await PlanQuestion(keys, renderer, {"EDITOR": editor}).ask(request)
    renderer.show_decision(request, decision)
    return decision, out.getvalue()


def editor_that(statement: str) -> str:
    """Return an editor that runs a Python statement on the file `f`."""
    program = f"import pathlib, sys; f = pathlib.Path(sys.argv[1]); {statement}"
    return shlex.join([sys.executable, "-c", program])


async def test_the_numbers_mean_what_they_mean_in_every_question() -> None:
    keys = Keys("1")
    decision, printed = await ask(keys)
    assert decision == Decision(True, answer=PLAN)
    assert [*keys.labels] == ["1", "2", "e", "3", "4"]
    assert "1. Correct<U+202E> the sign" in printed
    assert printed.endswith("✓ plan accepted · mode edits\n")


async def test_a_plan_can_be_accepted_with_a_question_for_each_change() -> None:
    decision, printed = await ask(Keys("2"))
    assert decision == Decision(True, answer=PLAN, plan_mode="ask")
    assert printed.endswith("✓ plan accepted · mode ask\n")


async def test_no_answer_is_a_no() -> None:
    assert (await ask(Keys("3")))[0] == Decision(False)
    assert (await ask(Keys("")))[0] == Decision(False)


async def test_a_refusal_can_say_what_to_change() -> None:
    decision, printed = await ask(Keys("4", reason="use a lambda"))
    assert decision == Decision(False, reason="use a lambda")
    assert "✗ refused: Plan · use a lambda" in printed


async def test_an_edited_plan_is_shown_and_asked_about_again() -> None:
    longer = editor_that("f.write_text(f.read_text() + '2. Run the tests')")
    decision, printed = await ask(Keys("e1"), longer)
    assert decision == Decision(True, answer=f"{PLAN}\n2. Run the tests")
    assert "Plan, edited" in printed
    assert "2. Run the tests" in printed


async def test_an_edited_plan_can_be_refused() -> None:
    assert (await ask(Keys("e3"), editor_that("f.write_text('other')")))[0] == Decision(False)


async def test_an_editor_that_leaves_nothing_usable_leaves_the_plan_as_it_was() -> None:
    for editor, words in [
        ("true", ""),
        (editor_that("f.write_text('')"), "the edited plan is empty"),
        (editor_that("f.write_bytes(b'\\xff')"), "cannot be read"),
        (editor_that("f.unlink()"), "cannot be read"),
        ("/nowhere/editor", "cannot be started"),
    ]:
        decision, printed = await ask(Keys("e1"), editor)
        assert decision == Decision(True, answer=PLAN)
        assert words in printed
