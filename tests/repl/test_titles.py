"""Test session titles from the small model, and the resume command that is printed at the end."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from swecli.app import Runtime, build_runtime
from swecli.config.settings import Start
from swecli.models.errors import ProviderError
from swecli.models.message import Ask
from swecli.repl.repl import REPL
from tests.support.runtime import make_start
from tests.support.screenless import ReplRun, play
from tests.support.scripted import ScriptedModel


async def run_repl(small: ScriptedModel, *lines: str) -> ReplRun:
    """Send the lines to a REPL with a small model, and quit once no work is left."""

    turns = sum(not line.startswith("/") for line in lines)
    main = ScriptedModel(["ok"] * turns)

    def build(start: Start, ask: Ask) -> Runtime:
        runtime = build_runtime(start, ask, model=main)
        runtime.agent.condense_model = small
        return runtime

    def leave_at_the_end(pipe: Any, repl: REPL) -> None:
        async def quit() -> None:
            await repl.start_loading()
            while repl.working or repl.queue or len(main.requests) < turns:
                await asyncio.sleep(0.01)
            await repl._background.drain()
            repl.quit()

        tasks.append(asyncio.ensure_future(quit()))

    tasks: list[asyncio.Task[None]] = []
    return await play(
        "\r".join(lines) + "\r", start=make_start(), build=build, hooks=leave_at_the_end
    )


def title_of(done: ReplRun) -> str:
    session = done.runtimes[0].sessions.current_session
    assert session is not None
    return session.title


async def test_the_small_model_names_a_session_after_its_first_turn_and_only_once() -> None:
    small = ScriptedModel(['"Repairing the parser."\n', "Another"])
    done = await run_repl(small, "please repair the parser", "and the lexer")
    assert title_of(done) == "Repairing the parser"
    [request] = small.requests
    assert (request.purpose, request.tools) == ("title", [])
    assert "please repair the parser" in str(request.messages[0]["content"])


@pytest.mark.parametrize("reply", ["", "a long answer " * 20, ProviderError("It is down.")])
async def test_an_unusable_title_leaves_the_session_unnamed_and_prints_nothing(reply: Any) -> None:
    done = await run_repl(ScriptedModel([reply]), "hello")
    assert title_of(done) == ""
    assert "It is down" not in done.text


async def test_a_name_given_by_the_user_is_kept() -> None:
    small = ScriptedModel(["Something else"])
    done = await run_repl(small, "/rename mine", "hello")
    assert (title_of(done), small.requests) == ("mine", [])


async def test_the_resume_command_is_printed_at_the_end_unless_the_session_is_empty() -> None:
    done = await play("hello\rexit\r", ["ok"])
    session = done.runtimes[0].sessions.current_session
    assert session is not None
    assert re.search(r"to continue this session: \S+ -c\n$", done.text)
    assert "to continue" not in (await play("exit\r")).text
