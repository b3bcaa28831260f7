"""The question before a call runs, and its four answers."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from swecli.models.tool import AskRequest, Decision
from swecli.repl.chat.approval import Approver
from swecli.repl.render.renderer import Renderer
from swecli.repl.render.screen import Screen
from tests.screen.canned import ASK_EDIT, ASK_RUN

Lend = Callable[[], AbstractContextManager[None]]


async def asked(
    *keys: str, request: AskRequest = ASK_EDIT, lend: Lend = nullcontext, questions: int = 1
) -> tuple[list[Decision], str]:
    out = io.StringIO()
    with create_pipe_input() as pipe:
        approver = Approver(Renderer(Screen(False, width=100, file=out)), lend, pipe, DummyOutput())
        for number, text in enumerate(keys):
            asyncio.get_running_loop().call_later(0.05 + 0.2 * number, pipe.send_text, text)
        decisions = await asyncio.gather(*(approver(request) for _ in range(questions)))
    return list(decisions), out.getvalue()


@pytest.mark.parametrize(
    ("keys", "decision"),
    [
        ("1", Decision(True)),
        ("y", Decision(True)),
        ("\r", Decision(True)),
        ("2", Decision(True, "session")),
        ("\x1b[B\r", Decision(True, "session")),
        ("3", Decision(False)),
        ("n", Decision(False)),
        ("\x1b", Decision(False)),
    ],
)
async def test_each_answer_has_its_keys(keys: str, decision: Decision) -> None:
    decisions, _ = await asked(keys)
    assert decisions == [decision]


async def test_a_no_can_say_what_to_do_instead() -> None:
    decisions, out = await asked("4", "use git rm\r")
    assert decisions == [Decision(False, reason="use git rm")]
    assert "✗ refused: Edit swecli/app.py (+2 −2) · use git rm" in out


async def test_a_no_without_a_reason_is_still_a_no() -> None:
    assert (await asked("4", "\x1b"))[0] == [Decision(False)]


async def test_the_whole_change_stands_above_the_question_and_one_line_stays_below() -> None:
    _, out = await asked("1")
    assert "10 +     choice = choose_model(settings, start.environ)" in out
    assert out.endswith("✓ allowed: Edit swecli/app.py (+2 −2)\n")


async def test_ctrl_c_interrupts_the_turn() -> None:
    with pytest.raises(asyncio.CancelledError):
        await asked("\x03")


async def test_where_nothing_can_be_allowed_for_longer_the_numbers_stay() -> None:
    request = replace(ASK_RUN, session_rule="", session_label="")
    assert (await asked("3", request=request))[0] == [Decision(False)]
    assert (await asked("2", "1", request=request))[0] == [Decision(True)]


async def test_calls_that_wait_together_are_asked_one_after_the_other() -> None:
    lent: list[str] = []

    @contextmanager
    def lend() -> Iterator[None]:
        lent.append("taken")
        yield
        lent.append("back")

    decisions, out = await asked("1", "3", lend=lend, questions=2)
    assert decisions == [Decision(True), Decision(False)]
    assert lent == ["taken", "back", "taken", "back"]
    assert out.index("✓ allowed") < out.index("✗ refused")
