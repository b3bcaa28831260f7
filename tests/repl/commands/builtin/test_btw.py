"""Test `/btw` as it is typed: what it prints, beside a turn too, and what Esc stops."""

from __future__ import annotations

import asyncio
import re

import pytest
from prompt_toolkit.input import PipeInput

from swecli.models.errors import UsageError
from swecli.models.message import ModelRequest
from tests.support.command_context import ScriptedContext
from tests.support.runtime import make_runtime
from tests.support.screenless import ESC, play
from tests.support.scripted import Reply


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


async def test_a_question_is_needed(ctx: ScriptedContext) -> None:
    with pytest.raises(UsageError, match="There is no question"):
        await ctx.type("/btw")


async def test_the_answer_says_that_it_is_no_part_of_the_conversation() -> None:
    runtime = make_runtime(["It is **8080**."])
    printed = await ScriptedContext(runtime, width=60).type("/btw which port?")
    lines = [line.rstrip() for line in printed.splitlines() if line.strip()]
    assert lines[0] == "┆ It is 8080."
    assert lines[1].startswith("not part of the conversation · ")
    assert lines[1].endswith(" · 10 in / 5 out · $0.00")


async def test_one_is_answered_at_a_time(ctx: ScriptedContext) -> None:
    assert ctx.renderer.begin_aside("the first") is not None
    with pytest.raises(UsageError, match="Another /btw is being answered"):
        await ctx.type("/btw the second")
    ctx.renderer.end_aside()


@pytest.mark.slow
async def test_it_is_answered_while_a_turn_runs_in_its_own_lines() -> None:
    keyboard: list[PipeInput] = []

    def first(request: ModelRequest) -> Reply:
        keyboard[0].send_text("/btw which port?\r")
        return Reply("The answer of the turn.", piece=1, delay=0.1)

    played = await play(
        "go\rexit\r",
        [first, Reply("It is 8080.", purpose="aside")],
        hooks=lambda pipe, repl: keyboard.append(pipe),
    )
    assert "┆ It is 8080." in plain(played.text)
    assert "The answer of the turn." in played.text
    session = played.runtimes[0].sessions.current_session
    assert session is not None
    assert session.interactions == 1


@pytest.mark.slow
async def test_esc_stops_the_answer_and_then_the_turn() -> None:
    keyboard: list[PipeInput] = []

    def first(request: ModelRequest) -> Reply:
        keyboard[0].send_text("/btw which port?\r")
        return Reply("The turn is done all the same.", piece=1, delay=0.1)

    def aside(request: ModelRequest) -> Reply:
        asyncio.get_running_loop().call_later(0.5, keyboard[0].send_text, ESC)
        return Reply("It is never said.", piece=1, delay=1.0)

    def answer(request: ModelRequest) -> Reply:
        return aside(request) if request.purpose == "aside" else first(request)

    played = await play(
        "go\rexit\r", [answer, answer], hooks=lambda pipe, repl: keyboard.append(pipe)
    )
    assert "interrupted · not part of the conversation" in plain(played.text)
    assert "The turn is done all the same." in played.text
    assert "It is never said." not in played.text


@pytest.mark.slow
async def test_esc_stops_the_answer_when_no_turn_runs() -> None:
    keyboard: list[PipeInput] = []

    def aside(request: ModelRequest) -> Reply:
        loop = asyncio.get_running_loop()
        loop.call_later(0.3, keyboard[0].send_text, ESC)
        loop.call_later(1.5, keyboard[0].send_text, "exit\r")
        return Reply("It is never said.", piece=1, delay=1.0)

    played = await play("/btw and?\r", [aside], hooks=lambda pipe, repl: keyboard.append(pipe))
    assert "interrupted · not part of the conversation" in plain(played.text)
    assert played.code == 0
