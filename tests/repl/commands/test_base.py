"""Test the approval question before a tool call, and its answers."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from dataclasses import replace

import pytest

from swecli.models.approval import AskRequest, Decision
from swecli.models.message import Display
from swecli.repl.commands.base import CommandContext
from swecli.repl.input.question import Option
from swecli.repl.render.renderer import Renderer
from swecli.repl.render.screen import Screen
from tests.screen.canned import ASK_EDIT, ASK_RUN
from tests.screen.emulated import TextSurface


class Answers:
    """Chooses options by their marks, in order, and answers text questions with `reason`."""

    def __init__(self, *marks: str | None, reason: str | None = None) -> None:
        self.marks, self.reason = list(marks), reason
        self.seen: list[dict[str, str]] = []
        self.titles: list[str] = []
        self.options: list[Option] = []
        self.open = 0

    async def choose(
        self, title: str, options: Sequence[Option], *, guarded: bool = False
    ) -> int | None:
        self.titles.append(title)
        assert guarded, "an approval can never be answered before it could be read"
        assert self.open == 0, "one question at a time"
        self.open += 1
        await asyncio.sleep(0)
        self.open -= 1
        self.options = list(options)
        self.seen.append({option.key: option.label for option in options})
        mark = self.marks.pop(0)
        return None if mark is None else [option.key for option in options].index(mark)

    async def ask_text(self, label: str) -> str | None:
        return self.reason


async def ask_approval(
    answers: Answers, request: AskRequest = ASK_EDIT, questions: int = 1
) -> tuple[list[Decision], str]:
    out = io.StringIO()
    renderer = Renderer(Screen(TextSurface(out, 100), False))
    context = CommandContext(None, (), renderer, None, answers, None)  # type: ignore[arg-type]
    return list(
        await asyncio.gather(*(context.approve(request) for _ in range(questions)))
    ), out.getvalue()


@pytest.mark.parametrize(
    ("mark", "decision"),
    [
        ("1", Decision(True)),
        ("2", Decision(True, "session")),
        ("3", Decision(False)),
        (None, Decision(False)),
        ("5", Decision(True, "project")),
    ],
)
async def test_each_option_of_the_approval_gives_its_decision(
    mark: str | None, decision: Decision
) -> None:
    decisions, _ = await ask_approval(
        Answers(mark), replace(ASK_EDIT, project_file="/home/ann/rules.toml")
    )
    assert decisions == [decision]


QUESTION = replace(
    ASK_RUN,
    question="Which one?",
    summary="Ask Which one?",
    preview=Display(body="Which one?"),
    choices=("SQLite", "PostgreSQL"),
)


@pytest.mark.parametrize(
    ("mark", "text", "decision"),
    [
        ("1", None, Decision(True, answer="SQLite")),
        ("2", None, Decision(True, answer="PostgreSQL")),
        ("3", "use files", Decision(True, answer="use files")),
        ("3", None, Decision(False)),
        ("4", None, Decision(False)),
        (None, None, Decision(False)),
    ],
)
async def test_a_question_of_the_model_is_answered_by_a_choice_or_a_text(
    mark: str | None, text: str | None, decision: Decision
) -> None:
    answers = Answers(mark, reason=text)
    decisions, out = await ask_approval(answers, QUESTION)
    assert decisions == [decision]
    assert answers.seen == [
        {"1": "SQLite", "2": "PostgreSQL", "3": "another answer", "4": "no answer"}
    ]
    assert out.count("Which one?") == 1
    told = f"✓ answered: {decision.answer}" if decision.answer else "✗ no answer"
    assert out.endswith(f"{told}\n")


async def test_no_answer_to_a_question_says_what_the_model_does_then() -> None:
    answers = Answers("4")
    await ask_approval(answers, replace(QUESTION, default="SQLite"))
    assert answers.seen[0]["4"] == "no answer (its default: SQLite)"


async def test_a_refusal_can_carry_an_instruction() -> None:
    decisions, out = await ask_approval(Answers("4", reason="use git rm"))
    assert decisions == [Decision(False, reason="use git rm")]
    assert "✗ refused: Edit swecli/app.py (+2 −2) · use git rm" in out


async def test_a_refusal_without_a_reason_refuses() -> None:
    assert (await ask_approval(Answers("4")))[0] == [Decision(False)]


async def test_the_question_about_a_diff_names_the_file_again_below_it() -> None:
    answers = Answers("1", "1")
    await ask_approval(answers, ASK_EDIT)
    await ask_approval(answers, ASK_RUN)
    assert answers.titles == ["Make this change? Edit swecli/app.py (+2 −2)", "Run this?"]


async def test_an_approval_prints_the_whole_diff_above_and_one_line_below() -> None:
    _, out = await ask_approval(Answers("1"))
    assert "10 +     choice = choose_model(settings, start.environ)" in out
    assert out.endswith("✓ allowed: Edit swecli/app.py (+2 −2)\n")


async def test_session_and_project_options_name_the_commands_they_cover_and_the_file() -> None:
    answers = Answers("5")
    request = replace(
        ASK_RUN,
        session_rules=("run(pytest *)",),
        session_label="`pytest *`",
        project_file="/home/ann/rules.toml",
    )
    _, out = await ask_approval(answers, request)
    assert answers.seen[0]["2"] == "yes, and don't ask again this session for `pytest *`"
    assert (
        answers.seen[0]["5"]
        == "yes, always in this project for `pytest *` (saved in /home/ann/rules.toml)"
    )
    assert "always in this project: `pytest *`" in out


async def test_an_answer_that_lasts_longer_than_the_program_is_confirmed_with_its_rule() -> None:
    request = replace(
        ASK_RUN,
        session_rules=("run(pytest *)",),
        session_label="`pytest *`",
        project_file="/home/ann/rules.toml",
    )
    answers = Answers("3", "3")
    await ask_approval(answers, request)
    confirmations = {
        option.key: option.confirmation for option in answers.options if option.confirmation
    }
    assert confirmations == {
        "2": "Always allow run(pytest *) in this session, also when it is continued?",
        "5": "Always allow run(pytest *) in this project, saved in /home/ann/rules.toml?",
    }
    await ask_approval(answers, ASK_EDIT)
    assert [option.key for option in answers.options if option.confirmation] == []


async def test_an_answer_for_all_edits_names_the_mode_that_it_switches_to() -> None:
    answers = Answers("2")
    _, out = await ask_approval(answers)
    assert answers.seen[0]["2"].endswith("(mode edits)")
    assert out.endswith("✓ allowed: Edit swecli/app.py (+2 −2) · mode edits\n")


async def test_option_numbers_are_the_same_in_every_approval() -> None:
    answers = Answers("3", "3", "3")
    for request in (
        replace(ASK_RUN, session_rules=(), session_label=""),
        replace(ASK_RUN, session_rules=("run(x)",), session_label="x"),
        replace(ASK_RUN, session_rules=("run(x)",), session_label="x", project_file="/rules"),
    ):
        assert (await ask_approval(answers, request))[0] == [Decision(False)]
    assert [sorted(seen) for seen in answers.seen] == [list("134"), list("1234"), list("12345")]


async def test_concurrent_approvals_are_shown_one_after_the_other() -> None:
    decisions, out = await ask_approval(Answers("1", "3"), questions=2)
    assert decisions == [Decision(True), Decision(False)]
    assert out.index("✓ allowed") < out.index("✗ refused")
