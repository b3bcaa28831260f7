"""Test building the messages of a request from a query."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from swecli.models.errors import BadInput
from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.models.session import Session
from swecli.repl.chat.async_query_processor import AsyncQueryProcessor
from tests.support.playbooks import add_bullet
from tests.support.runtime import make_runtime, run_turn


def repl(session: Session | None) -> SimpleNamespace:
    return SimpleNamespace(
        session_manager=SimpleNamespace(current_session=session),
        agent=SimpleNamespace(builder=SimpleNamespace(system_prompt="You help.")),
    )


def test_without_a_session_the_messages_are_the_system_message_and_the_query() -> None:
    messages = AsyncQueryProcessor(repl(None))._prepare_messages("hi", "hi, with files")
    assert messages == [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "hi, with files"},
    ]


def test_the_messages_contain_the_window_and_the_playbook() -> None:
    session = Session("s")
    add_bullet(session.get_playbook(), "Run the tests with make check.")
    for n in range(1, 11):
        session.add_message(ChatMessage(Role.USER, f"Query {n}"))
        call = ToolCall(f"c{n}", "read_file", {}, result="ok", approved=True)
        session.add_message(ChatMessage(Role.ASSISTANT, f"Reply {n}", [call]))
    messages = AsyncQueryProcessor(repl(session))._prepare_messages("next", "next")
    assert len(messages) == 1 + 15 + 1
    assert "make check" in str(messages[0]["content"])
    assert [m["content"] for m in messages if m["role"] == "user"] == [
        f"Query {n}" for n in range(6, 11)
    ] + ["next"]


@pytest.mark.slow
async def test_a_long_shell_output_is_sent_to_the_model_as_its_head_and_tail() -> None:
    runtime = make_runtime(["Seen."])
    renderer = SimpleNamespace(
        begin=lambda label: None,
        end=lambda: None,
        screen=SimpleNamespace(line=lambda text: None, note=lambda text: None),
    )
    processor = AsyncQueryProcessor(SimpleNamespace(agent=runtime.agent, renderer=renderer))
    await processor.run_shell("seq 1 20000")
    await run_turn(runtime, "what came out?")
    sent = runtime.agent.model.requests[0].messages[-1]["content"]  # type: ignore[attr-defined]
    assert "Its output:\n1\n2\n" in sent
    assert "characters of output were not kept" in sent
    assert "20000" in sent
    assert len(sent) < 11_000


async def test_the_output_of_an_interrupted_shell_line_is_printed_and_sent_to_the_model() -> None:
    runtime = make_runtime(["Seen."])
    printed: list[str] = []
    screen = SimpleNamespace(line=printed.append, note=printed.append)
    renderer = SimpleNamespace(begin=lambda label: None, end=lambda: None, screen=screen)
    processor = AsyncQueryProcessor(SimpleNamespace(agent=runtime.agent, renderer=renderer))
    running = asyncio.create_task(
        processor.run_shell("echo 7 of 9 done; sleep 0.5; touch begun; sleep 60")
    )
    while not Path("begun").exists():
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    [output, note] = printed
    assert output == "7 of 9 done"
    assert re.fullmatch(r"interrupted after \d+ s · will be sent with your next message", note)
    await run_turn(runtime, "what came out?")
    sent = runtime.agent.model.requests[0].messages[-1]["content"]  # type: ignore[attr-defined]
    assert re.search(r"\(interrupted after \d+ s\)\. Its output:\n7 of 9 done", sent)


@pytest.mark.parametrize("command", ["cat a\0b", "echo \ud800"])
async def test_a_shell_line_with_invalid_characters_is_refused(command: str) -> None:
    with pytest.raises(BadInput):
        await make_runtime().agent.kit.shell(command)
